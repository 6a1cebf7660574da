// SPDX-License-Identifier: Apache-2.0
#pragma once
// A job on paper: what `distinit plan` works out before anything is printed.

#include "lib/spec/layout.h"
#include "lib/spec/mesh.h"

#include <string>
#include <vector>

namespace distinit {

/// What the user gave, as text.
struct PlanRequest {
  std::string spec;
  std::string nodes;           ///< a host list; under "arbitrary" one name a rank, in rank order
  std::string tasks_per_node;  ///< compressed counts; one alone counts for every node
  std::string distribution = "block";
};

/// Where a rank runs.
struct RankPlace {
  int node = 0;  ///< index into layout.nodes
  int local_rank = 0;

  bool operator==(const RankPlace&) const = default;
};

struct Plan {
  std::string spec;          ///< as given
  std::string distribution;  ///< "block", "cyclic", "plane=4", "arbitrary"
  Mesh mesh;
  Layout layout;
  std::vector<RankPlace> places;  ///< by rank
  std::vector<Finding> findings;
};

/// kSpec and kUsage errors name the argument that can't be read, kLayout errors what does not fit
/// together.
Result<Plan> make_plan(const PlanRequest& request);

/// "0-7,16", "0,8,…,56": the numbers in a short form, at most `most` pieces of it (0: all).
std::string format_ranks(const std::vector<int>& ranks, size_t most);

/// "100,000".
std::string format_count(long long number);

/// "1 rank", "4 ranks".
std::string format_quantity(long long number, std::string_view one_of_them);

}  // namespace distinit
