// SPDX-License-Identifier: Apache-2.0
#include "helper/nccl_conf_files.h"

#include "lib/base/fd.h"
#include "lib/base/text.h"
#include "lib/env/nccl_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace distinit {

namespace {

constexpr size_t kLongestFile = 1 << 20;

std::string read_small_file(const std::string& path) {
  // A FIFO without a writer would block.
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  std::string text(kLongestFile + 1, '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count = read(file.get(), text.data() + filled, text.size() - filled);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      break;
    }
    filled += static_cast<size_t>(count);
  }
  text.resize(filled > kLongestFile ? 0 : filled);
  return text;
}

}  // namespace

std::set<std::string> nccl_conf_names(const Environment& environment,
                                      const std::string& system_file) {
  std::string user_file = environment.get_or("NCCL_CONF_FILE", "");
  if (const auto home = environment.get("HOME"); user_file.empty() && home && !home->empty()) {
    user_file = concat(*home, "/.nccl.conf");
  }
  std::set<std::string> names = parse_nccl_conf(read_small_file(system_file));
  if (!user_file.empty()) {
    names.merge(parse_nccl_conf(read_small_file(user_file)));
  }
  return names;
}

}  // namespace distinit
