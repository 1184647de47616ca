#include "pinfold/harness/vm_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

constexpr int kMaxCpus = 128;    // more take too long to boot
constexpr int kMaxApicId = 254;  // larger ones need an interrupt remapper
constexpr int kMaxNodes = 64;
constexpr std::uint64_t kMinNodeMemory = 32 * kMiB;
constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << 40;

tl::unexpected<Error> wrong(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Result<void> check_count(const char* field, int value, int most) {
  if (value >= 1 && value <= most) return {};
  return wrong(fmt::format("{}: '{}': expected 1 to {}", field, value, most));
}

/// Returns the id of the last CPU: QEMU encodes each level of the topology in bits.
int last_apic_id(const VmMachine& machine) {
  int id = machine.sockets - 1;
  for (const int count :
       {machine.dies, machine.caches, machine.cores / machine.caches, machine.threads}) {
    id = (id << std::bit_width(static_cast<unsigned>(count - 1))) | (count - 1);
  }
  return id;
}

Result<void> check_nodes(const VmMachine& machine) {
  const CpuSet all = CpuSet::range(0, machine.cpu_count() - 1);
  CpuSet seen;
  CpuId first_of_last{0};
  bool without_cpus = false;
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const VmNode& node = machine.nodes[i];
    const std::string cpus = node.cpus.to_string();
    if (!all.contains_all(node.cpus)) {
      return wrong(
          fmt::format("nodes[{}].cpus: '{}': expected CPUs of {}", i, cpus, all.to_string()));
    }
    if (node.cpus.intersects(seen)) {
      return wrong(fmt::format("nodes[{}].cpus: '{}': {} belongs to an earlier node", i, cpus,
                               (node.cpus & seen).to_string()));
    }
    // Linux numbers NUMA nodes with CPUs first; any other order would be renumbered.
    if (without_cpus && !node.cpus.empty()) {
      return wrong(fmt::format(
          "nodes[{}].cpus: '{}': expected nodes with CPUs before those without", i, cpus));
    }
    without_cpus = node.cpus.empty();
    if (node.memory > kMaxMemory || (node.memory != 0 && node.memory < kMinNodeMemory) ||
        node.memory % kMiB != 0) {
      return wrong(fmt::format("nodes[{}].memory: '{}': expected 0, or 32Mi to 1Ti in whole MiB", i,
                               node.memory));
    }
    if (node.cpus.empty() && node.memory == 0) {
      return wrong(fmt::format("nodes[{}]: expected CPUs or memory: Linux drops other nodes", i));
    }
    // Linux also numbers them by their first CPU.
    if (!node.cpus.empty() && !seen.empty() && node.cpus.first() < first_of_last) {
      return wrong(fmt::format(
          "nodes[{}].cpus: '{}': expected nodes in the order of their first CPUs", i, cpus));
    }
    if (!node.cpus.empty()) first_of_last = node.cpus.first();
    seen = seen | node.cpus;
  }
  if (seen != all) {
    return wrong(fmt::format("nodes: cpus {} are on no node", (all - seen).to_string()));
  }
  return {};
}

Result<void> check_distances(const VmMachine& machine) {
  const std::size_t count = machine.nodes.size();
  if (machine.distances.size() != count) {
    return wrong(fmt::format("distances: {} rows, expected {}", machine.distances.size(), count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto& row = machine.distances[i];
    if (row.size() != count) {
      return wrong(fmt::format("distances[{}]: {} values, expected {}", i, row.size(), count));
    }
    for (std::size_t j = 0; j < count; ++j) {
      const bool ok = i == j ? row[j] == 10 : row[j] > 10 && row[j] < 255;
      if (!ok) {
        return wrong(fmt::format("distances[{}][{}]: '{}': expected {}", i, j, row[j],
                                 i == j ? "10" : "11 to 254"));
      }
    }
  }
  return {};
}

Result<void> check_devices(const VmMachine& machine) {
  for (const int node : machine.devices) {
    if (node >= static_cast<int>(machine.nodes.size())) {
      return wrong(
          fmt::format("devices: node '{}': expected one of {} nodes", node, machine.nodes.size()));
    }
    if (std::count(machine.devices.begin(), machine.devices.end(), node) > kMaxDevices ||
        node > kMaxDeviceNode) {
      return wrong(fmt::format("devices: node '{}': expected at most {} on a node, nodes up to {}",
                               node, kMaxDevices, kMaxDeviceNode));
    }
  }
  return {};
}

/// Checks that "virt" can provide the machine: QEMU describes its hardware in a device tree, which
/// has no dies, no caches, and no NUMA nodes of devices. No disk: mkfs is the host's program.
Result<void> check_arm64(const VmMachine& machine) {
  const std::pair<const char*, bool> others[] = {
      {"dies", machine.dies > 1},
      {"caches", machine.caches > 1},
      {"absentCpus", !machine.absent.empty()},
      {"pluggableMemory", machine.pluggable_memory > 0},
      {"devices", !machine.devices.empty()},
      {"disk", machine.disk.has_value()},
  };
  for (const auto& [field, is_used] : others) {
    if (is_used) return wrong(fmt::format("{}: expected none on arm64", field));
  }
  return {};
}

Result<void> check_disk(const VmMachine& machine) {
  if (!machine.disk) return {};
  const VmDisk& disk = *machine.disk;
  if (!disk.folder.starts_with('/') || disk.folder.size() < 2) {
    return wrong(fmt::format("disk.folder: '{}': expected a full path", disk.folder));
  }
  const std::uint64_t least = disk.filesystem == Filesystem::kXfs ? 64 * kMiB : 16 * kMiB;
  if (disk.size < least || disk.size > 1024 * kMiB || disk.size % kMiB != 0) {
    return wrong(fmt::format("disk.size: '{}': expected {}Mi to 1Gi in whole MiB, for {}",
                             disk.size, least / kMiB, to_string(disk.filesystem)));
  }
  return {};
}

/// Collects differences, one line for each.
class Differences {
 public:
  void compare(const std::string& what, const std::string& requested, const std::string& observed) {
    if (requested != observed)
      lines_.push_back(fmt::format("{}: expected '{}', got '{}'", what, requested, observed));
  }
  void add(std::string line) { lines_.push_back(std::move(line)); }
  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

std::string text_or_nothing(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "(nothing)";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

int node_of(const VmMachine& machine, CpuId cpu) {
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    if (machine.nodes[i].cpus.contains(cpu)) return static_cast<int>(i);
  }
  return -1;
}

void compare_cpu(Differences& differences, const VmMachine& requested, int id, const Json& cpu) {
  const int per_socket = requested.dies * requested.cores * requested.threads;
  const std::string name = fmt::format("cpu{}", id);
  const auto block = [&](int size) {
    if (size == 0) return std::string();
    const int first = id / size * size;
    return (CpuSet::range(first, first + size - 1) - requested.absent).to_string();
  };
  differences.compare(name + " package", std::to_string(id / per_socket),
                      text_or_nothing(cpu, "package"));
  differences.compare(name + " siblings", block(requested.threads),
                      text_or_nothing(cpu, "siblings"));
  differences.compare(name + " last-level cache", block(cpus_per_cache(requested)),
                      text_or_nothing(cpu, "cache"));
  differences.compare(name + " node", std::to_string(node_of(requested, CpuId{id})),
                      text_or_nothing(cpu, "node"));
}

void compare_node(Differences& differences, const VmMachine& requested, std::size_t id,
                  const Json& node) {
  const VmNode& want = requested.nodes[id];
  const std::string name = fmt::format("node{}", id);
  differences.compare(name + " id", std::to_string(id), text_or_nothing(node, "id"));
  differences.compare(name + " cpus", (want.cpus - requested.absent).to_string(),
                      text_or_nothing(node, "cpus"));
  for (const auto& [size, count] : want.huge_pages) {
    const auto pages = node.find("hugepages");
    const std::string kib = std::to_string(size / 1024);
    differences.compare(fmt::format("{} huge pages of {} kB", name, kib), std::to_string(count),
                        pages == node.end() ? "(nothing)" : text_or_nothing(*pages, kib.c_str()));
  }
  differences.compare(name + " distances",
                      fmt::format("{}", fmt::join(requested.distances[id], " ")),
                      text_or_nothing(node, "distances"));
  const auto memory = node.find("memory");
  const bool known = memory != node.end() && memory->is_number_unsigned();
  const std::uint64_t got = known ? memory->get<std::uint64_t>() : 0;
  // Firmware, kernel image, initramfs and page tables reserve memory.
  const std::uint64_t slack = std::min(want.memory, 128 * kMiB + want.memory / 16);
  if (!known || got > want.memory || got < want.memory - slack) {
    differences.add(fmt::format("{} memory: expected {} MiB, got {} MiB", name, want.memory / kMiB,
                                got / kMiB));
  }
}

const Json& array_of(const Json& object, const char* key) {
  static const Json kEmpty = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kEmpty;
}

/// Linux can reserve huge pages by NUMA node at boot since 5.16.
Result<void> check_huge_pages(const VmMachine& machine) {
  if (machine.platform.kernel != "debian-5.10") return {};
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    if (machine.nodes[i].huge_pages.empty()) continue;
    return wrong(
        fmt::format("nodes[{}].hugePages: expected none with kernel debian-5.10, which "
                    "reserves none by NUMA node",
                    i));
  }
  return {};
}

}  // namespace

std::string_view to_string(Filesystem filesystem) {
  return filesystem == Filesystem::kExt4 ? "ext4" : "xfs";
}

std::vector<std::string> mkfs_command(const VmDisk& disk) {
  if (disk.filesystem == Filesystem::kXfs) {
    // As small as in xfs's own tests: zeroing a larger log takes seconds.
    return {"/usr/sbin/mkfs.xfs", "-q", "-K", "--unsupported", "-l", "size=8m"};
  }
  // No lazy initialization: a kernel thread would write to the disk later.
  return {"/usr/sbin/mkfs.ext4",
          "-q",
          "-b",
          "4096",
          "-J",
          "size=4",
          "-E",
          "nodiscard,lazy_itable_init=0,lazy_journal_init=0"};
}

std::uint64_t VmMachine::memory() const {
  std::uint64_t sum = 0;
  for (const VmNode& node : nodes) sum += node.memory;
  return sum;
}

int cpus_per_cache(const VmMachine& machine) {
  return machine.platform.arch == Arch::kArm64 ? 0
                                               : machine.cores / machine.caches * machine.threads;
}

CpuSet VmMachine::memory_nodes() const {
  CpuSet found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].memory != 0) found.insert(CpuId{static_cast<std::int32_t>(i)});
  }
  return found;
}

Result<void> check_cpus(const VmMachine& machine) {
  for (const auto& counted :
       {check_count("sockets", machine.sockets, kMaxSockets),
        check_count("dies", machine.dies, kMaxDies), check_count("cores", machine.cores, kMaxCores),
        check_count("threads", machine.threads, kMaxThreads),
        check_count("caches", machine.caches, kMaxCaches)}) {
    if (!counted) return counted;
  }
  if (machine.cpu_count() > kMaxCpus) {
    return wrong(
        fmt::format("'{}' CPUs in total: expected at most {}", machine.cpu_count(), kMaxCpus));
  }
  if (machine.cores % machine.caches != 0) {
    return wrong(fmt::format("caches: '{}': expected a divisor of the {} cores of a die",
                             machine.caches, machine.cores));
  }
  const bool has_apic = machine.platform.arch == Arch::kAmd64;
  if (const int id = last_apic_id(machine); has_apic && id > kMaxApicId) {
    return wrong(
        fmt::format("APIC id '{}' of the last CPU: expected at most {}; fewer caches, or "
                    "numbers that are powers of two, give lower ones",
                    id, kMaxApicId));
  }
  return {};
}

Result<void> check_machine(const VmMachine& machine) {
  PINFOLD_TRY(check_cpus(machine));
  if (machine.nodes.empty() || machine.nodes.size() > kMaxNodes) {
    return wrong(
        fmt::format("nodes: {} of them, expected 1 to {}", machine.nodes.size(), kMaxNodes));
  }
  PINFOLD_TRY(check_nodes(machine));
  if (!machine.absent.empty() &&
      (machine.absent != CpuSet::range(machine.absent.first().value, machine.cpu_count() - 1) ||
       machine.absent.first().value == 0)) {
    return wrong(fmt::format("absentCpus: '{}': expected the last ones of 1-{}",
                             machine.absent.to_string(), machine.cpu_count() - 1));
  }
  if (machine.pluggable_memory % (128 * kMiB) != 0 || machine.pluggable_memory > kMaxMemory) {
    return wrong(fmt::format("pluggableMemory: '{}': expected a multiple of 128Mi up to 1Ti",
                             machine.pluggable_memory));
  }
  if (machine.platform.arch == Arch::kArm64) PINFOLD_TRY(check_arm64(machine));
  PINFOLD_TRY(check_devices(machine));
  PINFOLD_TRY(check_platform(machine.platform));
  PINFOLD_TRY(check_huge_pages(machine));
  PINFOLD_TRY(check_disk(machine));
  if (machine.nodes[0].memory == 0) return wrong("nodes[0].memory: '0': expected some memory");
  return check_distances(machine);
}

bool needs_newer_qemu(const VmMachine& machine) {
  if (machine.platform.arch != Arch::kAmd64) return false;
  const auto even = [](int count) { return std::has_single_bit(static_cast<unsigned>(count)); };
  return !is_old_kernel(machine.platform) || machine.caches > 1 || machine.threads > 2 ||
         machine.cpu_count() > 32 || !even(machine.cores) || !even(machine.dies);
}

int boot_limit_s(const VmMachine& machine) {
  // CPUs and nodes add up: 128 CPUs on 64 nodes take 8 minutes. Kubelets triple the initramfs.
  return (machine.kubelet.empty() ? 90 : 180) +
         4 * (std::max(0, machine.cpu_count() - 32) +
              std::max(0, static_cast<int>(machine.nodes.size()) - 32));
}

std::vector<std::string> machine_differences(const VmMachine& requested, const Json& reported) {
  Differences differences;
  if (!reported.is_object()) return {"the guest reports no machine"};
  const CpuSet present = CpuSet::range(0, requested.cpu_count() - 1) - requested.absent;
  const std::size_t count = present.size();
  differences.compare("online cpus", present.to_string(), text_or_nothing(reported, "online"));
  differences.compare("nodes of PCI devices", fmt::format("{}", fmt::join(requested.devices, " ")),
                      text_or_nothing(reported, "devices"));
  differences.compare("network cards", std::to_string(requested.network_cards),
                      text_or_nothing(reported, "networkCards"));
  const bool old_cpu = requested.platform.cgroup != CgroupMode::kV2;
  differences.compare("cgroup of cpuset",
                      requested.platform.cgroup == CgroupMode::kV1 ? "v1" : "v2",
                      text_or_nothing(reported, "cpuset"));
  differences.compare("cgroup of cpu", old_cpu ? "v1" : "v2", text_or_nothing(reported, "cpu"));
  const Json& cpus = array_of(reported, "cpus");
  if (cpus.size() != count) {
    differences.add(fmt::format("cpus: expected {}, got {}", count, cpus.size()));
  }
  for (std::size_t i = 0; i < std::min(count, cpus.size()); ++i) {
    compare_cpu(differences, requested, static_cast<int>(i), cpus[i]);
  }
  const Json& nodes = array_of(reported, "nodes");
  if (nodes.size() != requested.nodes.size()) {
    differences.add(
        fmt::format("nodes: expected {}, got {}", requested.nodes.size(), nodes.size()));
  }
  for (std::size_t i = 0; i < std::min(requested.nodes.size(), nodes.size()); ++i) {
    compare_node(differences, requested, i, nodes[i]);
  }
  return differences.take();
}

}  // namespace pinfold::harness
