// SPDX-License-Identifier: Apache-2.0
// Short forms of numbers and ranks, as the table and the picture of a plan show them.

#include "helper/plan.h"
#include "lib/base/text.h"

namespace distinit {

namespace {

/// Runs of three and more are joined ("0-7"); so are steps of four and more ("0,8,…,56"), since
/// most groups are one of the two.
std::vector<std::string> short_pieces(const std::vector<int>& ranks) {
  std::vector<std::string> pieces;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i + 1;
    while (last + 1 < ranks.size() && ranks[last + 1] - ranks[last] == ranks[i + 1] - ranks[i]) {
      ++last;
    }
    const bool has_step = i + 1 < ranks.size();
    const int step = has_step ? ranks[i + 1] - ranks[i] : 0;
    const size_t length = has_step ? last - i + 1 : 1;
    if (step == 1) {
      pieces.push_back(concat(ranks[i], '-', ranks[last]));
      i = last + 1;
    } else if (length > 4) {
      pieces.push_back(concat(ranks[i], ',', ranks[i + 1], ",…,", ranks[last]));
      i = last + 1;
    } else {
      pieces.push_back(concat(ranks[i]));
      ++i;
    }
  }
  return pieces;
}

}  // namespace

std::string format_ranks(const std::vector<int>& ranks, size_t most) {
  std::vector<std::string> pieces = short_pieces(ranks);
  if (most > 0 && pieces.size() > most) {
    pieces.resize(most);
    pieces.emplace_back("…");
  }
  return join(pieces, ",");
}

std::string format_count(long long number) {
  std::string digits = concat(number);
  for (size_t at = digits.size(); at > 3; at -= 3) {
    digits.insert(at - 3, 1, ',');
  }
  return digits;
}

std::string format_quantity(long long number, std::string_view one_of_them) {
  return concat(format_count(number), ' ', one_of_them, number == 1 ? "" : "s");
}

}  // namespace distinit
