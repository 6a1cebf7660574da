// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/rank_identity.h"

#include "lib/base/text.h"

#include <limits.h>

namespace distinit {

namespace {

constexpr std::string_view kStartHint =
    "start the program with `srun --distinit=SPEC`, or `srun distinit exec SPEC -- PROGRAM`";

Result<std::string> required(const Environment& environment, std::string_view name) {
  const auto value = environment.get(name);
  if (!value || value->empty()) {
    return Error{ErrorCode::kUsage, concat(name, " is not set"), std::string(kStartHint), 0};
  }
  return std::string(*value);
}

Error wrong(std::string_view name, std::string_view value) {
  return Error{ErrorCode::kUsage,
               concat(name, "='", abbreviate(value), "' is not what distinit sets"),
               "a wrapper has changed it; leave it as it is", 0};
}

Result<int> number(const Environment& environment, std::string_view name, int low, int high) {
  DISTINIT_ASSIGN_OR_RETURN(const std::string text, required(environment, name));
  const auto value = parse_number(text, low, high);
  if (!value) {
    return wrong(name, text);
  }
  return static_cast<int>(*value);
}

Status read_store(const Environment& environment, RankIdentity& identity) {
  DISTINIT_ASSIGN_OR_RETURN(const std::string text, required(environment, "DISTINIT_STORE"));
  const size_t colon = text.rfind(':');
  const auto port =
      colon == text.npos ? std::nullopt : parse_number(text.substr(colon + 1), 1, 65535);
  if (!port || colon == 0) {
    return wrong("DISTINIT_STORE", text);
  }
  identity.store_host = text.substr(0, colon);
  if (identity.store_host.front() == '[' && identity.store_host.back() == ']') {
    identity.store_host = identity.store_host.substr(1, identity.store_host.size() - 2);
  }
  identity.store_port = static_cast<int>(*port);
  return Ok{};
}

}  // namespace

std::string RankIdentity::who() const {
  return concat("rank ", rank, " on ", node);
}

Result<RankIdentity> read_rank_identity(const Environment& environment) {
  RankIdentity identity;
  DISTINIT_ASSIGN_OR_RETURN(identity.step, required(environment, "DISTINIT_STEP"));
  DISTINIT_ASSIGN_OR_RETURN(identity.node, required(environment, "DISTINIT_NODE"));
  DISTINIT_RETURN_IF_ERROR(read_store(environment, identity));
  DISTINIT_ASSIGN_OR_RETURN(const int world_size, number(environment, "WORLD_SIZE", 1, INT_MAX));
  DISTINIT_ASSIGN_OR_RETURN(identity.rank, number(environment, "RANK", 0, world_size - 1));
  DISTINIT_ASSIGN_OR_RETURN(identity.local_rank,
                            number(environment, "LOCAL_RANK", 0, world_size - 1));
  DISTINIT_ASSIGN_OR_RETURN(const std::string text, required(environment, "DISTINIT_SPEC"));
  DISTINIT_ASSIGN_OR_RETURN(const Spec spec, parse_spec(text));
  DISTINIT_ASSIGN_OR_RETURN(identity.mesh, resolve_mesh(spec, world_size));
  identity.options = typed_options(spec);
  identity.gpu_pci = environment.get_or("DISTINIT_GPU_PCI", "");
  identity.hcas = environment.get_or("DISTINIT_HCAS", "");
  return identity;
}

}  // namespace distinit
