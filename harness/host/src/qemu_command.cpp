#include "pinfold/harness/qemu_command.hpp"

#include <fmt/format.h>

namespace pinfold::harness {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

/// "cpus=0-3,cpus=8": QEMU takes one range at a time.
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
      add("-object", fmt::format("memory-backend-ram,id=m{},size={}M", i, node.memory / kMiB));
      numa += fmt::format(",memdev=m{}", i);
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

}  // namespace

std::vector<std::string> qemu_command(const VmMachine& machine, const BootFiles& files,
                                      Accelerator accelerator) {
  std::string arguments = "console=ttyS0 quiet panic=-1 rdinit=/init";
  if (machine.cgroup != CgroupMode::kV2) {
    arguments += fmt::format(" pinfold_cgroup={}", to_string(machine.cgroup));
  }
  if (!machine.kernel_arguments.empty()) arguments += " " + machine.kernel_arguments;
  const auto socket = [](const char* name) { return fmt::format("socket,id={0},path={0}", name); };
  std::vector<std::string> command = {
      files.qemu,
      "-nodefaults",
      "-no-user-config",
      "-no-reboot",
      "-display",
      "none",
      "-machine",
      "q35",
      "-accel",
      // More than one thread is slower on few cores, and hangs now and then.
      accelerator == Accelerator::kKvm ? "kvm" : "tcg,thread=single",
      // An Intel model: those of AMD show no SMT without hardware help.
      "-cpu",
      "Haswell",
      "-m",
      fmt::format("{}M", machine.memory() / kMiB),
      "-smp",
      fmt::format("{},sockets={},dies={},cores={},threads={}", machine.cpu_count(), machine.sockets,
                  machine.dies, machine.cores, machine.threads),
  };
  add_nodes(command, machine);
  const std::vector<std::string> rest = {
      "-kernel",  files.kernel,
      "-initrd",  files.initramfs,
      "-append",  std::move(arguments),
      "-chardev", socket(kConsoleSocket),
      "-serial",  fmt::format("chardev:{}", kConsoleSocket),
      "-chardev", socket(kAgentSocket),
      "-serial",  fmt::format("chardev:{}", kAgentSocket),
      "-chardev", socket(kMonitorSocket),
      "-mon",     fmt::format("chardev={},mode=control", kMonitorSocket),
      "-device",  fmt::format("isa-debug-exit,iobase={:#x},iosize=4", kDebugExitPort),
  };
  command.insert(command.end(), rest.begin(), rest.end());
  return command;
}

}  // namespace pinfold::harness
