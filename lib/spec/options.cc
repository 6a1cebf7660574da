// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/options.h"

#include "lib/base/nearest.h"
#include "lib/base/text.h"
#include "lib/spec/comms_options.h"
#include "lib/spec/dimensions.h"
#include "lib/spec/group_names.h"
#include "lib/spec/placement_options.h"

#include <net/if.h>
#include <algorithm>

namespace distinit {

namespace {

constexpr int kLongestWait = 86400;
constexpr uint64_t kSmallestCheck = 65'536;
constexpr uint64_t kLargestCheck = uint64_t{16} << 30;

struct OptionRule {
  OptionHelp help;
  bool (*is_valid)(std::string_view value);
  std::string_view wanted;  // completes "is not …"
};

bool is_port(std::string_view value) {
  return parse_number(value, 1, 65535).has_value();
}

bool is_port_range(std::string_view value) {
  const auto ends = split(value, '-');
  if (ends.size() != 2) {
    return false;
  }
  const auto low = parse_number(ends[0], 1, 65535);
  const auto high = parse_number(ends[1], 1, 65535);
  return low && high && *low <= *high;
}

bool is_timeout(std::string_view value) {
  return parse_number(value, 1, kLongestWait).has_value();
}

bool is_linger(std::string_view value) {
  return parse_number(value, 0, kLongestWait).has_value();
}

bool is_torch_store(std::string_view value) {
  return value == "agent" || value == "rank0";
}

bool is_address_form(std::string_view value) {
  return value == "numeric" || value == "name";
}

bool is_address_template(std::string_view value) {
  constexpr std::string_view kNameBytes =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  const size_t at = value.find("%n");
  if (at == std::string_view::npos || value.size() > 255) {
    return false;
  }
  const std::string around = concat(value.substr(0, at), value.substr(at + 2));
  return around.find_first_not_of(kNameBytes) == std::string::npos;
}

/// What the kernel accepts as a name (net/core/dev.c, dev_valid_name), in printable ASCII.
bool is_interface(std::string_view value) {
  if (value.empty() || value.size() >= IFNAMSIZ || value == "." || value == "..") {
    return false;
  }
  for (const char c : value) {
    if (c <= ' ' || c > '~' || c == '/' || c == ':') {
      return false;
    }
  }
  return true;
}

bool is_limit(std::string_view value) {
  return parse_limit(value).has_value();
}

bool is_dimension_size(std::string_view value) {
  return parse_number(value, 1, kLargestDimension).has_value();
}

bool is_groups(std::string_view value) {
  return parse_group_names(value).has_value();
}

bool is_bind(std::string_view value) {
  return parse_bind(value).has_value();
}

bool is_comms(std::string_view value) {
  return parse_comms(value).has_value();
}

bool is_check(std::string_view value) {
  return value == "on" || value == "off" || value == "require";
}

bool is_check_size(std::string_view value) {
  const auto size = parse_limit(value);
  return size && *size >= kSmallestCheck && *size <= kLargestCheck;
}

bool is_least_bandwidths(std::string_view value) {
  return parse_least_bandwidths(value).has_value();
}

bool is_variable_value(std::string_view value) {
  return !value.empty();
}

constexpr std::string_view kLimitWanted = "'max' or a number with an optional K, M or G";

constexpr OptionRule kRules[] = {
    {{"port", "PORT", "the store's port; the step fails when it is taken", "29500"},
     is_port,
     "a port from 1 to 65535"},
    {{"ports", "LOW-HIGH", "where the store's port is taken from otherwise", "20000-31999"},
     is_port_range,
     "a range of ports such as 20000-31999"},
    {{"timeout", "SECONDS", "until all nodes and ranks must have met", "120"},
     is_timeout,
     "a number of seconds from 1 to 86400"},
    {{"linger", "SECONDS", "how long the store outlives rank 0's program, at most", "600"},
     is_linger,
     "a number of seconds from 0 to 86400"},
    {{"torch.store", "agent|rank0", "who hosts the store that torch connects to", "rank0"},
     is_torch_store,
     "'agent' or 'rank0'"},
    {{"address", "numeric|name", "what MASTER_ADDR holds", "name"},
     is_address_form,
     "'numeric' or 'name'"},
    {{"address.template", "TEXT", "host name that reaches a node; %n is the node's name", "%n-ib0"},
     is_address_template,
     "a host name that contains %n once, such as %n-ib0"},
    {{"interface", "NAME", "network interface that MASTER_ADDR belongs to", "ib0"},
     is_interface,
     "an interface name of 1 to 15 bytes"},
    {{"limit.nofile", "max|NUMBER", "raise the limit of open files", "max"},
     is_limit,
     kLimitWanted},
    {{"limit.memlock", "max|BYTES", "raise the limit of locked memory", "max"},
     is_limit,
     kLimitWanted},
    {{"limit.stack", "max|BYTES", "raise the limit of the stack", "64M"}, is_limit, kLimitWanted},
    {{"limit.core", "max|BYTES", "raise the limit of core files", "max"}, is_limit, kLimitWanted},
    {{"groups", "DIM-DIM[+DIM-DIM]", "groups over several dimensions together", "dp-cp+tp-pp"},
     is_groups,
     "group types such as dp-cp+tp-pp"},
    {{"expert.ep", "SIZE", "expert layers: expert parallel size", "4"},
     is_dimension_size,
     "a size from 1 to 1000000"},
    {{"expert.tp", "SIZE", "expert layers: tensor parallel size (default: tp)", "1"},
     is_dimension_size,
     "a size from 1 to 1000000"},
    {{"bind", "PART[+PART]|all|none", "what is bound: cpu, gpu, hca, memory", "cpu+gpu+hca"},
     is_bind,
     "parts such as cpu+gpu"},
    {{"topology", "PATH", "the machine from an XML file; %n is the node's name",
      "/etc/distinit/%n.xml"},
     is_topology_path,
     "an absolute path, with '%' only in %n"},
    {{"hca.skip", "NAME[+NAME]", "HCAs, or ports of them (NAME:PORT), to leave out",
      "mlx5_bond_0+mlx5_2:1"},
     is_hca_list,
     "a list of HCAs or ports such as mlx5_bond_0+mlx5_2:1"},
    {{"comms", "split|ids[+preload]",
      "communicators by splitting the world's, or by an id each; preload: before main", "ids"},
     is_comms,
     "'split', 'ids', 'preload', or one of the first two with '+preload'"},
    {{"check", "on|off|require", "try every group's communicator before the program starts", "on"},
     is_check,
     "'on', 'off' or 'require'"},
    {{"check.min_busbw", "GBPS|TYPE:GBPS[+…]",
      "least bus bandwidth of a group, in GB/s, or the check "
      "fails",
      "tp:200+dp:40"},
     is_least_bandwidths,
     "a number of GB/s, or such as tp:200+dp:40"},
    {{"check.size", "BYTES", "the check's large all-reduce", "64M"},
     is_check_size,
     "a size from 64K to 16G"},
    {{"check.report", "PATH", "file for the check's report as JSON, on rank 0's node",
      "/tmp/check.json"},
     is_report_path,
     "an absolute path"},
    {{"nccl.NAME", "VALUE", "NCCL_NAME of the programs, '+' for ','; a user's own wins", "3"},
     is_variable_value,
     "a value"},
};

/// The same table without the functions, for others to read.
constexpr size_t kRuleCount = sizeof kRules / sizeof kRules[0];
struct HelpTable {
  OptionHelp helps[kRuleCount];
};
constexpr HelpTable make_help_table() {
  HelpTable table{};
  for (size_t i = 0; i < kRuleCount; ++i) {
    table.helps[i] = kRules[i].help;
  }
  return table;
}
constexpr HelpTable kHelps = make_help_table();

std::string_view nearest_value(const OptionHelp& help, std::string_view value) {
  return help.value.find('|') == std::string_view::npos ? std::string_view()
                                                        : nearest(value, split(help.value, '|'));
}

Error bad_value(const OptionRule& rule, std::string_view key, std::string_view value) {
  const std::string_view near = nearest_value(rule.help, value);
  const std::string_view offered = near.empty() ? rule.help.example : near;
  return Error{ErrorCode::kSpec,
               concat("bad value in '", key, '=', abbreviate(value), "': not ", rule.wanted),
               near.empty() ? concat("for example ", key, '=', offered)
                            : concat("did you mean '", key, '=', offered, "'?"),
               0};
}

constexpr std::string_view kFreeName = ".NAME";

bool is_free(const OptionHelp& help) {
  return help.key.ends_with(kFreeName);
}

std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

/// The key of an NCCL variable that was meant by "nccl.ib_sl", "ncl.IB_SL" or "NCCL_IB_SL"; empty
/// where none was.
std::string meant_nccl_key(std::string_view key) {
  const size_t end = std::min(key.find_first_of("._"), key.size());
  const std::string name = upper_case(key.substr(std::min(end + 1, key.size())));
  const bool near = edit_distance(upper_case(key.substr(0, end)), "NCCL") <= 1;
  return near && is_variable_name(name) ? concat(kNcclPrefix, name) : "";
}

bool is_known_dimension(std::string_view name) {
  const auto known = known_dimensions();
  return std::any_of(known.begin(), known.end(),
                     [name](const DimensionHelp& dimension) { return dimension.name == name; });
}

Error unknown_key(std::string_view key, std::string_view value) {
  Error error{ErrorCode::kSpec,
              concat("unknown option '", abbreviate(key), "' in '", abbreviate(key), '=',
                     abbreviate(value), "'"),
              "", 0};
  if (key == "expert.pp" || key == "expert.dp" || key == "expert.cp" || key == "expert.etp") {
    error.hint =
        "experts share pp with the other layers and their dp follows: use expert.ep and expert.tp";
    return error;
  }
  if (const std::string meant = meant_nccl_key(key); !meant.empty()) {
    error.hint = concat("did you mean '", abbreviate(meant), '=', abbreviate(value), "'?");
    return error;
  }
  std::vector<std::string_view> known;
  std::string all;
  for (const OptionRule& rule : kRules) {
    if (!is_free(rule.help)) {
      known.push_back(rule.help.key);
    }
    all += concat(all.empty() ? "" : ", ", rule.help.key);
  }
  const std::string_view near = nearest(key, known);
  if (const auto dimension = (near.empty() || is_known_dimension(key)) && is_dimension_size(value)
                                 ? parse_dimension(concat(key, value))
                                 : Result<Dimension>(error);
      dimension) {
    error.hint = concat("a dimension is written without '=': did you mean '", key, value, "'?");
    return error;
  }
  error.hint = near.empty() ? concat("the options are ", all)
                            : concat("did you mean '", near, '=', abbreviate(value), "'?");
  return error;
}

}  // namespace

std::span<const OptionHelp> option_helps() {
  return kHelps.helps;
}

bool is_key_of(const OptionHelp& help, std::string_view key) {
  if (!is_free(help)) {
    return key == help.key;
  }
  const std::string_view prefix = help.key.substr(0, help.key.size() - kFreeName.size() + 1);
  return key.starts_with(prefix) && is_variable_name(key.substr(prefix.size()));
}

Status check_option(std::string_view key, std::string_view value) {
  for (const OptionRule& rule : kRules) {
    if (!is_key_of(rule.help, key)) {
      continue;
    }
    if (rule.is_valid(value)) {
      return Ok{};
    }
    // These parsers have more to say than the table.
    if (key == "groups") {
      return parse_group_names(value).error();
    }
    if (key == "bind") {
      return parse_bind(value).error();
    }
    return bad_value(rule, key, value);
  }
  return unknown_key(key, value);
}

std::optional<uint64_t> parse_limit(std::string_view value) {
  if (value == "max") {
    return UINT64_MAX;
  }
  int shift = 0;
  if (!value.empty()) {
    const size_t unit = std::string_view("KMG").find(value.back());
    if (unit != std::string_view::npos) {
      shift = 10 * static_cast<int>(unit + 1);
      value.remove_suffix(1);
    }
  }
  const auto number = parse_number(value, 0, INT64_MAX >> shift);
  if (!number) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(*number) << shift;
}

}  // namespace distinit
