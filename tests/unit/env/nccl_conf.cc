// SPDX-License-Identifier: Apache-2.0
#include "lib/env/nccl_conf.h"

#include <criterion/criterion.h>

using namespace distinit;

using Names = std::set<std::string>;

Test(nccl_conf, reads_names_as_nccl_does) {
  cr_expect(parse_nccl_conf("NCCL_IB_HCA=mlx5_0\nNCCL_DEBUG=\n\nNCCL_SOCKET_IFNAME==eth0") ==
            (Names{"NCCL_DEBUG", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME"}));
  cr_expect(parse_nccl_conf("NCCL_IB_SL=1\nNCCL_IB_SL=2\n") == Names{"NCCL_IB_SL"});
}

Test(nccl_conf, skips_comments_and_what_sets_nothing) {
  cr_expect(parse_nccl_conf("").empty());
  cr_expect(parse_nccl_conf("#NCCL_IB_HCA=mlx5_0\n# NCCL_DEBUG=INFO\nNCCL_IB_SL\n=3\n").empty());
  // NCCL trims nothing: this is a variable whose name begins with a blank.
  cr_expect(parse_nccl_conf(" NCCL_IB_HCA=x").count("NCCL_IB_HCA") == 0);
  cr_expect(parse_nccl_conf(" #NCCL_IB_HCA=x").count("NCCL_IB_HCA") == 0);
}
