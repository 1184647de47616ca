#include "pinfold/discover/pci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "hwloc_topology.hpp"
#include "kernel_tree.hpp"

namespace pinfold {
namespace {

constexpr std::string_view kPciDirectory = "sys/bus/pci/devices";
constexpr unsigned kBridge = 0x06;

// Sorted by address, because the order of hwloc's tree is arbitrary.
using ByAddress = std::map<std::string, PciDevice>;

std::vector<NumaId> nodes_near(const Topology& topology, hwloc_obj_t device) {
  const hwloc_obj* const place = hwloc_get_non_io_ancestor_obj(topology.get(), device);
  std::vector<NumaId> nodes;
  // At the root of the tree, hwloc does not know the NUMA node.
  if (place == nullptr || place->parent == nullptr) return nodes;
  const Libhwloc& hwloc = *topology.get_deleter().hwloc;
  for (int id = hwloc.bitmap_first(place->nodeset); id >= 0;
       id = hwloc.bitmap_next(place->nodeset, id)) {
    nodes.push_back(NumaId{id});
  }
  return nodes;
}

ByAddress read_topology(const Topology& topology) {
  const Libhwloc& hwloc = *topology.get_deleter().hwloc;
  ByAddress found;
  for (hwloc_obj_t object = nullptr;
       (object = next_object(hwloc, topology.get(), HWLOC_OBJ_PCI_DEVICE, object)) != nullptr;) {
    const auto& pci = object->attr->pcidev;
    if (pci.class_id >> 8U == kBridge) continue;
    PciDevice device;
    device.address =
        fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
    device.class_id = pci.class_id;
    device.vendor = pci.vendor_id;
    device.device = pci.device_id;
    for (hwloc_obj_t child = object->io_first_child; child != nullptr;
         child = child->next_sibling) {
      if (child->type == HWLOC_OBJ_OS_DEVICE && child->name != nullptr) {
        device.names.emplace_back(child->name);
      }
    }
    device.numa_nodes = nodes_near(topology, object);
    found.emplace(device.address, std::move(device));
  }
  return found;
}

bool read_hex(std::string_view text, std::uint32_t& out) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out, 16);
  return error == std::errc{} && stop == end;
}

Result<std::uint32_t> parse_hex(std::string_view text) {
  std::uint32_t value = 0;
  if (!read_hex(text.starts_with("0x") ? text.substr(2) : text, value)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': expected a hexadecimal number such as '0x8086'", text));
  }
  return value;
}

/// Reads a device from the kernel's files alone.
Result<PciDevice> read_device(const KernelTree& tree, const std::string& address) {
  PciDevice device;
  device.address = address;
  struct {
    const char* file;
    unsigned shift;  // the last byte of the class file is the programming interface
    std::uint16_t& out;
  } fields[] = {
      {"class", 8, device.class_id}, {"vendor", 0, device.vendor}, {"device", 0, device.device}};
  for (const auto& field : fields) {
    PINFOLD_LET(auto value,
                tree.read(fmt::format("{}/{}/{}", kPciDirectory, address, field.file), parse_hex));
    field.out = static_cast<std::uint16_t>(value.value_or(0) >> field.shift);
  }
  return device;
}

/// Corrects hwloc's findings with the kernel's files.
Result<void> correct(const KernelTree& tree, ByAddress& found) {
  PINFOLD_LET(auto addresses, tree.entries(std::string(kPciDirectory)));
  for (const std::string& address : addresses) {
    PINFOLD_LET(auto node,
                tree.read(fmt::format("{}/{}/numa_node", kPciDirectory, address), parse_id));
    auto known = found.find(address);
    if (known == found.end()) {
      PINFOLD_LET(auto device, read_device(tree, address));
      if (device.class_id >> 8U == kBridge) continue;
      known = found.emplace(address, std::move(device)).first;
    }
    if (node.value_or(-1) >= 0) known->second.numa_nodes = {NumaId{*node}};
  }
  return {};
}

Result<Topology> load_any(const Source& source) {
  if (const auto* const xml = std::get_if<HwlocXml>(&source)) {
    return load_topology(*xml, Devices::kFind);
  }
  if (const auto* const text = std::get_if<HwlocSynthetic>(&source)) {
    return load_topology(*text, Devices::kFind);
  }
  return load_topology(std::get<SysTree>(source), Devices::kFind);
}

}  // namespace

Result<std::vector<PciDevice>> pci_devices(const Source& source) {
  if (std::holds_alternative<MachineText>(source)) return std::vector<PciDevice>();
  PINFOLD_LET_WRAP(const auto topology, load_any(source), "find PCI devices");
  ByAddress found = read_topology(topology);
  if (const auto* const files = std::get_if<SysTree>(&source)) {
    PINFOLD_LET(auto tree, KernelTree::open(files->root));
    PINFOLD_TRY(correct(tree, found));
  }
  std::vector<PciDevice> devices;
  for (auto& [address, device] : found) devices.push_back(std::move(device));
  return devices;
}

std::string_view pci_class_name(std::uint16_t class_id) {
  static constexpr struct {
    std::uint16_t class_id;
    std::string_view name;
  } kNames[] = {
      {0x0100, "SCSI"},
      {0x0101, "IDE"},
      {0x0104, "RAID"},
      {0x0106, "SATA"},
      {0x0107, "SAS"},
      {0x0108, "NVMe"},
      {0x0200, "Ethernet"},
      {0x0207, "InfiniBand"},
      {0x0300, "VGA"},
      {0x0302, "3D"},
      {0x0502, "CXL memory"},
      {0x0b40, "co-processor"},
      {0x0c06, "InfiniBand"},
      {0x0100 | 0xff, "storage"},
      {0x0200 | 0xff, "network"},
      {0x0300 | 0xff, "display"},
      {0x1200 | 0xff, "accelerator"},
  };
  const auto base_class = static_cast<std::uint16_t>(class_id | 0xffU);
  for (const std::uint16_t id : {class_id, base_class}) {
    for (const auto& entry : kNames) {
      if (entry.class_id == id) return entry.name;
    }
  }
  return "device";
}

bool is_workload_device(const PciDevice& device) {
  return pci_class_name(device.class_id) != "device";
}

Result<DeviceRule> DeviceRule::parse(std::string_view text) {
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("device rule '{}': expected VENDOR:DEVICE=RESOURCE or "
                            "class:CLASS=RESOURCE with ids of four hexadecimal digits, such as "
                            "'10de:2330=nvidia.com/gpu'",
                            text));
  };
  constexpr std::size_t kDigits = 4;
  const auto equals = text.find('=');
  const auto colon = text.find(':');
  if (equals == std::string_view::npos || colon > equals) return wrong();
  const std::string_view first = text.substr(0, colon);
  const std::string_view second = text.substr(colon + 1, equals - colon - 1);
  const auto id = [](std::string_view digits) -> std::optional<std::uint16_t> {
    std::uint32_t value = 0;
    if (digits.size() != kDigits || !read_hex(digits, value)) return std::nullopt;
    return static_cast<std::uint16_t>(value);
  };
  DeviceRule rule;
  rule.resource = text.substr(equals + 1);
  if (first == "class") {
    rule.class_id = id(second);
    if (!rule.class_id) return wrong();
  } else {
    rule.vendor = id(first);
    rule.device = id(second);
    if (!rule.vendor || !rule.device) return wrong();
  }
  // An extended resource has a domain; its exact syntax is checked in pods.
  const auto slash = rule.resource.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == rule.resource.size()) return wrong();
  return rule;
}

bool DeviceRule::matches(const PciDevice& pci) const {
  return (!class_id || *class_id == pci.class_id) && (!vendor || *vendor == pci.vendor) &&
         (!device || *device == pci.device);
}

std::vector<Device> as_devices(std::span<const PciDevice> found,
                               std::span<const DeviceRule> rules) {
  std::vector<Device> devices;
  for (const PciDevice& pci : found) {
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const DeviceRule& r) { return r.matches(pci); });
    if (rule != rules.end()) devices.push_back({rule->resource, pci.address, pci.numa_nodes});
  }
  return devices;
}

}  // namespace pinfold
