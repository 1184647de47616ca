#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/discover/source.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold {

/// One PCI function other than a bridge.
struct PciDevice {
  std::string address;             ///< "0000:81:00.0"
  std::uint16_t class_id = 0;      ///< base class and subclass, 0x0200 for Ethernet
  std::uint16_t vendor = 0;        ///< 0 if unknown
  std::uint16_t device = 0;        ///< 0 if unknown
  std::vector<std::string> names;  ///< names in the operating system: "eth0", "nvme0n1"
  std::vector<NumaId> numa_nodes;  ///< the nearest, ascending; empty if all are equally near

  friend bool operator==(const PciDevice&, const PciDevice&) = default;
};

/// Returns the PCI devices of a source by address, as hwloc finds them. For a SysTree, the kernel's
/// numa_node file overrides hwloc, and devices that hwloc drops (PCI domains of more than 16 bits)
/// are added from the kernel's files. Synthetic machines and MachineTexts have none. For a SysTree
/// other than "/", the environment variable HWLOC_FSROOT must name its root: hwloc has no other
/// way, and the library does not change the environment.
/// Errors: kUnsupported if hwloc is not installed or reads a machine other than `source`; else as
/// for discover.
[[nodiscard]] Result<std::vector<PciDevice>> pci_devices(const Source& source);

/// Returns "Ethernet" for 0x0200; the name of the base class if the subclass has none; "device" if
/// that is unknown, too.
[[nodiscard]] std::string_view pci_class_name(std::uint16_t class_id);

/// True for classes with a name: storage, network, display, accelerators, co-processors, CXL
/// memory. Workloads are aligned with such devices.
[[nodiscard]] bool is_workload_device(const PciDevice& device);

/// Maps a kind of PCI device to an extended resource.
struct DeviceRule {
  std::optional<std::uint16_t> class_id;
  std::optional<std::uint16_t> vendor;
  std::optional<std::uint16_t> device;
  std::string resource;

  /// Parses "VENDOR:DEVICE=RESOURCE" or "class:CLASS=RESOURCE", ids in hexadecimal:
  /// "10de:2330=nvidia.com/gpu", "class:0302=example.com/gpu".
  /// Errors: kInvalidArgument.
  [[nodiscard]] static Result<DeviceRule> parse(std::string_view text);
  [[nodiscard]] bool matches(const PciDevice& pci) const;
};

/// Returns the PCI devices that match a rule, each as a device of the first such rule, with its
/// address as the id.
[[nodiscard]] std::vector<Device> as_devices(std::span<const PciDevice> found,
                                             std::span<const DeviceRule> rules);

}  // namespace pinfold
