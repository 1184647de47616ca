#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/discover/discover.hpp"

namespace pinfold {

/// One PCI function other than a bridge.
struct PciDevice {
  std::string address;             ///< "0000:81:00.0"
  std::uint16_t class_id = 0;      ///< base class and subclass, 0x0200 for Ethernet
  std::uint16_t vendor = 0;        ///< 0 if unknown
  std::uint16_t device = 0;        ///< 0 if unknown
  std::vector<std::string> names;  ///< as the operating system calls it: "eth0", "nvme0n1"
  std::vector<NumaId> numa_nodes;  ///< ascending; empty: near to no node more than to another

  friend bool operator==(const PciDevice&, const PciDevice&) = default;
};

/// The PCI devices of a source, by address. hwloc finds them, with their place; in a SysTree the
/// kernel's numa_node file goes before hwloc's opinion, and what hwloc drops (domains of 32 bits)
/// is added out of the kernel's files. Synthetic machines have none. For a SysTree other than "/"
/// the environment variable HWLOC_FSROOT must name its root: hwloc has no other way in, and the
/// library leaves the environment alone. Errors: kUnsupported if hwloc looks at another machine
/// than `source`; else as discover.
[[nodiscard]] Result<std::vector<PciDevice>> pci_devices(const Source& source);

/// "Ethernet" for 0x0200; the base class for a subclass without a name of its own; "device" if that
/// is unknown too.
[[nodiscard]] std::string_view pci_class_name(std::uint16_t class_id);

/// Storage, network, display and accelerators: what a workload may want to be near to.
[[nodiscard]] bool is_workload_device(const PciDevice& device);

/// Says that PCI devices of a kind are an extended resource.
struct DeviceRule {
  std::optional<std::uint16_t> class_id;
  std::optional<std::uint16_t> vendor;
  std::optional<std::uint16_t> device;
  std::string resource;

  /// Reads "VENDOR:DEVICE=RESOURCE" or "class:CLASS=RESOURCE", ids in hexadecimal:
  /// "10de:2330=nvidia.com/gpu", "class:0302=example.com/gpu".
  /// Errors: kInvalidArgument.
  [[nodiscard]] static Result<DeviceRule> parse(std::string_view text);
  [[nodiscard]] bool matches(const PciDevice& pci) const;
};

/// Each PCI device that a rule matches, as a device of the first such rule; its id is the address.
[[nodiscard]] std::vector<Device> as_devices(std::span<const PciDevice> found,
                                             std::span<const DeviceRule> rules);

}  // namespace pinfold
