// SPDX-License-Identifier: Apache-2.0
#include "lib/launch/stage_descriptors.h"

#include "lib/base/text.h"
#include "lib/spec/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace distinit {

namespace {

Error cannot_place() {
  return system_error(ErrorCode::kInternal,
                      concat("can't hand two descriptors from ", kStageFirstFd, " on to the stage"),
                      errno,
                      "raise the limit of open files (LimitNOFILE of slurmd) to 1024 or more");
}

}  // namespace

Result<Fd> open_stage(const std::string& path) {
  Fd stage(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!stage.is_open() || access(path.c_str(), X_OK) != 0) {
    return system_error(ErrorCode::kInternal, concat("can't use the stage ", path), errno,
                        "install distinit on this node, or correct helper= or stage= in "
                        "plugstack.conf");
  }
  return stage;
}

Result<int> place_stage_descriptors(Fd stage, Fd agent) {
  int from = kStageFirstFd;
  while (true) {
    Fd first(fcntl(stage.get(), F_DUPFD, from));
    if (!first.is_open()) {
      return cannot_place();
    }
    Fd second(fcntl(agent.get(), F_DUPFD, first.get() + 1));
    if (!second.is_open()) {
      return cannot_place();
    }
    if (second.get() == first.get() + 1) {
      second.release();
      return first.release();
    }
    // Everything between the two is taken.
    from = second.get();
  }
}

}  // namespace distinit
