// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step that the facts spell out in every dialect: job 4242 step 0, two nodes a7 and a8 with two
// tasks each, mesh tp2,dp2, seen by rank 3.

#include "lib/env/rank_context.h"

#include <criterion/criterion.h>

namespace distinit {

/// Owns what the context points at.
struct Sample {
  Spec spec;
  Mesh mesh;
  RankContext context;

  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  explicit Sample(std::string_view text = "tp2,dp2", int world_size = 4, int rank = 3) {
    auto parsed = parse_spec(text);
    cr_assert(parsed.has_value(), "%s", parsed ? "" : parsed.error().what.c_str());
    spec = *parsed;
    auto resolved = resolve_mesh(spec, world_size);
    cr_assert(resolved.has_value(), "%s", resolved ? "" : resolved.error().what.c_str());
    mesh = *resolved;
    context.job_id = "4242";
    context.step_id = "0";
    context.rank = rank;
    context.world_size = world_size;
    context.local_rank = 1;
    context.local_world_size = 2;
    context.group_rank = 1;
    context.group_world_size = 2;
    context.node = "a8";
    context.master_addr = "10.0.0.7";
    context.master_port = 23001;
    context.interface = "ib0";
    context.store_addr = "10.0.0.7";
    context.store_port = 23001;
    context.mesh = &mesh;
    context.spec = &spec;
    context.options = typed_options(spec);
  }
};

}  // namespace distinit
