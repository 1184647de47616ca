#include "pinfold/harness/qemu_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "pinfold/harness/saved_state.hpp"

namespace pinfold::harness {
namespace {

/// Returns "cpus=0-3,cpus=8": one option for each range, as QEMU requires.
std::string cpu_ranges(const CpuSet& cpus) {
  std::string text;
  const std::string list = cpus.to_string();
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    text += ",cpus=" + list.substr(at, end - at);
    at = end + 1;
  }
  return text;
}

void add_nodes(std::vector<std::string>& command, const VmMachine& machine) {
  const auto add = [&command](std::string option, std::string value) {
    command.push_back(std::move(option));
    command.push_back(std::move(value));
  };
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const VmNode& node = machine.nodes[i];
    std::string numa = fmt::format("node,nodeid={}{}", i, cpu_ranges(node.cpus));
    if (node.memory != 0) {
      add("-object", fmt::format("memory-backend-ram,id={},size={}M", node_memory_name(i),
                                 node.memory / kMiB));
      numa += ",memdev=" + node_memory_name(i);
    }
    add("-numa", std::move(numa));
  }
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    for (std::size_t j = 0; j < machine.nodes.size(); ++j) {
      if (i == j) continue;
      add("-numa", fmt::format("dist,src={},dst={},val={}", i, j, machine.distances[i][j]));
    }
  }
}

/// Multi-threaded TCG is slower on few cores, and has been seen to hang.
const char* accel_option(Accelerator accelerator) {
  if (accelerator == Accelerator::kKvm) return "kvm";
  return accelerator == Accelerator::kTcg ? "tcg,thread=single" : "tcg,thread=multi";
}

std::string cpu_model(const VmMachine& machine, Accelerator accelerator) {
  if (machine.platform.arch == Arch::kArm64) return "neoverse-n1";  // has pages of 4, 16 and 64 KiB
  std::string model = "Haswell";
  if (accelerator != Accelerator::kKvm) model += ",-erms";  // QEMU executes these byte by byte
  // QEMU 10 fails on CPUID leaf 0x1f, which describes dies and modules; without it they can still
  // be seen from the caches.
  if (needs_newer_qemu(machine) && (machine.dies > 1 || machine.caches > 1)) model += ",level=0xd";
  const bool huge = std::any_of(machine.nodes.begin(), machine.nodes.end(), [](const VmNode& node) {
    return node.huge_pages.contains(std::uint64_t{1} << 30);
  });
  return huge ? model + ",+pdpe1gb" : model;
}

std::string memory_option(const VmMachine& machine) {
  std::string option = fmt::format("{}M", machine.memory() / kMiB);
  if (machine.pluggable_memory > 0) {
    option +=
        fmt::format(",slots=16,maxmem={}M", (machine.memory() + machine.pluggable_memory) / kMiB);
  }
  return option;
}

std::string smp_option(const VmMachine& machine) {
  const std::size_t absent = machine.absent.size();
  std::string option = std::to_string(static_cast<std::size_t>(machine.cpu_count()) - absent);
  if (absent > 0) option += fmt::format(",maxcpus={}", machine.cpu_count());
  option += fmt::format(",sockets={}", machine.sockets);
  if (machine.platform.arch == Arch::kAmd64) option += fmt::format(",dies={}", machine.dies);
  if (machine.caches > 1) option += fmt::format(",modules={}", machine.caches);
  return option +
         fmt::format(",cores={},threads={}", machine.cores / machine.caches, machine.threads);
}

/// Returns "hugepagesz=2M hugepages=0:4,1:8" for each size.
std::string huge_page_arguments(const VmMachine& machine) {
  std::map<std::uint64_t, std::vector<std::string>> sizes;
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    for (const auto& [size, count] : machine.nodes[i].huge_pages) {
      sizes[size].push_back(fmt::format("{}:{}", i, count));
    }
  }
  std::string arguments;
  for (const auto& [size, counts] : sizes) {
    arguments += fmt::format(" hugepagesz={}M hugepages={}", size / kMiB, fmt::join(counts, ","));
  }
  return arguments;
}

std::string machine_type(const VmMachine& machine) {
  if (machine.platform.arch == Arch::kArm64) return "virt,gic-version=3";  // for more than 8 CPUs
  // Several last-level caches per die: QEMU represents each one as a module.
  return machine.caches > 1 ? "q35,smp-cache.0.cache=l3,smp-cache.0.topology=module" : "q35";
}

/// Returns the options for the guest's console and the agent's port. "virt" has one serial port.
std::vector<std::string> serial_ports(const VmMachine& machine) {
  std::vector<std::string> options = {"-serial", fmt::format("chardev:{}", kConsoleSocket)};
  if (machine.platform.arch == Arch::kArm64) {
    options.insert(options.end(), {"-device", fmt::format("pci-serial,chardev={}", kAgentSocket)});
  } else {
    options.insert(options.end(),
                   {"-serial", fmt::format("chardev:{}", kAgentSocket), "-device",
                    fmt::format("isa-debug-exit,iobase={:#x},iosize=4", kDebugExitPort)});
  }
  return options;
}

std::string kernel_arguments(const VmMachine& machine, Accelerator accelerator) {
  // Without no_timer_check, the kernel's timer check can fail on a busy host and panic.
  std::string arguments =
      machine.platform.arch == Arch::kArm64 ? "console=ttyAMA0" : "console=ttyS0 no_timer_check";
  // Without KVM, QEMU translates a program again for each address at which it is loaded, and
  // flushes its TLB at each switch between the page tables of kernel and program.
  arguments += " quiet panic=-1 rdinit=/init norandmaps mitigations=off";
  if (accelerator != Accelerator::kKvm) {
    // With a huge page, QEMU flushes its whole TLB whenever one address changes. Clearing memory is
    // slow, even more so with string instructions (feature 112 is REP_GOOD).
    arguments += " transparent_hugepage=never init_on_alloc=0 hardened_usercopy=off";
    if (machine.platform.arch == Arch::kAmd64) arguments += " clearcpuid=112";
  }
  arguments += huge_page_arguments(machine);
  if (machine.platform.cgroup != CgroupMode::kV2) {
    arguments += fmt::format(" pinfold_cgroup={}", to_string(machine.platform.cgroup));
  }
  if (!machine.kernel_arguments.empty()) arguments += " " + machine.kernel_arguments;
  return arguments;
}

/// Adds the devices of NUMA nodes, behind a host bridge of their node, each on a separate port.
void add_devices(std::vector<std::string>& command, const VmMachine& machine) {
  const auto add = [&command](std::string value) {
    command.emplace_back("-device");
    command.push_back(std::move(value));
  };
  int bridge = -1;
  for (std::size_t i = 0; i < machine.devices.size(); ++i) {
    const int node = machine.devices[i];
    if (node != bridge) {
      bridge = node;
      add(fmt::format("pxb-pcie,id=px{0},bus=pcie.0,bus_nr={1},numa_node={0}", node,
                      32 + 8 * node));
    }
    add(fmt::format("pcie-root-port,id=rp{0},bus=px{1},slot={0},chassis={0}", i, node));
    add(fmt::format("edu,bus=rp{}", i));
  }
}

/// Adds network cards on hubs without another end. Linux gives a "vmxnet3" about as many queues as
/// there are CPUs; a "virtio-net" has several only with a network of the host that has, which needs
/// rights there.
void add_network_cards(std::vector<std::string>& command, const VmMachine& machine) {
  for (int i = 0; i < machine.network_cards; ++i) {
    command.insert(command.end(), {"-netdev", fmt::format("hubport,id=hub{0},hubid={0}", i),
                                   "-device", fmt::format("vmxnet3,netdev=hub{}", i)});
  }
}

}  // namespace

std::string qemu_program(Arch arch) {
  return arch == Arch::kArm64 ? "qemu-system-aarch64" : "qemu-system-x86_64";
}

int exit_status_for(Arch arch, int code) { return arch == Arch::kArm64 ? 0 : (code << 1) | 1; }

std::vector<std::string> qemu_command(const VmMachine& machine, const BootFiles& files,
                                      Accelerator accelerator) {
  const auto socket = [](const char* name) { return fmt::format("socket,id={0},path={0}", name); };
  std::vector<std::string> command = {
      files.qemu,
      "-nodefaults",
      "-no-user-config",
      "-no-reboot",
      "-display",
      "none",
      "-machine",
      machine_type(machine),
      "-accel",
      accel_option(accelerator),
      // An Intel model: QEMU's AMD models show no SMT without hardware support.
      "-cpu",
      cpu_model(machine, accelerator),
      "-m",
      memory_option(machine),
      "-smp",
      smp_option(machine),
  };
  add_nodes(command, machine);
  add_devices(command, machine);
  add_network_cards(command, machine);
  const std::vector<std::string> rest = {
      "-kernel",  files.kernel,
      "-initrd",  files.initramfs,
      "-append",  kernel_arguments(machine, accelerator),
      "-chardev", socket(kConsoleSocket),
      "-chardev", socket(kAgentSocket),
      "-chardev", socket(kMonitorSocket),
      "-mon",     fmt::format("chardev={},mode=control", kMonitorSocket)};
  command.insert(command.end(), rest.begin(), rest.end());
  const std::string load = fmt::format("memory-backend-file,id=load,mem-path={},size={}M,share=on",
                                       kLoadFile, kMaxLoad / kMiB);
  command.insert(command.end(),
                 {"-object", load, "-device", "ivshmem-plain,bus=pcie.0,memdev=load,master=on"});
  const std::vector<std::string> ports = serial_ports(machine);
  command.insert(command.end(), ports.begin(), ports.end());
  return command;
}

}  // namespace pinfold::harness
