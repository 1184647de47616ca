#include "pinfold/harness/kernel_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

namespace pinfold::harness {
namespace {

/// Collects the options that a kernel needs and does not have.
class Needs {
 public:
  explicit Needs(const KernelConfig& config) : config_(config) {}

  void built_in(std::initializer_list<const char*> options, const std::string& why) {
    for (const char* option : options) {
      if (value_of(option) != "y") add(fmt::format("{}=y", option), why);
    }
  }
  /// Requires an option, built in or as a module.
  void available(const char* option, const std::string& why) {
    if (value_of(option) != "y" && value_of(option) != "m") {
      add(fmt::format("{}=y or m", option), why);
    }
  }
  /// Requires that an option is not off. Older kernels do not have it, but always behave as if it
  /// were on.
  void not_off(const char* option, const std::string& why) {
    if (value_of(option) == "n") add(fmt::format("{}=y", option), why);
  }
  void at_least(const char* option, int least, const std::string& why) {
    const std::string_view text = value_of(option);
    int value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || value < least) add(fmt::format("{}={}", option, least), why);
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(missing_); }

 private:
  [[nodiscard]] std::string_view value_of(std::string_view option) const {
    const auto found = config_.find(option);
    return found == config_.end() ? std::string_view() : found->second;
  }
  void add(const std::string& option, const std::string& why) {
    missing_.push_back(fmt::format("{} ({})", option, why));
  }

  const KernelConfig& config_;
  std::vector<std::string> missing_;
};

void add_machine(Needs& needs, const VmMachine& machine) {
  const auto nodes = static_cast<unsigned>(machine.nodes.size());
  if (nodes > 1) {
    const std::string why = fmt::format("{} NUMA nodes", nodes);
    needs.built_in({"CONFIG_NUMA"}, why);
    if (machine.platform.arch == Arch::kAmd64) {
      needs.built_in({"CONFIG_ACPI_NUMA", "CONFIG_X86_64_ACPI_NUMA"}, why);
    } else {
      needs.built_in({"CONFIG_OF_NUMA"}, why);
    }
    needs.at_least("CONFIG_NODES_SHIFT", static_cast<int>(std::bit_width(nodes - 1)), why);
  }
  if (machine.cpu_count() > 1) {
    const std::string why = fmt::format("{} CPUs", machine.cpu_count());
    needs.built_in({"CONFIG_SMP"}, why);
    needs.at_least("CONFIG_NR_CPUS", machine.cpu_count(), why);
  }
  if (std::any_of(machine.nodes.begin(), machine.nodes.end(),
                  [](const VmNode& node) { return !node.huge_pages.empty(); })) {
    needs.built_in({"CONFIG_HUGETLBFS"}, "hugePages");
  }
  if (!machine.absent.empty()) needs.built_in({"CONFIG_HOTPLUG_CPU"}, "absentCpus");
  if (machine.pluggable_memory > 0) {
    needs.built_in({"CONFIG_MEMORY_HOTPLUG", "CONFIG_ACPI_HOTPLUG_MEMORY"}, "pluggableMemory");
  }
  if (machine.network_cards > 0) needs.available("CONFIG_VMXNET3", "networkCards");
  if (machine.disk) {
    needs.available("CONFIG_BLK_DEV_NBD", "disk");
    needs.available(
        machine.disk->filesystem == Filesystem::kXfs ? "CONFIG_XFS_FS" : "CONFIG_EXT4_FS", "disk");
  }
}

}  // namespace

KernelConfig parse_kernel_config(std::string_view text) {
  constexpr std::string_view kOff = " is not set";
  KernelConfig config;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (line.starts_with("# CONFIG_") && line.ends_with(kOff)) {
      config.insert_or_assign(std::string(line.substr(2, line.size() - 2 - kOff.size())), "n");
    } else if (line.starts_with("CONFIG_") && equals != std::string_view::npos) {
      config.insert_or_assign(std::string(line.substr(0, equals)),
                              std::string(line.substr(equals + 1)));
    }
  }
  return config;
}

std::vector<std::string> missing_options(const KernelConfig& config, const VmMachine& machine,
                                         GuestWork work) {
  Needs needs(config);
  needs.built_in({"CONFIG_64BIT", "CONFIG_BINFMT_ELF"}, "every guest");
  needs.built_in({"CONFIG_BLK_DEV_INITRD", "CONFIG_PROC_FS", "CONFIG_SYSFS", "CONFIG_DEVTMPFS",
                  "CONFIG_TMPFS"},
                 "initramfs");
  needs.built_in({"CONFIG_PCI"}, "programs");
  if (machine.platform.arch == Arch::kAmd64) {
    needs.built_in({"CONFIG_ACPI"}, "every guest");
    needs.built_in({"CONFIG_SERIAL_8250", "CONFIG_SERIAL_8250_CONSOLE"}, "console and results");
    needs.not_off("CONFIG_X86_IOPL_IOPERM", "end of the machine");
  } else {
    needs.built_in({"CONFIG_SERIAL_AMBA_PL011", "CONFIG_SERIAL_AMBA_PL011_CONSOLE"}, "console");
    needs.built_in({"CONFIG_SERIAL_8250", "CONFIG_SERIAL_8250_PCI", "CONFIG_PCI_HOST_GENERIC"},
                   "results");
    needs.built_in({"CONFIG_ARM_PSCI_FW"}, "other CPUs, end of the machine");
  }
  needs.built_in({"CONFIG_CGROUPS", "CONFIG_CPUSETS"}, "control groups");
  if (machine.platform.cgroup == CgroupMode::kV1) {
    needs.not_off("CONFIG_CPUSETS_V1", "cgroup v1");
  }
  add_machine(needs, machine);
  if (work != GuestWork::kPlain) {
    needs.built_in({"CONFIG_CGROUP_SCHED", "CONFIG_CFS_BANDWIDTH", "CONFIG_MEMCG"}, "pods");
  }
  if (work == GuestWork::kRuntime) {
    needs.built_in({"CONFIG_NAMESPACES", "CONFIG_CGROUP_BPF", "CONFIG_CGROUP_PIDS"},
                   "container runtime");
  }
  return needs.take();
}

}  // namespace pinfold::harness
