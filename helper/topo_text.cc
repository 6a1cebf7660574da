// SPDX-License-Identifier: Apache-2.0
#include "helper/topo_view.h"
#include "lib/base/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace distinit {

namespace {

using Row = std::vector<std::string>;

/// Columns as wide as their widest cell, two blanks between; nothing at the ends of lines.
std::string format_table(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += fmt::format("{:{}}", row[i], i + 1 < row.size() ? widths[i] + 2 : 0);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string or_dash(std::string text) {
  return text.empty() ? "-" : text;
}

std::string numa_text(const Locality& near) {
  const int numa = single_numa(near);
  return numa < 0 ? "-" : fmt::format("{}", numa);
}

/// Columns of the matrix: each device once, by its first port.
std::vector<size_t> first_ports(const Machine& machine) {
  std::vector<size_t> first;
  for (size_t i = 0; i < machine.hcas.size(); ++i) {
    const bool is_new = std::none_of(first.begin(), first.end(), [&](size_t other) {
      return machine.hcas[other].name == machine.hcas[i].name;
    });
    if (is_new) {
      first.push_back(i);
    }
  }
  return first;
}

/// Long names get numbers, as nvidia-smi does it; the table of ports tells them.
bool has_long_names(const Machine& machine) {
  constexpr size_t kLongest = 9;
  return std::any_of(machine.hcas.begin(), machine.hcas.end(),
                     [](const Hca& hca) { return hca.name.size() > kLongest; });
}

std::string column_name(const Machine& machine, size_t column, size_t number) {
  return has_long_names(machine) ? fmt::format("NIC{}", number) : machine.hcas[column].name;
}

std::string count(size_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

std::vector<int> ranks_of_gpu(const NodePlan& plan, int gpu) {
  std::vector<int> ranks;
  for (const TaskPlan& task : plan.tasks) {
    if (std::find(task.gpus.begin(), task.gpus.end(), gpu) != task.gpus.end()) {
      ranks.push_back(task.local_rank);
    }
  }
  return ranks;
}

bool is_rail(const TopoView& view, const std::vector<int>& ranks, const std::string& device) {
  for (const TaskPlan& task : view.plan.tasks) {
    if (std::find(ranks.begin(), ranks.end(), task.local_rank) == ranks.end()) {
      continue;
    }
    for (const int hca : task.hcas) {
      if (view.machine.hcas[static_cast<size_t>(hca)].name == device) {
        return true;
      }
    }
  }
  return false;
}

std::string list_numbers(const std::vector<int>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

std::string format_matrix(const TopoView& view) {
  const Machine& machine = view.machine;
  const std::vector<size_t> columns = first_ports(machine);
  std::vector<Row> rows(1, Row{"", ""});
  for (const size_t column : columns) {
    rows[0].push_back(column_name(machine, column, rows[0].size() - 2));
  }
  rows[0].insert(rows[0].end(), {"local rank", "NUMA", "CPUs near it"});
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    const Locality near = locality_of(machine, gpu.pci_node);
    const std::vector<int> ranks = ranks_of_gpu(view.plan, static_cast<int>(i));
    Row row{fmt::format("GPU{}", gpu.index), format_pci_address(gpu.pci)};
    for (const size_t column : columns) {
      row.push_back(concat(path_text(view.plan.matrix.paths[i][column]),
                           is_rail(view, ranks, machine.hcas[column].name) ? "*" : ""));
    }
    row.insert(row.end(),
               {or_dash(list_numbers(ranks)), numa_text(near), or_dash(near.cpus.format())});
    rows.push_back(std::move(row));
  }
  return format_table(rows) +
         "\n  PIX  at most one PCIe switch between     NODE  between host bridges of a NUMA node\n"
         "  PXB  several PCIe bridges                SYS   between NUMA nodes\n"
         "  PHB  through a host bridge               *     the ranks' own\n";
}

std::string format_ports(const TopoView& view) {
  std::vector<Row> rows(1, Row{"HCA port", "PCI", "NUMA", "link", "state", "rate", "used"});
  const std::vector<size_t> columns = first_ports(view.machine);
  for (size_t i = 0; i < view.machine.hcas.size(); ++i) {
    const Hca& hca = view.machine.hcas[i];
    const PortVerdict& verdict = view.plan.ports[i];
    rows.push_back({port_name(hca), or_dash(hca.pci ? format_pci_address(*hca.pci) : ""),
                    hca.pci_node < 0 ? "-" : numa_text(locality_of(view.machine, hca.pci_node)),
                    std::string(link_text(hca.link)), std::string(state_text(hca.state)),
                    hca.rate_gbps > 0 ? fmt::format("{} Gb/s", hca.rate_gbps) : "-",
                    verdict.usable ? "yes" : concat("no: ", verdict.why)});
  }
  if (has_long_names(view.machine)) {
    rows[0].insert(rows[0].begin(), "");
    for (size_t i = 0; i < view.machine.hcas.size(); ++i) {
      const auto column = std::find(columns.begin(), columns.end(), i);
      rows[i + 1].insert(
          rows[i + 1].begin(),
          column == columns.end()
              ? ""
              : column_name(view.machine, i, static_cast<size_t>(column - columns.begin())));
    }
  }
  return format_table(rows);
}

std::string format_tasks(const TopoView& view) {
  std::vector<Row> rows(1, Row{"local rank", "GPUs", "HCAs", "CPUs"});
  for (const TaskPlan& task : view.plan.tasks) {
    std::vector<std::string> gpus;
    for (const int gpu : task.gpus) {
      gpus.push_back(fmt::format("{}", view.machine.gpus[static_cast<size_t>(gpu)].index));
    }
    std::vector<std::string> hcas;
    for (const int hca : task.hcas) {
      hcas.push_back(port_name(view.machine.hcas[static_cast<size_t>(hca)]));
    }
    rows.push_back({fmt::format("{}", task.local_rank), or_dash(join(gpus, ",")),
                    or_dash(join(hcas, ",")), or_dash(task.cpus.format())});
  }
  return format_table(rows) + (view.plan.unbound_why.empty()
                                   ? ""
                                   : concat("CPUs are not bound: ", view.plan.unbound_why, '\n'));
}

std::string format_findings(const std::vector<Finding>& findings, std::string_view word) {
  std::string out;
  for (const Finding& finding : findings) {
    out += concat(word, ": ", finding.what, '\n');
    if (!finding.hint.empty()) {
      out += concat("  hint: ", finding.hint, '\n');
    }
  }
  return out;
}

}  // namespace

std::string format_topo_text(const TopoView& view, bool with_findings) {
  const Machine& machine = view.machine;
  std::string out =
      fmt::format("{}: {}, {}, {}, {}\n\n", machine.source, count(machine.gpus.size(), "GPU"),
                  count(machine.hcas.size(), "HCA port"), count(machine.numa.size(), "NUMA node"),
                  count(static_cast<size_t>(machine.cpus.count()), "CPU"));
  if (!machine.gpus.empty()) {
    out += format_matrix(view) + '\n';
  }
  if (!machine.hcas.empty()) {
    out += format_ports(view) + '\n';
  }
  out += format_tasks(view);
  if (!view.plan.ib_hca.empty()) {
    out += concat("\nNCCL_IB_HCA=", view.plan.ib_hca, '\n');
  }
  if (!with_findings) {
    return out;
  }
  const std::string notes =
      format_findings(view.plan.findings, "finding") + format_findings(view.plan.remarks, "remark");
  return out + (notes.empty() ? "" : "\n") + notes;
}

}  // namespace distinit
