// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/spec/comms_options.h"
#include "lib/spec/options.h"
#include "lib/spec/placement_options.h"
#include "lib/spec/spec.h"

#include <algorithm>

#include <limits.h>

namespace distinit {

namespace {

class OptionReader {
 public:
  explicit OptionReader(const Spec& spec) : options_(spec.options) {}

  std::string_view text(std::string_view key) const {
    const auto found = options_.find(key);
    return found == options_.end() ? std::string_view() : found->second;
  }
  int number(std::string_view key, int otherwise) const {
    return static_cast<int>(parse_number(text(key), 0, INT_MAX).value_or(otherwise));
  }

 private:
  const std::map<std::string, std::string, std::less<>>& options_;
};

void read_placement(const Spec& spec, const OptionReader& reader, Options& options) {
  if (const auto bind = parse_bind(reader.text("bind"))) {
    options.bind = *bind;
  }
  options.topology = reader.text("topology");
  if (const std::string_view skipped = reader.text("hca.skip"); !skipped.empty()) {
    for (const std::string_view name : split(skipped, '+')) {
      options.skipped_hcas.emplace_back(name);
    }
  }
  for (const auto& [key, value] : spec.options) {
    if (key.starts_with(kNcclPrefix)) {
      std::string listed = value;
      std::replace(listed.begin(), listed.end(), '+', ',');
      options.nccl.emplace_back(key.substr(kNcclPrefix.size()), std::move(listed));
    }
  }
}

void read_comms(const OptionReader& reader, Options& options) {
  if (const auto comms = parse_comms(reader.text("comms"))) {
    options.comms = *comms;
  }
  const std::string_view mode = reader.text("check");
  options.check.mode = mode == "require" ? CheckMode::kRequire
                       : mode == "on"    ? CheckMode::kOn
                                         : CheckMode::kOff;
  if (const auto least = parse_least_bandwidths(reader.text("check.min_busbw"))) {
    options.check.least_bandwidths = *least;
  }
  const std::string_view size = reader.text("check.size");
  options.check.size =
      size.empty() ? options.check.size : parse_limit(size).value_or(options.check.size);
  options.check.report = reader.text("check.report");
}

}  // namespace

Options typed_options(const Spec& spec) {
  const OptionReader reader(spec);
  Options options;
  options.port = reader.number("port", options.port);
  const std::string_view ports = reader.text("ports");
  if (const size_t at = ports.find('-'); at != std::string_view::npos) {
    options.port_low =
        static_cast<int>(parse_number(ports.substr(0, at), 1, 65535).value_or(options.port_low));
    options.port_high =
        static_cast<int>(parse_number(ports.substr(at + 1), 1, 65535).value_or(options.port_high));
  }
  options.timeout_s = reader.number("timeout", options.timeout_s);
  options.linger_s = reader.number("linger", options.linger_s);
  if (reader.text("torch.store") == "rank0") {
    options.torch_store = TorchStore::kRank0;
  }
  if (reader.text("address") == "name") {
    options.address = AddressForm::kName;
  }
  options.address_template = reader.text("address.template");
  options.interface = reader.text("interface");
  for (const auto& [key, value] : spec.options) {
    if (const auto limit = parse_limit(value); limit && key.starts_with("limit.")) {
      options.limits.push_back({key.substr(6), *limit});
    }
  }
  read_placement(spec, reader, options);
  read_comms(reader, options);
  return options;
}

}  // namespace distinit
