// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/mesh.h"

#include "lib/base/text.h"

#include <criterion/criterion.h>

#include <algorithm>
#include <random>
#include <set>

using namespace distinit;

namespace {

Mesh mesh_of(std::string_view text, int world_size) {
  const auto spec = parse_spec(text);
  cr_assert(spec.has_value(), "%s: %s", std::string(text).c_str(), spec.error().what.c_str());
  const auto mesh = resolve_mesh(*spec, world_size);
  cr_assert(mesh.has_value(), "%s: %s", std::string(text).c_str(), mesh.error().what.c_str());
  return *mesh;
}

Error error_of(std::string_view text, int world_size) {
  const auto spec = parse_spec(text);
  cr_assert(spec.has_value(), "%s: %s", std::string(text).c_str(), spec.error().what.c_str());
  const auto mesh = resolve_mesh(*spec, world_size);
  cr_assert(!mesh.has_value(), "%s fits %d ranks", std::string(text).c_str(), world_size);
  return mesh.error();
}

const GroupType& type_of(const Mesh& mesh, std::string_view name) {
  const auto found = std::find_if(mesh.group_types.begin(), mesh.group_types.end(),
                                  [&](const GroupType& type) { return type.name == name; });
  cr_assert(found != mesh.group_types.end(), "no type %s", std::string(name).c_str());
  return *found;
}

/// "0 1 / 2 3".
std::string groups_text(const Mesh& mesh, std::string_view name) {
  const GroupType& type = type_of(mesh, name);
  std::vector<std::string> groups;
  for (int index = 0; index < group_count(type); ++index) {
    std::vector<std::string> ranks;
    for (const int rank : group_ranks(type, index)) {
      ranks.push_back(concat(rank));
    }
    groups.push_back(join(ranks, " "));
  }
  return join(groups, " / ");
}

std::vector<std::string> type_names(const Mesh& mesh) {
  std::vector<std::string> names;
  for (const GroupType& type : mesh.group_types) {
    names.push_back(type.name);
  }
  return names;
}

void expect_groups(const Mesh& mesh, std::string_view name, std::string_view expected) {
  const std::string seen = groups_text(mesh, name);
  cr_assert(seen == expected, "%s: %s", std::string(name).c_str(), seen.c_str());
}

}  // namespace

// The checked values of Megatron-Core's rank generator.

Test(mesh, forms_the_groups_of_tp2_dp2) {
  const Mesh mesh = mesh_of("tp2,dp2", 4);
  expect_groups(mesh, "tp", "0 1 / 2 3");
  expect_groups(mesh, "dp", "0 2 / 1 3");
}

Test(mesh, forms_the_groups_of_tp2_dp2_pp4) {
  const Mesh mesh = mesh_of("tp2,dp2,pp4,groups=tp-pp", 16);
  expect_groups(mesh, "dp", "0 2 / 1 3 / 4 6 / 5 7 / 8 10 / 9 11 / 12 14 / 13 15");
  expect_groups(mesh, "pp", "0 4 8 12 / 1 5 9 13 / 2 6 10 14 / 3 7 11 15");
  expect_groups(mesh, "tp-pp", "0 1 4 5 8 9 12 13 / 2 3 6 7 10 11 14 15");
}

Test(mesh, forms_the_groups_of_tp2_cp2_dp3_pp2) {
  const Mesh mesh = mesh_of("tp2,cp2,dp3,pp2,groups=dp-cp+tp-cp", 24);
  expect_groups(mesh, "cp",
                "0 2 / 1 3 / 4 6 / 5 7 / 8 10 / 9 11 / 12 14 / 13 15 / 16 18 / 17 19 / 20 22 / "
                "21 23");
  expect_groups(mesh, "dp",
                "0 4 8 / 1 5 9 / 2 6 10 / 3 7 11 / 12 16 20 / 13 17 21 / 14 18 22 / 15 19 23");
  expect_groups(mesh, "dp-cp",
                "0 2 4 6 8 10 / 1 3 5 7 9 11 / 12 14 16 18 20 22 / 13 15 17 19 21 23");
  expect_groups(mesh, "tp-cp",
                "0 1 2 3 / 4 5 6 7 / 8 9 10 11 / 12 13 14 15 / 16 17 18 19 / 20 21 22 23");
}

Test(mesh, forms_the_expert_grid) {
  const Mesh mesh = mesh_of("tp2,dp4,pp2,expert.ep=4,expert.tp=1", 16);
  expect_groups(mesh, "ep", "0 1 2 3 / 4 5 6 7 / 8 9 10 11 / 12 13 14 15");
  expect_groups(mesh, "edp", "0 4 / 1 5 / 2 6 / 3 7 / 8 12 / 9 13 / 10 14 / 11 15");
  expect_groups(mesh, "etp-ep-pp", "0 1 2 3 8 9 10 11 / 4 5 6 7 12 13 14 15");
  expect_groups(mesh, "etp-ep", "0 1 2 3 / 4 5 6 7 / 8 9 10 11 / 12 13 14 15");
  expect_groups(mesh, "etp", "0 / 1 / 2 / 3 / 4 / 5 / 6 / 7 / 8 / 9 / 10 / 11 / 12 / 13 / 14 / 15");
  cr_assert(type_names(mesh) == (std::vector<std::string>{"tp", "dp", "pp", "etp", "ep", "edp",
                                                          "etp-ep", "etp-ep-pp"}));
}

Test(mesh, follows_the_order_tp_pp_dp) {
  const Mesh mesh = mesh_of("tp2,pp2,dp2", 8);
  expect_groups(mesh, "pp", "0 2 / 1 3 / 4 6 / 5 7");
  expect_groups(mesh, "dp", "0 4 / 1 5 / 2 6 / 3 7");
}

Test(mesh, expert_tp_defaults_to_tp_and_cp_leaves_the_expert_grid) {
  const Mesh mesh = mesh_of("tp2,cp2,dp2,expert.ep=2", 8);
  const GroupType& ep = type_of(mesh, "ep");
  cr_assert(ep.dims == (std::vector<Dimension>{{"etp", 2}, {"ep", 2}, {"edp", 2}}));
  expect_groups(mesh, "ep", "0 2 / 1 3 / 4 6 / 5 7");
  cr_assert(std::ranges::count(type_names(mesh), "etp-ep-pp") == 0);
}

Test(mesh, expert_dims_stand_before_pp_where_there_is_no_dp) {
  const Mesh mesh = mesh_of("tp4,pp2,expert.ep=2,expert.tp=1", 8);
  cr_assert(type_of(mesh, "ep").dims ==
            (std::vector<Dimension>{{"etp", 1}, {"ep", 2}, {"edp", 2}, {"pp", 2}}));
}

Test(mesh, expert_tp_can_be_larger_than_a_missing_tp) {
  const Mesh mesh = mesh_of("dp8,expert.tp=2,expert.ep=2", 8);
  expect_groups(mesh, "etp", "0 1 / 2 3 / 4 5 / 6 7");
  expect_groups(mesh, "ep", "0 2 / 1 3 / 4 6 / 5 7");
}

Test(mesh, checks_the_conditions_of_the_expert_grid) {
  Error error = error_of("tp2,dp4,pp2,expert.ep=3", 16);
  cr_assert(error.code == ErrorCode::kLayout);
  cr_assert(error.what ==
            "the expert grid etp2 x ep3 x pp2 needs a multiple of 12 ranks, the step has 16");
  cr_assert(error.hint == "take expert.tp and expert.ep whose product divides 8");
  error = error_of("tp2,pp2,dp4,expert.ep=2,expert.tp=1", 16);
  cr_assert(error.code == ErrorCode::kLayout);
  cr_assert(error.what ==
            "the expert grid has other pp groups than the mesh (ranks 1 apart instead of 2)");
  error = error_of("tp2,pp2,dp4,expert.ep=2,expert.tp=2", 16);
  cr_assert(error.code == ErrorCode::kLayout);
  cr_assert(error.what == "pp is not the last dimension, and the experts' dp is 2 where dp is 4");
}

Test(mesh, expert_grid_with_pp_inside_works_where_dp_stays) {
  const Mesh mesh = mesh_of("tp2,pp2,dp4,expert.ep=1,expert.tp=2", 16);
  expect_groups(mesh, "edp", groups_text(mesh, "dp"));
}

Test(mesh, fills_in_the_one_open_size) {
  cr_assert(mesh_of("tp2,dp,pp2", 12).dims ==
            (std::vector<Dimension>{{"tp", 2}, {"dp", 3}, {"pp", 2}}));
  cr_assert(mesh_of("timeout=5", 7).dims == (std::vector<Dimension>{{"dp", 7}}));
  cr_assert(mesh_of("tp,dp1", 1).dims == (std::vector<Dimension>{{"tp", 1}, {"dp", 1}}));
}

Test(mesh, resolves_the_empty_spec_to_one_dp) {
  const auto mesh = resolve_mesh(Spec{}, 3);
  cr_assert(mesh.has_value());
  expect_groups(*mesh, "dp", "0 1 2");
}

Test(mesh, says_what_does_not_fit) {
  struct Case {
    const char* spec;
    int world_size;
    const char* what;
    const char* hint;
  };
  for (const Case& c : {
           Case{"tp2,dp4", 6, "tp2,dp4 needs 8 ranks, the step has 6 (sizes 2x4)",
                "run 8 tasks (-n 8), or write tp2,dp3"},
           Case{"tp2,dp2", 8, "tp2,dp2 needs 4 ranks, the step has 8 (sizes 2x2)",
                "run 4 tasks (-n 4), or write tp2,dp4"},
           Case{"dp4,tp2", 6, "dp4,tp2 needs 8 ranks, the step has 6 (sizes 4x2)",
                "run 8 tasks (-n 8), or write dp3,tp2"},
           Case{"tp4,pp4", 6, "tp4,pp4 needs 16 ranks, the step has 6 (sizes 4x4)",
                "run 16 tasks (-n 16)"},
           Case{"tp4,dp", 6, "tp4,dp needs a multiple of 4 ranks, the step has 6 (sizes 4x?)",
                "run 4 or 8 tasks (-n 4, -n 8)"},
           Case{"tp8,dp", 6, "tp8,dp needs a multiple of 8 ranks, the step has 6 (sizes 8x?)",
                "run 8 tasks (-n 8) or a multiple of that, or take smaller sizes"},
           Case{"tp1000000,dp1000000,pp1000000", 6,
                "tp1000000,dp1000000,pp1000000 needs more than a million million ranks, the step "
                "has 6 (sizes 1000000x1000000x1000000)",
                "take smaller sizes"},
       }) {
    const Error error = error_of(c.spec, c.world_size);
    cr_assert(error.code == ErrorCode::kLayout);
    cr_assert(error.what == c.what, "%s", error.what.c_str());
    cr_assert(error.hint == c.hint, "%s", error.hint.c_str());
  }
  cr_assert(!resolve_mesh(Spec{}, 0).has_value());
}

Test(mesh, refuses_groups_of_dimensions_that_are_not_there) {
  const Error error = error_of("groups=tp-dp", 4);
  cr_assert(error.code == ErrorCode::kSpec);
  cr_assert(error.what == "groups type 'tp-dp' names 'tp', which is no dimension");
}

Test(mesh, gives_coordinates_innermost_first) {
  const Mesh mesh = mesh_of("tp2,cp2,dp3,pp2", 24);
  cr_assert(coordinates(mesh, 0) == (std::vector<int>{0, 0, 0, 0}));
  cr_assert(coordinates(mesh, 13) == (std::vector<int>{1, 0, 0, 1}));
  cr_assert(coordinates(mesh, 23) == (std::vector<int>{1, 1, 2, 1}));
}

Test(mesh, every_type_partitions_any_world) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> names = {"tp", "cp", "dp", "pp", "stage"};
    std::shuffle(names.begin(), names.end(), random);
    names.resize(static_cast<size_t>(pick(2, 5)));
    std::string text;
    int world_size = 1;
    for (const std::string& name : names) {
      const int size = pick(1, 4);
      world_size *= size;
      text += concat(text.empty() ? "" : ",", name, size);
    }
    text += concat(",groups=", names[1], '-', names[0]);
    if (pick(0, 1) == 1) {
      text += concat(",expert.ep=", pick(1, 4), ",expert.tp=", pick(1, 2));
    }
    const auto spec = parse_spec(text);
    cr_assert(spec.has_value(), "seed %u: %s", seed, text.c_str());
    const auto mesh = resolve_mesh(*spec, world_size);
    if (!mesh) {
      cr_assert(text.find("expert") != std::string::npos, "seed %u: %s", seed, text.c_str());
      continue;
    }
    for (const GroupType& type : mesh->group_types) {
      std::set<int> seen;
      int first_before = -1;
      for (int index = 0; index < group_count(type); ++index) {
        const std::vector<int> ranks = group_ranks(type, index);
        cr_assert(static_cast<int>(ranks.size()) == group_size(type));
        cr_assert(std::is_sorted(ranks.begin(), ranks.end()), "seed %u: %s", seed, text.c_str());
        cr_assert(ranks[0] > first_before, "seed %u: %s", seed, text.c_str());
        first_before = ranks[0];
        for (size_t i = 0; i < ranks.size(); ++i) {
          cr_assert(ranks[i] >= 0 && ranks[i] < world_size);
          cr_assert(seen.insert(ranks[i]).second, "seed %u: %s", seed, text.c_str());
          const Membership expected{type.name, index, static_cast<int>(i), ranks};
          cr_assert(membership(type, ranks[i]) == expected, "seed %u: %s", seed, text.c_str());
        }
      }
      cr_assert(static_cast<int>(seen.size()) == world_size, "seed %u: %s", seed, text.c_str());
    }
  }
}

Test(mesh, refuses_two_groups_with_the_same_variables) {
  const auto mesh = resolve_mesh(parse_spec("dp_cp2,dp2,cp1,groups=dp-cp").value(), 4);
  cr_assert(!mesh.has_value());
  cr_assert(mesh.error().code == ErrorCode::kLayout);
  cr_assert(mesh.error().what == "'dp_cp' and 'dp-cp' would have the same variables (DISTINIT_…)");
}
