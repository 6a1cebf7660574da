// SPDX-License-Identifier: Apache-2.0
// Stands for the user's program in a container image: linked statically, as the image has no
// libraries at all. Prints what it was told and where it is. Built by cases/site.sh.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char* told(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? "none" : value;
}

int main(int argc, char** argv) {
  printf("%s/%s %s %s %s %s %s\n", told("RANK"), told("WORLD_SIZE"), told("MASTER_ADDR"),
         told("DISTINIT_COORDS"), access("/etc", F_OK) == 0 ? "outside" : "inside",
         atoi(told("SLURM_TASK_PID")) == getpid() ? "same-pid" : "other-pid",
         argc == 2 ? argv[1] : "no argument");
  return 9;
}
