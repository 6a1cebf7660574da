// SPDX-License-Identifier: Apache-2.0
#include "spank/step_layout.h"

#include <optional>

#include <dlfcn.h>
#include <slurm/slurm.h>
#include <stdlib.h>

namespace distinit {

namespace {

/// A function of the process that loaded us, or null.
template <typename Function>
Function* look_up(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// Index of the node that has global rank 0.
std::optional<uint32_t> node_of_rank_0(const slurm_step_layout_t& layout) {
  for (uint32_t node = 0; node < layout.node_cnt; ++node) {
    for (uint32_t task = 0; task < layout.tasks[node]; ++task) {
      if (layout.tids[node][task] == 0) {
        return node;
      }
    }
  }
  return std::nullopt;
}

std::string host_name(const char* list, uint32_t index) {
  const auto create = look_up<hostlist_t(const char*)>("slurm_hostlist_create");
  const auto shift = look_up<char*(hostlist_t)>("slurm_hostlist_shift");
  const auto destroy = look_up<void(hostlist_t)>("slurm_hostlist_destroy");
  if (create == nullptr || shift == nullptr || destroy == nullptr) {
    return {};
  }
  hostlist_t hosts = create(list);
  std::string out;
  for (uint32_t i = 0; hosts != nullptr && i <= index; ++i) {
    char* host = shift(hosts);
    out = host == nullptr ? "" : host;
    free(host);
  }
  if (hosts != nullptr) {
    destroy(hosts);
  }
  return out;
}

std::string root_name(uint32_t job, uint32_t step) {
  const auto get = look_up<decltype(slurm_job_step_layout_get)>("slurm_job_step_layout_get");
  const auto release = look_up<decltype(slurm_job_step_layout_free)>("slurm_job_step_layout_free");
  if (get == nullptr || release == nullptr) {
    return {};
  }
  slurm_step_id_t id{};
  id.job_id = job;
  id.step_id = step;
  id.step_het_comp = NO_VAL;
  slurm_step_layout_t* layout = get(&id);
  if (layout == nullptr) {
    return {};
  }
  const auto node = node_of_rank_0(*layout);
  const std::string name = node ? host_name(layout->node_list, *node) : "";
  release(layout);
  return name;
}

std::string node_address(std::string name) {
  const auto load = look_up<decltype(slurm_load_node_single)>("slurm_load_node_single");
  const auto release = look_up<decltype(slurm_free_node_info_msg)>("slurm_free_node_info_msg");
  node_info_msg_t* nodes = nullptr;
  if (load == nullptr || release == nullptr || load(&nodes, name.data(), SHOW_ALL) != 0) {
    return {};
  }
  std::string address;
  if (nodes->record_count > 0 && nodes->node_array[0].node_addr != nullptr) {
    address = nodes->node_array[0].node_addr;
  }
  release(nodes);
  return address;
}

}  // namespace

RootNode find_root_node(uint32_t job, uint32_t step) {
  RootNode root;
  root.name = root_name(job, step);
  if (!root.name.empty()) {
    root.address = node_address(root.name);
  }
  return root;
}

}  // namespace distinit
