// SPDX-License-Identifier: Apache-2.0
#include "helper/topo_view.h"
#include "lib/base/text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace distinit {

namespace {

using Json = nlohmann::ordered_json;

/// Each device once, in the order of its first port.
Json device_names(const Machine& machine, const std::vector<int>& ports) {
  Json names = Json::array();
  for (const int port : ports) {
    const std::string& name = machine.hcas[static_cast<size_t>(port)].name;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

Json gpu_json(const TopoView& view, size_t index) {
  const Gpu& gpu = view.machine.gpus[index];
  const Locality near = locality_of(view.machine, gpu.pci_node);
  Json paths = Json::object();
  for (size_t hca = 0; hca < view.machine.hcas.size(); ++hca) {
    paths[view.machine.hcas[hca].name] = path_text(view.plan.matrix.paths[index][hca]);
  }
  return Json{{"index", gpu.index},
              {"pci", format_pci_address(gpu.pci)},
              {"numa", single_numa(near)},
              {"cpus", near.cpus.format()},
              {"nearest", device_names(view.machine, view.plan.nearest[index])},
              {"paths", std::move(paths)},
              {"name", gpu.name},
              {"uuid", gpu.uuid},
              {"partition", gpu.partition}};
}

Json hca_json(const TopoView& view, size_t index) {
  const Hca& hca = view.machine.hcas[index];
  const PortVerdict& verdict = view.plan.ports[index];
  const int numa = hca.pci_node < 0 ? -1 : single_numa(locality_of(view.machine, hca.pci_node));
  return Json{{"name", hca.name},
              {"pci", hca.pci ? format_pci_address(*hca.pci) : ""},
              {"numa", numa},
              {"port", hca.port},
              {"link", link_text(hca.link)},
              {"state", state_text(hca.state)},
              {"usable", verdict.usable},
              {"why", verdict.why},
              {"rate_gbps", hca.rate_gbps}};
}

Json task_json(const TopoView& view, const TaskPlan& task) {
  Json gpus = Json::array();
  for (const int gpu : task.gpus) {
    gpus.push_back(view.machine.gpus[static_cast<size_t>(gpu)].index);
  }
  return Json{{"local_rank", task.local_rank},
              {"gpus", std::move(gpus)},
              {"hcas", device_names(view.machine, task.hcas)},
              {"cpus", task.cpus.format()}};
}

Json findings_json(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& finding : findings) {
    out.push_back(Json{{"what", finding.what}, {"hint", finding.hint}});
  }
  return out;
}

/// One element a line.
void append_lines(std::string& out, std::string_view key, const Json& elements) {
  out += concat('"', key, "\":[");
  for (size_t i = 0; i < elements.size(); ++i) {
    out += concat(i == 0 ? "\n" : ",\n",
                  elements[i].dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  out += elements.empty() ? "],\n" : "\n],\n";
}

std::string quote(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string format_topo_json(const TopoView& view) {
  Json gpus = Json::array();
  for (size_t i = 0; i < view.machine.gpus.size(); ++i) {
    gpus.push_back(gpu_json(view, i));
  }
  Json hcas = Json::array();
  for (size_t i = 0; i < view.machine.hcas.size(); ++i) {
    hcas.push_back(hca_json(view, i));
  }
  Json tasks = Json::array();
  for (const TaskPlan& task : view.plan.tasks) {
    tasks.push_back(task_json(view, task));
  }
  std::string out = "{";
  append_lines(out, "gpus", gpus);
  append_lines(out, "hcas", hcas);
  out += concat("\"nccl_ib_hca\":", quote(view.plan.ib_hca), ",\n");
  append_lines(out, "tasks", tasks);
  append_lines(out, "findings", findings_json(view.plan.findings));
  append_lines(out, "remarks", findings_json(view.plan.remarks));
  out += concat("\"source\":", quote(view.machine.source), "}\n");
  return out;
}

}  // namespace distinit
