// SPDX-License-Identifier: Apache-2.0
#include "lib/env/ucx.h"

#include "tests/unit/env/sample.h"
#include "tests/unit/expect_text.h"

using namespace distinit;

Test(ucx, names_the_ranks_own_rails) {
  Sample sample;
  cr_expect(ucx_family(sample.context).empty());
  sample.context.ucx_net_devices = "mlx5_3:1,mlx5_4:1";
  cr_expect(ucx_family(sample.context) ==
            (std::vector<Assignment>{
                {"UCX_NET_DEVICES", "mlx5_3:1,mlx5_4:1", AssignmentKind::kDefault}}));
}
