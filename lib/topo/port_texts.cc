// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/port_texts.h"

#include "lib/base/text.h"

namespace distinit {

PortState parse_port_state(std::string_view text) {
  switch (parse_number(text.substr(0, text.find_first_not_of("0123456789")), 0, 9).value_or(0)) {
    case 1:
    case 5:
      return PortState::kDown;
    case 2:
      return PortState::kInit;
    case 3:
      return PortState::kArmed;
    case 4:
      return PortState::kActive;
    default:
      return PortState::kUnknown;
  }
}

int parse_lid(std::string_view text) {
  text.remove_prefix(text.starts_with("0x") ? 2 : 0);
  int lid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lid, 16);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  return is_number && lid > 0 && lid < 0xffff ? lid : -1;
}

}  // namespace distinit
