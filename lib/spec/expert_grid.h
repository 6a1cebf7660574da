// SPDX-License-Identifier: Apache-2.0
#pragma once
// The second grid over the same world, for the expert layers of a mixture-of-experts model, as
// Megatron-Core lays it out (megatron/core/parallel_state.py, initialize_model_parallel).

#include "lib/spec/mesh.h"

#include <vector>

namespace distinit {

/// kSpec error when the SPEC asks for an expert grid (`expert.ep`, `expert.tp`) and also has a
/// plain dimension of one of that grid's names.
Status check_expert_names(const Spec& spec);

/// The expert grid's group types: etp, ep, edp, etp-ep, and etp-ep-pp where there is a pp
/// dimension; nothing where the SPEC asks for no expert grid.
///
/// The grid keeps the order of `dims` (the mesh's, sizes filled): etp stands where tp does, cp is
/// left out, edp stands where dp does and ep right before it; without a dp both stand before pp.
/// etp is `expert.tp`, else tp; edp is what is left of the world. kLayout errors say which of
/// Megatron's conditions does not hold: the world divisible by etp x ep x pp, the same pp groups in
/// both grids, and dp equal to edp unless the order ends in pp.
Result<std::vector<GroupType>> expert_group_types(const Spec& spec,
                                                  const std::vector<Dimension>& dims,
                                                  int world_size);

}  // namespace distinit
