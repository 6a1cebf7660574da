// SPDX-License-Identifier: Apache-2.0
// Stands for a site's TaskProlog that knows better than we do. A static program, since Slurm runs
// it where the task is by then: in the container image. Built by cases/site.sh.
#include <stdio.h>

int main(void) {
  puts(
      "export RANK=99\nexport MASTER_ADDR=192.0.2.1\nexport MASTER_PORT=1\nexport "
      "DISTINIT_COORDS=tp=99\n"
      "export SLURM_DISTINIT_SECRET=spoiled\nexport FROM_PROLOG=kept\nunset WORLD_SIZE");
  return 0;
}
