#include "machine/copy_traits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pinfold::harness {
namespace {

constexpr std::string_view kArch = "amd64";
constexpr std::uint64_t kPageKib = 4;
constexpr std::size_t kMostNamed = 8;  // of a long list
constexpr std::string_view kLastLevel = "level 3 Unified";
/// The caches of QEMU's Haswell model: all but the last belong to a core.
const std::map<std::string, std::set<std::string>>& guest_caches() {
  static const std::map<std::string, std::set<std::string>> kCaches = {
      {"level 1 Data", {"32K"}},
      {"level 1 Instruction", {"32K"}},
      {"level 2 Unified", {"4096K"}},
      {std::string(kLastLevel), {"16384K"}}};
  return kCaches;
}

class TraitComparison {
 public:
  TraitComparison(MachineCopy& copy, const Machine& source, const SourceTraits& traits)
      : copy_(copy), source_(source), traits_(traits) {
    for (const auto& cpu : copy.cpus) {
      if (cpu) kept_.insert(*cpu);
    }
  }

  void compare() {
    if (!traits_.is_read) {
      add("unread", "architecture, page size, dies, clusters, smaller caches, memory access",
          "those of QEMU: only what decisions depend on was read from the file");
      return;
    }
    if (traits_.arch != kArch) add("architecture", or_unknown(traits_.arch), std::string(kArch));
    if (traits_.page_kib != kPageKib) {
      add("pageSize", traits_.page_kib == 0 ? "unknown" : fmt::format("{} KiB", traits_.page_kib),
          fmt::format("{} KiB", kPageKib));
    }
    if (!traits_.unusable.empty()) {
      add("unusableCpus",
          fmt::format("CPUs {}, offline or without topology files", traits_.unusable.to_string()),
          "none");
    }
    compare_groups("dies", "dies", traits_.dies, kept_groups(source_.sockets()),
                   "a die for each socket");
    compare_groups("clusters", "clusters", traits_.clusters, kept_groups(source_.cores()),
                   "a cluster for each core");
    compare_caches();
    compare_nodes("access classes (latency, bandwidth)", traits_.access_nodes);
    compare_nodes("a memory-side cache", traits_.side_cache_nodes);
  }

  /// Copies devices that workloads are aligned with, as many as QEMU's machine has room for.
  void copy_devices() {
    std::vector<std::string> copied;
    std::vector<std::string> left;
    VmMachine& machine = copy_.machine;
    for (const SourceDevice& device : traits_.devices) {
      const auto node = node_of(device);
      std::string text = fmt::format("{}{}", device.address, nodes_text(device));
      if (node && std::count(machine.devices.begin(), machine.devices.end(), *node) < kMaxDevices) {
        machine.devices.push_back(*node);
        copied.push_back(std::move(text));
      } else {
        left.push_back(std::move(text));
      }
    }
    std::sort(machine.devices.begin(), machine.devices.end());
    if (!copied.empty()) {
      add("devices", list(copied, ", "),
          fmt::format("QEMU's edu on nodes {}", fmt::join(machine.devices, ",")));
    }
    if (!left.empty()) {
      add("devices", list(left, ", "),
          fmt::format("none: a copy has {} on each node up to {}, of those for storage, network, "
                      "display and computing near one NUMA node",
                      kMaxDevices, kMaxDeviceNode));
    }
  }

 private:
  void add(const char* field, std::string source, std::string copy) {
    copy_.differences.push_back({field, std::move(source), std::move(copy)});
  }

  static std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

  static std::string list(const std::vector<std::string>& texts, const char* between) {
    const auto shown = static_cast<std::ptrdiff_t>(std::min(texts.size(), kMostNamed));
    std::string text = fmt::format("{}", fmt::join(texts.begin(), texts.begin() + shown, between));
    if (texts.size() > kMostNamed) {
      text += fmt::format("{}... ({} in total)", between, texts.size());
    }
    return text;
  }

  /// Returns the part of each group that is in the copy, ascending.
  [[nodiscard]] std::vector<std::string> kept(const std::vector<CpuSet>& groups) const {
    std::vector<CpuSet> left;
    for (const CpuSet& group : groups) {
      CpuSet cpus = group & kept_;
      if (!cpus.empty()) left.push_back(std::move(cpus));
    }
    std::sort(left.begin(), left.end(),
              [](const CpuSet& a, const CpuSet& b) { return a.first() < b.first(); });
    std::vector<std::string> texts;
    texts.reserve(left.size());
    for (const CpuSet& cpus : left) texts.push_back(cpus.to_string());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    return texts;
  }

  [[nodiscard]] std::vector<std::string> kept_groups(
      const std::vector<Machine::Group>& groups) const {
    std::vector<CpuSet> sets;
    sets.reserve(groups.size());
    for (const Machine::Group& group : groups) sets.push_back(group.cpus);
    return kept(sets);
  }

  void compare_groups(const char* field, const std::string& what, const std::vector<CpuSet>& groups,
                      const std::vector<std::string>& in_copy, const char* instead) {
    if (groups.empty()) return;  // unknown to older kernels
    if (const auto here = kept(groups); here != in_copy) {
      add(field, fmt::format("{} of CPUs {}", what, list(here, "; ")), instead);
    }
  }

  /// Returns true for the QEMU of Debian 12 with SMT: it runs old kernels, and it gives each thread
  /// its own level 1 caches.
  [[nodiscard]] bool has_caches_of_threads() const {
    return copy_.machine.threads > 1 && !needs_newer_qemu(copy_.machine);
  }

  [[nodiscard]] std::vector<std::string> kept_cpus() const {
    std::vector<std::string> texts;
    for (const CpuId cpu : kept_) texts.push_back(std::to_string(cpu.value));
    return texts;
  }

  void compare_caches() {
    std::map<std::string, std::set<std::string>> sizes;
    std::vector<std::string> size_texts;
    for (const auto& [kind, caches] : traits_.caches) {
      sizes[kind] = caches.sizes;
      size_texts.push_back(fmt::format("{} {}", kind, fmt::join(caches.sizes, " and ")));
      if (kind == kLastLevel) continue;
      if (guest_caches().contains(kind)) {
        const bool single = kind.starts_with("level 1") && has_caches_of_threads();
        compare_groups("smallerCaches", kind + " caches", caches.groups,
                       single ? kept_cpus() : kept_groups(source_.cores()),
                       single ? "one for each CPU, with QEMU 7.2" : "one for each core");
      } else {
        add("smallerCaches", kind + " caches", "none");
      }
    }
    for (const auto& [kind, size] : guest_caches()) {
      if (kind == kLastLevel || traits_.caches.contains(kind)) continue;
      add("smallerCaches", fmt::format("no {} caches known", kind), "one for each core");
    }
    if (sizes != guest_caches()) {
      add("cacheSizes", or_unknown(fmt::format("{}", fmt::join(size_texts, ", "))),
          "those of QEMU's Haswell: 32K, 4096K, 16384K");
    }
  }

  void compare_nodes(const char* what, const std::vector<NumaId>& nodes) {
    if (nodes.empty()) return;
    CpuSet ids;  // NUMA node ids
    for (const NumaId node : nodes) ids.insert(CpuId{node.value});
    add("memoryAccess", fmt::format("NUMA nodes {} have {}", ids.to_string(), what), "none");
  }

  /// Returns the node of the copy on which a device can be placed.
  [[nodiscard]] std::optional<int> node_of(const SourceDevice& device) const {
    if (!device.is_workload || device.numa_nodes.size() != 1) return std::nullopt;
    const auto found = std::find(copy_.nodes.begin(), copy_.nodes.end(), device.numa_nodes.front());
    const auto node = found - copy_.nodes.begin();
    if (found == copy_.nodes.end() || node > kMaxDeviceNode) return std::nullopt;
    return static_cast<int>(node);
  }

  static std::string nodes_text(const SourceDevice& device) {
    std::vector<std::int32_t> ids;
    for (const NumaId node : device.numa_nodes) ids.push_back(node.value);
    return ids.empty() ? "" : fmt::format(" on NUMA node {}", fmt::join(ids, "+"));
  }

  MachineCopy& copy_;
  const Machine& source_;
  const SourceTraits& traits_;
  CpuSet kept_;  // CPUs of the source that are in the copy
};

}  // namespace

void copy_traits(MachineCopy& copy, const Machine& source, const SourceTraits& traits) {
  TraitComparison comparison(copy, source, traits);
  comparison.compare();
  comparison.copy_devices();
}

}  // namespace pinfold::harness
