// SPDX-License-Identifier: Apache-2.0
#include "lib/slurm/counts.h"

#include "lib/base/text.h"

namespace distinit {

namespace {

constexpr long long kHighestPort = 65535;

Error bad_count(std::string_view entry, std::string_view why) {
  return Error{ErrorCode::kUsage, concat("tasks per node '", abbreviate(entry), "': ", why),
               "a list of counts looks like 2(x3),1", 0};
}

Error bad_port(std::string_view entry, std::string_view why) {
  return Error{ErrorCode::kUsage, concat("ports '", abbreviate(entry), "': ", why),
               "a list of ports looks like 12000-12002,12005", 0};
}

}  // namespace

Result<std::vector<int>> expand_counts(std::string_view text) {
  std::vector<int> counts;
  long long total = 0;
  for (const std::string_view entry : split(text, ',')) {
    const size_t open = entry.find("(x");
    const auto count = parse_number(entry.substr(0, open), 1, kMostTasks);
    std::optional<long long> repeat = 1;
    if (open != std::string_view::npos) {
      const bool closed = entry.ends_with(')');
      repeat = closed ? parse_number(entry.substr(open + 2, entry.size() - open - 3), 1, kMostNodes)
                      : std::nullopt;
    }
    if (!count || !repeat) {
      return bad_count(entry, "not a count, nor a count with (xTIMES)");
    }
    total += *count * *repeat;
    if (total > kMostTasks || static_cast<long long>(counts.size()) + *repeat > kMostNodes) {
      return bad_count(entry, concat("more than ", kMostTasks, " tasks or ", kMostNodes, " nodes"));
    }
    counts.insert(counts.end(), static_cast<size_t>(*repeat), static_cast<int>(*count));
  }
  return counts;
}

Result<std::vector<int>> expand_ports(std::string_view text) {
  std::vector<int> ports;
  for (const std::string_view entry : split(text, ',')) {
    const size_t dash = entry.find('-');
    const auto low = parse_number(entry.substr(0, dash), 1, kHighestPort);
    const auto high = dash == std::string_view::npos
                          ? low
                          : parse_number(entry.substr(dash + 1), 1, kHighestPort);
    if (!low || !high || *high < *low) {
      return bad_port(entry, "not a port, nor a range LOW-HIGH of ports");
    }
    if (static_cast<long long>(ports.size()) + *high - *low + 1 > kHighestPort) {
      return bad_port(entry, "more ports than there are");
    }
    for (long long port = *low; port <= *high; ++port) {
      ports.push_back(static_cast<int>(port));
    }
  }
  return ports;
}

}  // namespace distinit
