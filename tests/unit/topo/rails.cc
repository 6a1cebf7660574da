// SPDX-License-Identifier: Apache-2.0
// The tables restate public reports; shared/topologies/smi-tables.md names them.

#include "lib/topo/distance.h"

#include "lib/base/fd.h"
#include "lib/base/text.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include <criterion/criterion.h>
#include <stdlib.h>

using namespace distinit;

namespace {

PathClass parse_path(std::string_view text) {
  for (const PathClass path :
       {PathClass::kPix, PathClass::kPxb, PathClass::kPhb, PathClass::kNode}) {
    if (path_text(path) == text) {
      return path;
    }
  }
  return PathClass::kSys;
}

PathMatrix make_matrix(const std::vector<std::string>& rows) {
  PathMatrix matrix;
  for (const std::string& row : rows) {
    std::vector<PathClass> paths;
    for (const std::string_view word : split(row, ' ')) {
      paths.push_back(parse_path(word));
    }
    matrix.paths.push_back(std::move(paths));
  }
  return matrix;
}

std::vector<int> count_up(size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<int> rails_of(const PathMatrix& matrix) {
  return deal_rails(matrix, count_up(matrix.paths.size()), count_up(matrix.paths[0].size()));
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  const size_t last = text.find_last_not_of(' ');
  return first == std::string_view::npos ? "" : text.substr(first, last - first + 1);
}

/// NIC numbers in a cell: "NIC2", "NIC0 to NIC4 (tie)", "NIC0 or NIC1", "mlx5_1".
std::vector<int> parse_numbers(std::string_view cell) {
  std::vector<int> numbers;
  for (const std::string_view word : split(cell, ' ')) {
    const size_t at = word.starts_with("NIC")     ? 3
                      : word.starts_with("mlx5_") ? 5
                                                  : std::string_view::npos;
    if (at != std::string_view::npos) {
      numbers.push_back(static_cast<int>(parse_number(word.substr(at), 0, 99).value()));
    }
  }
  if (cell.find(" to ") != std::string_view::npos) {
    std::vector<int> all;
    for (int number = numbers.front(); number <= numbers.back(); ++number) {
      all.push_back(number);
    }
    return all;
  }
  return numbers;
}

struct Table {
  std::string name;
  PathMatrix matrix;
  std::vector<std::vector<int>> picks;
  std::vector<std::vector<int>> rails;  // empty where the table has no such column
};

/// Markdown tables under headings "## A. …".
std::vector<Table> parse_tables(const std::string& text) {
  std::vector<Table> tables;
  std::vector<std::string> header;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("## ")) {
      tables.push_back(Table{std::string(line.substr(3)), {}, {}, {}});
      header.clear();
    }
    if (!line.starts_with("| ") || tables.empty()) {
      continue;
    }
    std::vector<std::string> cells;
    for (const std::string_view cell : split(line.substr(1, line.rfind('|') - 1), '|')) {
      cells.emplace_back(trim(cell));
    }
    if (header.empty()) {
      header = cells;
      continue;
    }
    Table& table = tables.back();
    std::vector<PathClass> paths;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::vector<int> columns = parse_numbers(header[i]);
      for (size_t copy = 0; copy < columns.size(); ++copy) {
        paths.push_back(parse_path(cells[i]));
      }
      if (header[i] == "pick") {
        table.picks.push_back(parse_numbers(cells[i]));
      } else if (header[i] == "rail") {
        table.rails.push_back(parse_numbers(cells[i]));
      }
    }
    table.matrix.paths.push_back(std::move(paths));
  }
  return tables;
}

void expect_table(const Table& table) {
  const std::vector<int> all = count_up(table.matrix.paths[0].size());
  for (size_t gpu = 0; gpu < table.matrix.paths.size(); ++gpu) {
    cr_expect(nearest_hcas(table.matrix, static_cast<int>(gpu), all) == table.picks[gpu],
              "%s: pick of GPU %zu", table.name.c_str(), gpu);
  }
  const std::vector<int> rails = rails_of(table.matrix);
  for (size_t gpu = 0; gpu < rails.size(); ++gpu) {
    const std::vector<int>& wanted = table.rails.empty() ? table.picks[gpu] : table.rails[gpu];
    cr_expect(std::find(wanted.begin(), wanted.end(), rails[gpu]) != wanted.end(),
              "%s: rail of GPU %zu is %d", table.name.c_str(), gpu, rails[gpu]);
  }
}

}  // namespace

Test(rails, gpus_with_one_set_share_it_out_in_order) {
  cr_assert(rails_of(make_matrix({"PIX PIX SYS SYS", "PIX PIX SYS SYS", "SYS SYS PIX PIX",
                                  "SYS SYS PIX PIX"})) == std::vector<int>({0, 1, 2, 3}));
  cr_assert(rails_of(make_matrix({"PIX", "PIX", "PIX"})) == std::vector<int>({0, 0, 0}));
  cr_assert(rails_of(make_matrix({"NODE NODE", "NODE NODE", "NODE NODE"})) ==
            std::vector<int>({0, 1, 0}));
}

Test(rails, a_gpu_without_a_near_hca_takes_nobody_elses) {
  // uccl-project/uccl issue 172, the first NUMA node.
  const std::vector<int> rails =
      rails_of(make_matrix({"NODE NODE NODE NODE NODE", "NODE NODE PIX NODE NODE",
                            "NODE NODE NODE PIX NODE", "NODE NODE NODE NODE PIX"}));
  cr_assert(rails == std::vector<int>({0, 2, 3, 4}));
  // Another package's HCA that is nobody's nearest, rather than one that is.
  PathMatrix far = make_matrix({"SYS SYS", "NODE SYS"});
  far.same_package = {{false, false}, {true, true}};
  cr_assert(rails_of(far) == std::vector<int>({1, 0}));
}

Test(rails, an_hca_is_shared_where_there_is_no_other) {
  cr_assert(rails_of(make_matrix({"NODE", "PIX"})) == std::vector<int>({0, 0}));
}

Test(rails, without_candidates_there_are_none) {
  PathMatrix matrix;
  matrix.paths = {{}, {}};
  cr_assert(deal_rails(matrix, {0, 1}, {}) == std::vector<int>({-1, -1}));
}

Test(rails, numbers_of_gpus_and_hcas_mean_nothing) {
  // Crossed as in NVIDIA/nccl issue 1435.
  cr_assert(rails_of(make_matrix({"SYS PXB SYS", "SYS PXB SYS", "PXB SYS SYS", "SYS SYS PXB"})) ==
            std::vector<int>({1, 1, 0, 2}));
}

Test(rails, are_as_in_public_tables) {
  const char* folder = getenv("DISTINIT_TOPOLOGIES");
  const std::string path =
      concat(folder == nullptr ? "../shared/topologies" : folder, "/smi-tables.md");
  const auto text = read_file(path, 1 << 20);
  if (!text) {
    cr_skip_test("%s", text.error().what.c_str());
  }
  const std::vector<Table> tables = parse_tables(*text);
  cr_assert_geq(tables.size(), 6u);
  for (const Table& table : tables) {
    expect_table(table);
  }
}
