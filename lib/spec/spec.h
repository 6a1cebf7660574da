// SPDX-License-Identifier: Apache-2.0
#pragma once
// The SPEC language: `--distinit=tp2,dp2,timeout=60`. Parsing checks each item by itself; whether
// the sizes fit a world size is mesh.h's.

#include "lib/base/result.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stdint.h>

namespace distinit {

/// A mesh dimension. Size 0 means "what is left of the world size", and at most one has it.
struct Dimension {
  std::string name;
  int size = 0;

  bool operator==(const Dimension&) const = default;
};

/// One SPEC as its author wrote it, checked item by item.
struct Spec {
  /// Innermost first. Empty where none was named; resolve_mesh then takes one dp over the world.
  std::vector<Dimension> dims;
  /// The options, key to value, every value valid for its key. `groups` and `expert.NAME` are in
  /// here too.
  std::map<std::string, std::string, std::less<>> options;

  bool operator==(const Spec&) const = default;
};

/// Longest SPEC that is read; a longer one is refused before anything is allocated for it.
constexpr size_t kLongestSpec = 8192;

/// Reads a SPEC. Errors (kSpec) name the item and the nearest right spelling. An empty text is an
/// error; who has no SPEC at all uses Spec{}.
Result<Spec> parse_spec(std::string_view text);

/// Reads one "key=value" option (a plugstack.conf argument); kSpec error as above, also when `into`
/// has that key already.
Status parse_option(std::string_view item, Spec& into);

/// `later` over `earlier`: its dimensions replace all of the earlier ones if it has any; options by
/// key. `groups` and `expert.` options belong to the dimensions and are dropped with them.
Spec merge_specs(const Spec& earlier, const Spec& later);

/// The SPEC as text that parse_spec reads back to an equal value; "dp" where there is nothing at
/// all.
std::string format_spec(const Spec& spec);

/// Who hosts the torch store: our agent, or rank 0's program on a port that is held for it.
enum class TorchStore { kAgent, kRank0 };
/// What MASTER_ADDR holds.
enum class AddressForm { kNumeric, kName };

/// A soft limit to raise before the program starts.
struct LimitOption {
  std::string name;    ///< "nofile", "memlock", "stack", "core"
  uint64_t value = 0;  ///< UINT64_MAX for "max": up to the hard limit

  bool operator==(const LimitOption&) const = default;
};

/// What of a task is bound to its share of the node.
struct BindOption {
  bool cpu = true;
  bool gpu = true;
  bool hca = true;
  bool memory = false;

  bool operator==(const BindOption&) const = default;
};

/// How communicators are brought up.
struct CommsOption {
  bool split = true;     ///< by splitting the world's where the library can; else by an id each
  bool preload = false;  ///< before the program's main

  bool operator==(const CommsOption&) const = default;
};

/// Whether every group is tried before the program starts; kRequire fails where it can't be.
enum class CheckMode { kOff, kOn, kRequire };

struct CheckOption {
  CheckMode mode = CheckMode::kOff;
  uint64_t size = uint64_t{64} << 20;  ///< bytes of the large all-reduce
  /// GB/s by group type; "" for all others.
  std::map<std::string, double, std::less<>> least_bandwidths;
  std::string report;  ///< path; empty: none

  bool operator==(const CheckOption&) const = default;
};

/// The options with their types and defaults; times in seconds.
struct Options {
  int port = 0;          ///< `port=N`: the store's port; 0: reserved ports, else the sequence
  int port_low = 20000;  ///< `ports=A-B`: the range of the sequence, both ends included
  int port_high = 31999;
  int timeout_s = 120;  ///< `timeout=S`: until all nodes and ranks have met
  int linger_s = 600;   ///< `linger=S`: how long the store outlives rank 0's program
  TorchStore torch_store = TorchStore::kAgent;  ///< `torch.store=agent|rank0`
  AddressForm address = AddressForm::kNumeric;  ///< `address=numeric|name`
  std::string
      address_template;  ///< `address.template=%n-ib0`: host name to reach a node; %n is its name
  std::string
      interface;  ///< `interface=NAME`: MASTER_ADDR is that interface's address on rank 0's node
  std::vector<LimitOption> limits;  ///< `limit.nofile=max`, `limit.memlock=BYTES`, …
  CommsOption comms;                ///< `comms=ids+preload`
  CheckOption check;     ///< `check=require`, `check.min_busbw=`, `check.size=`, `check.report=`
  BindOption bind;       ///< `bind=cpu+hca`, `bind=all`, `bind=none`
  std::string topology;  ///< `topology=PATH`: the machine's XML, absolute; %n is the node's name
  std::vector<std::string> skipped_hcas;  ///< `hca.skip=mlx5_2+mlx5_3:1`: HCAs, or ports of them
  /// `nccl.IB_SL=3`: {"IB_SL", "3"}, by name; a '+' in the value is a ',' here.
  std::vector<std::pair<std::string, std::string>> nccl;

  bool operator==(const Options&) const = default;
};

/// The typed options of a Spec. Never fails for a Spec that parse_spec or merge_specs made.
Options typed_options(const Spec& spec);

}  // namespace distinit
