// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/readers.h"

#include <memory>

#include <errno.h>
#include <infiniband/verbs.h>

namespace distinit {

Result<std::set<std::string>> list_verbs_devices() {
  int count = 0;
  errno = 0;
  const std::unique_ptr<ibv_device*, decltype(&ibv_free_device_list)> list(
      ibv_get_device_list(&count), &ibv_free_device_list);
  const int saved_errno = errno;
  if (!list) {
    if (saved_errno == ENOSYS) {
      return std::set<std::string>{};
    }
    return system_error(ErrorCode::kTopology, "libibverbs cannot list its devices", saved_errno,
                        "see what `ibv_devices` says on this node");
  }
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.emplace(ibv_get_device_name(list.get()[i]));
  }
  return names;
}

}  // namespace distinit
