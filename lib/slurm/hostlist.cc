// SPDX-License-Identifier: Apache-2.0
#include "lib/slurm/hostlist.h"

#include "lib/base/text.h"

#include <algorithm>

namespace distinit {

namespace {

constexpr std::string_view kSeparators = ", \t\n";
/// Numbers beyond this many digits are not numbers of nodes; it also keeps sums inside a long long.
constexpr size_t kMostDigits = 15;
constexpr long long kLargestNumber = 999'999'999'999'999;

struct Range {
  long long low = 0;
  long long high = 0;
  size_t width = 0;  ///< characters of the low bound as written
};

struct Bracket {
  std::vector<Range> ranges;
  long long count = 0;  ///< of numbers in all ranges together
};

/// texts[0] brackets[0] texts[1] … : one text more than there are brackets.
struct Item {
  std::vector<std::string_view> texts;
  std::vector<Bracket> brackets;
};

Error bad_item(std::string_view item, std::string_view why, std::string hint = {}) {
  return Error{ErrorCode::kUsage, concat("host list item '", abbreviate(item), "': ", why),
               std::move(hint), 0};
}

Error too_many_hosts(std::string_view item) {
  return bad_item(item, concat("more than ", kMostHosts, " hosts in one list"));
}

std::string padded(long long number, size_t width) {
  std::string digits = concat(number);
  if (digits.size() < width) {
    digits.insert(0, width - digits.size(), '0');
  }
  return digits;
}

Result<Range> parse_range(std::string_view text, std::string_view item) {
  const auto bad = [&](std::string_view why, std::string hint = {}) {
    return bad_item(item, concat("range '", abbreviate(text), "' ", why), std::move(hint));
  };
  const size_t dash = text.find('-');
  const std::string_view low_text = text.substr(0, dash);
  const auto low = parse_number(low_text, 0, kLargestNumber);
  // Slurm reads "[1-]" as "[1]".
  const bool single = dash == std::string_view::npos || dash + 1 == text.size();
  const auto high = single ? low : parse_number(text.substr(dash + 1), 0, kLargestNumber);
  if (!low || !high) {
    if (text.find('x') != std::string_view::npos) {
      return bad("is not a range of decimal numbers",
                 "coordinate boxes of multi-dimensional clusters are not read: list the nodes");
    }
    return bad("is not a range of decimal numbers", "a bracket looks like [01-03,7]");
  }
  if (*high < *low) {
    return bad("runs backwards", "write the lower number first");
  }
  if (*high - *low >= kMostHostsInRange) {
    return bad(concat("has more than ", kMostHostsInRange, " hosts"));
  }
  return Range{*low, *high, low_text.size()};
}

Result<Bracket> parse_bracket(std::string_view inside, std::string_view item) {
  Bracket bracket;
  for (const std::string_view text : split(inside, ',')) {
    DISTINIT_ASSIGN_OR_RETURN(const Range range, parse_range(text, item));
    bracket.ranges.push_back(range);
    bracket.count += range.high - range.low + 1;
    if (bracket.count > kMostHosts) {
      return too_many_hosts(item);
    }
  }
  return bracket;
}

Result<Item> parse_item(std::string_view text) {
  Item item;
  std::string_view rest = text;
  while (true) {
    const size_t open = rest.find_first_of("[]{}");
    item.texts.push_back(rest.substr(0, open));
    if (open == std::string_view::npos) {
      return item;
    }
    if (rest[open] == ']') {
      return bad_item(text, "']' without a '[' before it");
    }
    if (rest[open] != '[') {
      return bad_item(text, "host list functions with braces are not read",
                      "`scontrol show hostnames` expands them");
    }
    const size_t close = rest.find_first_of("[]", open + 1);
    if (close == std::string_view::npos) {
      return bad_item(text, "'[' without a ']' after it");
    }
    if (rest[close] == '[') {
      return bad_item(text, "'[' inside brackets");
    }
    DISTINIT_ASSIGN_OR_RETURN(Bracket bracket,
                              parse_bracket(rest.substr(open + 1, close - open - 1), text));
    item.brackets.push_back(std::move(bracket));
    rest.remove_prefix(close + 1);
  }
}

Status check_name_length(const Item& item, std::string_view text) {
  size_t longest = 0;
  for (const std::string_view piece : item.texts) {
    longest += piece.size();
  }
  for (const Bracket& bracket : item.brackets) {
    size_t widest = 0;
    for (const Range& range : bracket.ranges) {
      widest = std::max(widest, padded(range.high, range.width).size());
    }
    longest += widest;
  }
  if (longest > kLongestHostName) {
    return bad_item(text, concat("names longer than ", kLongestHostName, " characters"));
  }
  return Ok{};
}

std::vector<std::string> numbers_of(const Bracket& bracket) {
  std::vector<std::string> numbers;
  numbers.reserve(static_cast<size_t>(bracket.count));
  for (const Range& range : bracket.ranges) {
    for (long long number = range.low; number <= range.high; ++number) {
      numbers.push_back(padded(number, range.width));
    }
  }
  return numbers;
}

/// Appends the names of a checked item.
void expand_item(const Item& item, std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> numbers;
  for (const Bracket& bracket : item.brackets) {
    numbers.push_back(numbers_of(bracket));
  }
  // Fastest first. Slurm keeps the last bracket as ranges and expands the prefix from its last
  // bracket inwards, which makes the one before the last the slowest.
  std::vector<size_t> order;
  for (size_t i = 0; i < numbers.size(); ++i) {
    order.push_back(i == 0 ? numbers.size() - 1 : i - 1);
  }
  std::vector<size_t> at(numbers.size(), 0);
  while (true) {
    std::string name(item.texts[0]);
    for (size_t i = 0; i < numbers.size(); ++i) {
      name += numbers[i][at[i]];
      name += item.texts[i + 1];
    }
    names.push_back(std::move(name));
    const auto next = std::find_if(order.begin(), order.end(),
                                   [&](size_t i) { return at[i] + 1 < numbers[i].size(); });
    if (next == order.end()) {
      return;
    }
    std::for_each(order.begin(), next, [&](size_t i) { at[i] = 0; });
    ++at[*next];
  }
}

/// Where the item that starts at `start` ends: at a separator outside brackets.
size_t end_of_item(std::string_view text, size_t start) {
  bool inside = false;
  for (size_t i = start; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == ']') {
      inside = text[i] == '[';
    } else if (!inside && kSeparators.find(text[i]) != std::string_view::npos) {
      return i;
    }
  }
  return text.size();
}

/// A name cut before its trailing digits, as many of them as make a number.
size_t start_of_digits(std::string_view name) {
  size_t start = name.size();
  while (start > 0 && name.size() - start < kMostDigits && name[start - 1] >= '0' &&
         name[start - 1] <= '9') {
    --start;
  }
  return start;
}

/// The names [first, last) share `prefix` and end in digits: "1-3,7".
std::string compress_numbers(const std::vector<std::string>& names, size_t first, size_t last,
                             size_t prefix) {
  std::string out;
  while (first < last) {
    const std::string_view low = std::string_view(names[first]).substr(prefix);
    long long number = *parse_number(low, 0, kLargestNumber);
    size_t end = first + 1;
    while (end < last && static_cast<long long>(end - first) < kMostHostsInRange &&
           std::string_view(names[end]).substr(prefix) == padded(number + 1, low.size())) {
      ++number;
      ++end;
    }
    out += out.empty() ? "" : ",";
    out += low;
    if (end - first > 1) {
      out += concat("-", std::string_view(names[end - 1]).substr(prefix));
    }
    first = end;
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text) {
  if (text.size() > kLongestHostlist) {
    return Error{ErrorCode::kUsage,
                 concat("host list of ", text.size(), " bytes is longer than ", kLongestHostlist),
                 "", 0};
  }
  std::vector<std::string> names;
  size_t start = 0;
  while ((start = text.find_first_not_of(kSeparators, start)) != std::string_view::npos) {
    const size_t end = end_of_item(text, start);
    const std::string_view item_text = text.substr(start, end - start);
    start = end;
    DISTINIT_ASSIGN_OR_RETURN(const Item item, parse_item(item_text));
    DISTINIT_RETURN_IF_ERROR(check_name_length(item, item_text));
    long long left = kMostHosts - static_cast<long long>(names.size());
    for (const Bracket& bracket : item.brackets) {
      left /= bracket.count;
    }
    if (left < 1) {
      return too_many_hosts(item_text);
    }
    expand_item(item, names);
  }
  return names;
}

std::string compress_hostlist(const std::vector<std::string>& names) {
  std::string out;
  size_t first = 0;
  while (first < names.size()) {
    const std::string_view name = names[first];
    const size_t digits = start_of_digits(name);
    size_t last = first + 1;
    while (last < names.size() && digits < name.size() && start_of_digits(names[last]) == digits &&
           digits < names[last].size() &&
           std::string_view(names[last]).substr(0, digits) == name.substr(0, digits)) {
      ++last;
    }
    out += out.empty() ? "" : ",";
    if (last - first == 1) {
      out += name;
    } else {
      out += concat(name.substr(0, digits), "[", compress_numbers(names, first, last, digits), "]");
    }
    first = last;
  }
  return out;
}

}  // namespace distinit
