// SPDX-License-Identifier: Apache-2.0
// Stands for a container plugin in a cluster's plugstack.conf: with ENTER_ROOT set in the job's
// environment, its task_init moves the task into the root file system root=PATH (in user and mount
// namespaces of its own) that has nothing of this one but /proc, and gives it the container image's
// idea of MASTER_ADDR. Built by cases/site.sh.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(container_double, 1)

static int write_map(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) {
    return -1;
  }
  return close(fd);
}

static int enter(const char* root) {
  char uid_map[64], gid_map[64], proc[4096];
  snprintf(uid_map, sizeof uid_map, "%d %d 1", (int)geteuid(), (int)geteuid());
  snprintf(gid_map, sizeof gid_map, "%d %d 1", (int)getegid(), (int)getegid());
  snprintf(proc, sizeof proc, "%s/proc", root);
  // The change of user has made the files in /proc/self root's.
  prctl(PR_SET_DUMPABLE, 1);
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || write_map("/proc/self/setgroups", "deny") != 0 ||
      write_map("/proc/self/uid_map", uid_map) != 0 ||
      write_map("/proc/self/gid_map", gid_map) != 0) {
    return -1;
  }
  return mount("/proc", proc, NULL, MS_BIND | MS_REC, NULL) != 0 || chroot(root) != 0 ||
                 chdir("/") != 0
             ? -1
             : 0;
}

int slurm_spank_task_init(spank_t spank, int argc, char** argv) {
  char value[16];
  if (!spank_remote(spank) ||
      spank_getenv(spank, "ENTER_ROOT", value, sizeof value) != ESPANK_SUCCESS) {
    return 0;
  }
  if (argc != 1 || strncmp(argv[0], "root=", 5) != 0 || enter(argv[0] + 5) != 0) {
    slurm_error("container double: %s: %s", argc == 1 ? argv[0] : "root=PATH is missing",
                strerror(errno));
    return -1;
  }
  return spank_setenv(spank, "MASTER_ADDR", "image.example", 1) == ESPANK_SUCCESS ? 0 : -1;
}
