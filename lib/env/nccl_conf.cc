// SPDX-License-Identifier: Apache-2.0
#include "lib/env/nccl_conf.h"

#include "lib/base/text.h"

namespace distinit {

std::set<std::string> parse_nccl_conf(std::string_view text) {
  std::set<std::string> names;
  for (const std::string_view line : split(text, '\n')) {
    const size_t equals = line.find('=');
    if (!line.starts_with('#') && equals != std::string_view::npos && equals > 0) {
      names.emplace(line.substr(0, equals));
    }
  }
  return names;
}

}  // namespace distinit
