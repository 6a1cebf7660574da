// SPDX-License-Identifier: Apache-2.0
// The format: NVIDIA/nccl src/graph/xml.cc. <system> holds <cpu>, one for each NUMA node, and these
// the PCI tree by nesting. Bus addresses tell nothing about it: files repeat them.
#include "lib/base/text.h"
#include "lib/topo/readers.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <expat.h>

namespace distinit {

namespace {

// A node has some hundred; NCCL itself refuses more than a few thousand.
constexpr int kMostPci = 4096;
constexpr int kMostCpus = 1024;
constexpr size_t kMostGpus = 1024;
constexpr size_t kMostHcas = 1024;
constexpr size_t kMostInList = 1 << 14;  // bytes of an affinity or of a merged name

enum class Element { kSystem, kCpu, kPci, kNic, kOther };

struct Open {
  Element element = Element::kOther;
  int node = -1;         ///< into Machine::pci: its own, or the one it belongs to
  int gpus = 0;          ///< <gpu> in a <pci>
  size_t first_gpu = 0;  ///< of them, in Machine::gpus
  bool has_nic = false;  ///< <nic> in a <pci>
  bool has_net = false;  ///< <net> in the <nic> of a <pci>
};

std::optional<uint32_t> parse_hex(std::string_view text, size_t most_digits) {
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
  }
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (text.size() > most_digits || error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

/// "0x030200", as sysfs writes it; the last two digits, the programming interface, say nothing
/// here.
std::optional<uint16_t> parse_class(std::string_view text) {
  const auto number = parse_hex(text, 6);
  if (!number) {
    return std::nullopt;
  }
  const bool is_short = text.substr(text.starts_with("0x") ? 2 : 0).size() <= 4;
  return static_cast<uint16_t>(is_short ? *number : *number >> 8);
}

GpuVendor vendor_of(uint16_t vendor) {
  switch (vendor) {
    case 0x10de:
      return GpuVendor::kNvidia;
    case 0x1002:
      return GpuVendor::kAmd;
    case 0x8086:
      return GpuVendor::kIntel;
    default:
      return GpuVendor::kOther;
  }
}

/// Whether a function that has no <gpu> is one. Clouds' files leave the vendor out, or write ffff.
bool is_gpu_class(const PciNode& node) {
  const uint16_t id = node.class_id;
  switch (vendor_of(node.vendor)) {
    case GpuVendor::kNvidia:
      return id == 0x0302 || id == 0x0300;
    case GpuVendor::kAmd:
      return id == 0x0380 || id == 0x0300 || id == 0x1200;
    case GpuVendor::kIntel:
      return id == 0x0380;
    case GpuVendor::kOther:
      break;
  }
  const bool has_vendor = node.vendor != 0 && node.vendor != 0xffff;
  return id == 0x0302 || id == 0x0380 || id == 0x1200 || (id == 0x0300 && !has_vendor);
}

LinkLayer link_of(const PciNode& node) {
  constexpr uint16_t kHpe = 0x17db;
  if (node.vendor == kHpe) {
    return LinkLayer::kSlingshot;
  }
  if (node.class_id == 0x0207) {
    return LinkLayer::kInfiniBand;
  }
  return node.class_id == 0x0200 ? LinkLayer::kEthernet : LinkLayer::kUnknown;
}

/// The attributes of one element, as expat hands them over.
class Attributes {
 public:
  explicit Attributes(const XML_Char** list) : list_(list) {}

  /// Empty where there is none.
  std::string_view get(std::string_view name) const {
    for (const XML_Char** at = list_; *at != nullptr; at += 2) {
      if (name == at[0]) {
        return at[1];
      }
    }
    return {};
  }

 private:
  const XML_Char** list_;
};

/// Builds the machine while expat walks over the text.
class Reader {
 public:
  explicit Reader(const std::string& source)
      : parser_(XML_ParserCreate(nullptr), &XML_ParserFree), source_(source) {
    machine_.source = source;
    machine_.is_nccl = true;
  }

  Result<Machine> read(const std::string& xml) {
    if (!parser_) {
      return Error{ErrorCode::kInternal, "no memory for an XML parser", {}};
    }
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const XML_Char* name, const XML_Char** attributes) {
          static_cast<Reader*>(self)->begin(name, Attributes(attributes));
        },
        [](void* self, const XML_Char*) { static_cast<Reader*>(self)->end(); });
    constexpr size_t kPiece = 1 << 20;
    for (size_t at = 0; at == 0 || at < xml.size(); at += kPiece) {
      const size_t length = std::min(kPiece, xml.size() - at);
      const auto status = XML_Parse(parser_.get(), xml.data() + at, static_cast<int>(length),
                                    at + length == xml.size());
      if (status != XML_STATUS_OK) {
        return error_ ? *std::move(error_)
                      : error_here(XML_ErrorString(XML_GetErrorCode(parser_.get())));
      }
    }
    finish();
    return std::move(machine_);
  }

 private:
  Error error_here(std::string_view what) const {
    return Error{
        ErrorCode::kTopology,
        concat(source_, ": line ", XML_GetCurrentLineNumber(parser_.get()), ": ", what),
        "let NCCL write the file anew (NCCL_TOPO_DUMP_FILE), or take an XML export of hwloc"};
  }

  void fail(std::string_view what) {
    error_ = error_here(what);
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void begin(std::string_view name, const Attributes& attributes) {
    // expat may still hand over what it has begun after XML_StopParser.
    if (error_) {
      return;
    }
    const Element parent = open_.empty() ? Element::kOther : open_.back().element;
    const bool is_in_tree = parent == Element::kCpu || parent == Element::kPci;
    if (open_.empty() && name == "system") {
      open_.push_back({Element::kSystem});
    } else if (parent == Element::kSystem && name == "cpu") {
      begin_cpu(attributes);
    } else if (is_in_tree && name == "pci") {
      begin_pci(attributes);
    } else if (is_in_tree && name == "nic") {
      open_.back().has_nic = true;
      open_.push_back({Element::kNic, open_.back().node});
    } else {
      if (parent == Element::kPci && name == "gpu") {
        add_gpu(open_.back(), attributes.get("dev"));
      } else if (parent == Element::kNic && name == "net") {
        add_net(attributes);
      }
      open_.push_back({});
    }
  }

  void end() {
    if (error_) {
      return;
    }
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.element != Element::kPci) {
      return;
    }
    const PciNode& node = machine_.pci[static_cast<size_t>(closed.node)];
    if (closed.gpus == 0 && is_gpu_class(node)) {
      Open unnamed = closed;
      add_gpu(unnamed, {});
    }
    const bool is_nic = closed.has_nic || node.class_id >> 8 == 0x02;
    if (is_nic && !closed.has_net) {
      add_hca(make_hca(closed.node, concat("nic@", format_pci_address(node.address)), 1, 0),
              machine_.hcas);
    }
  }

  void begin_cpu(const Attributes& attributes) {
    if (++cpus_ > kMostCpus) {
      return fail(concat("more than ", kMostCpus, " <cpu>"));
    }
    // Where NVLink joins several nodes, NCCL's file has them all.
    const std::string_view host = attributes.get("host_hash");
    if (cpus_ > 1 && host != host_) {
      return fail("the file describes several nodes");
    }
    host_ = host;
    const std::string_view affinity = attributes.get("affinity");
    const auto cpus = affinity.empty()                ? CpuSet()
                      : affinity.size() > kMostInList ? std::nullopt
                                                      : CpuSet::parse_mask(affinity);
    if (!cpus) {
      return fail(concat("affinity '", abbreviate(affinity), "' is not a mask of CPUs"));
    }
    PciNode bridge;
    bridge.kind = PciKind::kHostBridge;
    bridge.locality.cpus = *cpus;
    const std::string_view numa = attributes.get("numaid");
    // NCCL writes -1 where it does not know.
    if (!numa.empty() && numa != "-1") {
      const auto number = parse_number(numa, 0, 1 << 20);
      if (!number) {
        return fail(concat("numaid '", abbreviate(numa), "' is not a number"));
      }
      bridge.locality.numa = {static_cast<int>(*number)};
      add_numa(static_cast<int>(*number), *cpus);
    }
    machine_.cpus = machine_.cpus | *cpus;
    push_node(Element::kCpu, std::move(bridge));
  }

  void begin_pci(const Attributes& attributes) {
    if (++pcis_ > kMostPci) {
      return fail(concat("more than ", kMostPci, " <pci>"));
    }
    const std::string_view busid = attributes.get("busid");
    const auto address = parse_pci_address(busid);
    if (!address) {
      return fail(concat("busid '", abbreviate(busid), "' is not a PCI address"));
    }
    const std::string_view id = attributes.get("class");
    const auto class_id = id.empty() ? std::optional(uint16_t{0}) : parse_class(id);
    if (!class_id) {
      return fail(concat("class '", abbreviate(id), "' is not a PCI class"));
    }
    PciNode node;
    node.address = *address;
    node.class_id = *class_id;
    node.vendor = static_cast<uint16_t>(parse_hex(attributes.get("vendor"), 4).value_or(0));
    node.device = static_cast<uint16_t>(parse_hex(attributes.get("device"), 4).value_or(0));
    node.parent = open_.back().node;
    PciNode& above = machine_.pci[static_cast<size_t>(node.parent)];
    // What has others below it and says nothing about itself can only be a switch.
    if (above.kind == PciKind::kDevice && above.class_id == 0) {
      above.kind = PciKind::kSwitch;
    }
    node.kind = node.class_id == 0x0604 ? PciKind::kSwitch : PciKind::kDevice;
    node.locality = above.locality;
    push_node(Element::kPci, std::move(node));
  }

  void push_node(Element element, PciNode node) {
    open_.push_back({element, static_cast<int>(machine_.pci.size())});
    machine_.pci.push_back(std::move(node));
  }

  void add_numa(int number, const CpuSet& cpus) {
    const auto same = std::find_if(machine_.numa.begin(), machine_.numa.end(),
                                   [&](const NumaNode& node) { return node.number == number; });
    if (same == machine_.numa.end()) {
      machine_.numa.push_back({number, cpus});
    } else {
      same->cpus = same->cpus | cpus;
    }
  }

  /// Several <gpu> of one function are its partitions.
  void add_gpu(Open& pci, std::string_view dev) {
    const PciNode& node = machine_.pci[static_cast<size_t>(pci.node)];
    Gpu gpu;
    gpu.pci = node.address;
    gpu.pci_node = pci.node;
    gpu.vendor = vendor_of(node.vendor);
    const auto number = parse_number(dev, 0, 65535);
    gpu.index = number ? static_cast<int>(*number) : -1;
    gpu.name = number ? concat("gpu", *number) : std::string();
    if (machine_.gpus.size() == kMostGpus) {
      return fail(concat("more than ", kMostGpus, " GPUs"));
    }
    if (pci.gpus == 0) {
      pci.first_gpu = machine_.gpus.size();
    } else {
      machine_.gpus[pci.first_gpu].partition = 0;
    }
    gpu.partition = pci.gpus == 0 ? -1 : pci.gpus;
    ++pci.gpus;
    machine_.gpus.push_back(std::move(gpu));
  }

  void add_net(const Attributes& attributes) {
    const int node = open_.back().node;
    const PciNode& owner = machine_.pci[static_cast<size_t>(node)];
    Open& pci = open_[open_.size() - 2];
    const int port = static_cast<int>(parse_number(attributes.get("port"), 1, 255).value_or(1));
    const int rate =
        static_cast<int>(parse_number(attributes.get("speed"), 0, 100'000'000).value_or(0) / 1000);
    const std::string_view name = attributes.get("name");
    if (name.find('+') != std::string_view::npos) {
      // Devices that NCCL has merged to one, "mlx5_0+mlx5_1", below the bridge that they share.
      if (name.size() > kMostInList) {
        return fail("a network adapter's name is too long");
      }
      for (const std::string_view part : split(name, '+')) {
        add_hca(make_hca(node, std::string(part), port, rate), merged_);
      }
    } else if (!name.empty()) {
      add_hca(make_hca(node, std::string(name), port, rate), machine_.hcas);
    } else if (owner.kind != PciKind::kHostBridge) {
      add_hca(make_hca(node, concat("nic@", format_pci_address(owner.address)), port, rate),
              machine_.hcas);
    }
    pci.has_net = true;
  }

  /// `node` is a <cpu> for an interface that is no PCI device; NCCL counts it as near to that.
  Hca make_hca(int node, std::string name, int port, int rate) const {
    const PciNode& owner = machine_.pci[static_cast<size_t>(node)];
    Hca hca;
    hca.name = std::move(name);
    hca.port = port;
    hca.rate_gbps = rate;
    hca.pci_node = node;
    if (owner.kind != PciKind::kHostBridge) {
      hca.pci = owner.address;
      hca.link = link_of(owner);
    }
    return hca;
  }

  void add_hca(Hca hca, std::vector<Hca>& list) {
    if (list.size() == kMostHcas) {
      return fail(concat("more than ", kMostHcas, " network adapters"));
    }
    list.push_back(std::move(hca));
  }

  /// Those of merged devices that are not in the file on their own.
  void add_merged() {
    std::set<std::string> names;
    for (const Hca& hca : machine_.hcas) {
      names.insert(hca.name);
    }
    for (Hca& hca : merged_) {
      if (names.insert(hca.name).second) {
        machine_.hcas.push_back(std::move(hca));
      }
    }
  }

  void finish() {
    add_merged();
    for (const int cpu : machine_.cpus.members()) {
      machine_.cores.push_back(CpuSet::range(cpu, cpu));
    }
    finish_machine(machine_);
  }

  std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser_;
  std::string source_;
  Machine machine_;
  std::vector<Open> open_;
  std::vector<Hca> merged_;
  std::optional<Error> error_;
  std::string host_;
  int cpus_ = 0;
  int pcis_ = 0;
};

}  // namespace

Result<Machine> machine_from_nccl_xml(const std::string& xml, const std::string& source) {
  return Reader(source).read(xml);
}

}  // namespace distinit
