#include "repair_running.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "pinfold/checkpoint/running_container.hpp"
#include "pinfold/memory/count_again.hpp"
#include "pinfold/types/named.hpp"
#include "repair_requests.hpp"

namespace pinfold::checkpoint {
namespace {

const PodSpec* find_pod(const OtherFiles& others, const PodUid& uid) {
  const auto found = std::find_if(others.pods.begin(), others.pods.end(),
                                  [&](const PodSpec& pod) { return pod.uid == uid; });
  return found == others.pods.end() ? nullptr : &*found;
}

template <class State>
bool names_pod(const State& state, const PodUid& pod) {
  return state.assignments.contains(pod) || state.pods.contains(pod);
}

/// Returns why a container of this name and pod is not identified; "": it is.
template <class State, class Other>
std::string doubt_about_name(const OtherFiles& others, const State& state, const Other& other,
                             const RunningContainer& one) {
  if (one.id.name.empty()) return "no file names this container";
  const bool is_known = one.is_known || find_pod(others, one.id.pod) != nullptr ||
                        names_pod(state, one.id.pod) || names_pod(other, one.id.pod);
  return is_known ? "" : "no file of this directory names its pod";
}

/// The parts of restore_running() for CPUs.
class CpuReader {
 public:
  CpuReader(const Node& node, const Damage& damage, const MemoryCheckpoint& memory,
            CpuCheckpoint& cpu, Notes& notes)
      : node_(node),
        others_(damage.others),
        is_replaced_(damage.is_replaced),
        memory_(memory),
        before_(cpu),
        cpu_(cpu),
        notes_(notes) {}

  std::vector<Doubt> read() {
    for (const PodSpec& pod : others_.pods) {
      if (has_pod_entry(node_, pod) && !before_.pods.contains(pod.uid)) read_pod(pod);
    }
    for (const RunningContainer& one : others_.running) {
      if (!may_be_lost(one)) continue;
      if (std::string why = doubt(one); !why.empty()) {
        doubts_.push_back({one.id, fmt::format("{} of '{}': {}: not taken",
                                               one.cpus.empty() ? "CPUs ?" : cpus_named(one.cpus),
                                               one.group, why)});
        continue;
      }
      cpu_.assignments[one.id] = one.cpus;
      note(to_string(one.id), one.cpus, one);
    }
    // If every CPU is accounted for, no assignment is lost.
    if (!is_replaced_ && in_no_set(node_, cpu_).empty()) doubts_.clear();
    if (before_.default_set.empty()) read_pool();
    return std::move(doubts_);
  }

 private:
  /// Returns the exclusive CPUs that a container asks for; nullopt: unknown.
  [[nodiscard]] std::optional<std::size_t> asked(const RunningContainer& one) const {
    if (const PodSpec* const pod = find_pod(others_, one.id.pod)) {
      const Container* const container = pod->find(one.id.name);
      if (container != nullptr) return requested_cpus(node_, *pod, container);
    } else if (one.limit_milli_cpu) {
      constexpr std::int64_t kOneCpu = 1000;
      const bool is_whole = *one.limit_milli_cpu % kOneCpu == 0;
      return static_cast<std::size_t>(is_whole ? *one.limit_milli_cpu / kOneCpu : 0);
    }
    return std::nullopt;
  }

  /// Returns false for containers that show no sign of exclusive CPUs.
  [[nodiscard]] bool may_be_lost(const RunningContainer& one) const {
    if (one.qos != QosClass::kGuaranteed || before_.assignments.contains(one.id)) return false;
    const auto count = asked(one);
    if (count) return *count > 0;
    return !one.cpus.empty() && node_.cpu().allocatable().contains_all(one.cpus) &&
           !before_.default_set.contains_all(one.cpus) && sharer(one.id, one.cpus).empty();
  }

  /// Names another container that may run on some of these CPUs; "": none. Containers of a pod with
  /// an entry share its CPUs: `id` is that of the pod for these.
  [[nodiscard]] std::string sharer(const ContainerId& id, const CpuSet& cpus) const {
    for (const RunningContainer& other : others_.running) {
      const bool is_part = other.id.pod == id.pod && (id.name.empty() || other.id == id);
      if (!is_part && other.cpus.intersects(cpus)) return object_of(other.id);
    }
    return "";
  }

  /// Names what in the file has some of these CPUs, apart from the pod itself; "": nothing.
  [[nodiscard]] std::string holder(const PodUid& pod, const CpuSet& cpus) const {
    if (before_.default_set.intersects(cpus)) return "the shared pool";
    for (const auto& entry : before_.assignments) {
      if (entry.pod != pod && entry.value.intersects(cpus)) return to_string(entry.id());
    }
    for (const auto& [other, reserved] : before_.pods) {
      if (other != pod && reserved.intersects(cpus)) return other.value;
    }
    return "";
  }

  [[nodiscard]] std::string doubt_about_cpus(const ContainerId& id, const CpuSet& cpus) const {
    const CpuSet foreign = cpus - node_.cpu().allocatable();
    if (!foreign.empty()) {
      return fmt::format("{} {} reserved or not on this machine", cpus_named(foreign),
                         one_or_more(foreign, "is", "are"));
    }
    if (const std::string other = sharer(id, cpus); !other.empty()) {
      return fmt::format("'{}' may also run on some of them", other);
    }
    const std::string other = holder(id.pod, cpus);
    return other.empty() ? "" : fmt::format("the file has some of them for {}", other);
  }

  [[nodiscard]] std::string doubt(const RunningContainer& one) const {
    if (one.cpus.empty()) return "its cpuset cannot be read";
    if (auto why = doubt_about_name(others_, before_, memory_, one); !why.empty()) return why;
    const auto count = asked(one);
    if (count && *count != one.cpus.size())
      return fmt::format("it asks for {}", amount_text(*count));
    if (auto why = doubt_about_cpus(one.id, one.cpus); !why.empty()) return why;
    const PodSpec* const pod = find_pod(others_, one.id.pod);
    if (pod == nullptr && node_.gates().pod_level_resource_managers) {
      return "its pod may have pod-level CPUs, which no file names";
    }
    if (pod != nullptr && pod->find(one.id.name) == nullptr) {
      return "its pod has no such container";
    }
    if (pod != nullptr && has_pod_entry(node_, *pod) && !cpu_.pods.contains(pod->uid)) {
      return "the CPUs of its pod are not certain";
    }
    return count || shows_shared_pool() ? "" : "they may be a shared pool";
  }

  /// Returns true if a shared pool would be seen to overlap: it has the reserved CPUs, or other
  /// containers run in it.
  [[nodiscard]] bool shows_shared_pool() const {
    if (!node_.cpu().options().strict_cpu_reservation) return true;
    return std::any_of(
        others_.running.begin(), others_.running.end(),
        [](const RunningContainer& one) { return one.qos != QosClass::kGuaranteed; });
  }

  /// Takes the CPUs of all containers of a pod for its reservation, if their number is right.
  void read_pod(const PodSpec& pod) {
    CpuSet cpus;
    const RunningContainer* first = nullptr;
    for (const RunningContainer& one : others_.running) {
      if (one.id.pod != pod.uid) continue;
      if (first == nullptr) first = &one;
      cpus |= one.cpus;
    }
    const ContainerId id{pod.uid, ""};
    if (first == nullptr || cpus.size() != requested_cpus(node_, pod, nullptr)) return;
    if (!doubt_about_cpus(id, cpus).empty()) return;
    cpu_.pods[pod.uid] = cpus;
    note(pod.uid.value, cpus, *first);
  }

  /// Takes the CPUs in no set for the shared pool if all sharing containers run on them.
  void read_pool() {
    CpuSet pool = in_no_set(node_, cpu_);
    const RunningContainer* first = nullptr;
    for (const RunningContainer& one : others_.running) {
      if (one.qos == QosClass::kGuaranteed || one.cpus.empty()) continue;
      if (first == nullptr) first = &one;
      pool &= one.cpus;
    }
    if (first == nullptr || pool.empty()) return;
    cpu_.default_set = pool;
    note("shared pool", pool, *first);
  }

  void note(const std::string& object, const CpuSet& cpus, const RunningContainer& from) {
    notes_.read_back.push_back({object, "cpu", cpus_named(cpus), from.group + "/cpuset.cpus"});
  }

  const Node& node_;
  const OtherFiles& others_;
  bool is_replaced_;
  const MemoryCheckpoint& memory_;
  CpuCheckpoint before_;
  CpuCheckpoint& cpu_;
  Notes& notes_;
  std::vector<Doubt> doubts_;
};

/// The parts of restore_running() for memory.
class MemoryReader {
 public:
  MemoryReader(const Node& node, const OtherFiles& others, const CpuCheckpoint& cpu,
               MemoryCheckpoint& memory, Notes& notes)
      : node_(node), others_(others), cpu_(cpu), before_(memory), memory_(memory), notes_(notes) {
    counted_ = count_again(before_, has_gate());
    for (const NumaNode& numa : node_.machine().numa_nodes()) {
      if (numa.memory > 0) all_.push_back(numa.id.value);
    }
  }

  std::vector<Doubt> read() {
    for (const RunningContainer& one : others_.running) {
      if (!may_be_lost(one)) continue;
      auto blocks = blocks_of(one);
      if (blocks.empty()) continue;
      if (std::string why = doubt(one, blocks); !why.empty()) {
        doubts_.push_back({one.id, fmt::format("memory of '{}', bound to {}: {}: not taken",
                                               one.group, numa_nodes_named(one.mems), why)});
        continue;
      }
      notes_.read_back.push_back(
          {to_string(one.id), "memory",
           fmt::format("{} on {}", amount_text(blocks), numa_nodes_named(ids_of(one.mems))),
           one.group + "/cpuset.mems"});
      memory_.assignments[one.id] = std::move(blocks);
    }
    return std::move(doubts_);
  }

 private:
  [[nodiscard]] bool has_gate() const { return node_.gates().pod_level_resource_managers; }

  static std::vector<std::int32_t> ids_of(const CpuSet& mems) {
    std::vector<std::int32_t> ids;
    for (const CpuId id : mems) ids.push_back(id.value);
    return ids;
  }

  [[nodiscard]] bool may_be_lost(const RunningContainer& one) const {
    if (one.qos != QosClass::kGuaranteed || before_.assignments.contains(one.id)) return false;
    const PodSpec* const pod = find_pod(others_, one.id.pod);
    // What such a pod has as a whole is not in the groups of its containers.
    return pod == nullptr ? !has_gate() : !has_pod_entry(node_, *pod);
  }

  /// Returns the request of a container, or else all that is missing from its NUMA nodes' counters.
  [[nodiscard]] std::vector<MemoryBlock> blocks_of(const RunningContainer& one) const {
    const PodSpec* const pod = find_pod(others_, one.id.pod);
    const Container* const container = pod == nullptr ? nullptr : pod->find(one.id.name);
    auto blocks =
        container != nullptr ? requested_memory(node_, *pod, container) : lacking(one.mems);
    for (MemoryBlock& block : blocks) block.numa_affinity = ids_of(one.mems);
    return blocks;
  }

  /// Returns what NUMA nodes have reserved beyond the assignments that could be read.
  [[nodiscard]] std::vector<MemoryBlock> lacking(const CpuSet& mems) const {
    std::map<std::string, std::uint64_t> bytes;
    for (const CpuId id : mems) {
      const auto counter = before_.machine_state.find(id.value);
      if (counter == before_.machine_state.end()) continue;
      const auto& counted = counted_.machine_state.at(id.value).tables;
      for (const auto& [type, table] : counter->second.tables) {
        const auto known = counted.at(type).reserved;
        if (table.reserved > known) bytes[type] += table.reserved - known;
      }
    }
    std::vector<MemoryBlock> blocks;
    blocks.reserve(bytes.size());
    for (const auto& [type, size] : bytes) blocks.push_back({{}, type, size});
    return blocks;
  }

  [[nodiscard]] std::string doubt(const RunningContainer& one,
                                  const std::vector<MemoryBlock>& blocks) const {
    if (one.mems.empty()) return "its cpuset cannot be read";
    if (auto why = doubt_about_name(others_, before_, cpu_, one); !why.empty()) return why;
    const auto ids = ids_of(one.mems);
    if (!std::includes(all_.begin(), all_.end(), ids.begin(), ids.end())) {
      return "some are not on this machine";
    }
    if (all_.size() > 1 && ids == all_) return "a container without an assignment looks the same";
    if (const std::string other = overlapping(one); !other.empty()) {
      return fmt::format("'{}' is bound to other NUMA nodes that overlap", other);
    }
    const bool is_known = find_pod(others_, one.id.pod) != nullptr;
    return is_known || fills_counters(one, blocks) ? ""
                                                   : "no file names its request, and it alone does "
                                                     "not account for what their counters lack";
  }

  /// Names a container with another group of NUMA nodes that overlaps; "": none.
  [[nodiscard]] std::string overlapping(const RunningContainer& one) const {
    const auto ids = ids_of(one.mems);
    for (const auto& entry : before_.assignments) {
      for (const MemoryBlock& block : entry.value) {
        const auto& other = block.numa_affinity;
        const bool is_apart = std::none_of(other.begin(), other.end(), [&](std::int32_t id) {
          return std::binary_search(ids.begin(), ids.end(), id);
        });
        if (!is_apart && other != ids) return to_string(entry.id());
      }
    }
    for (const RunningContainer& other : others_.running) {
      const bool is_bound = other.qos == QosClass::kGuaranteed && ids_of(other.mems) != all_;
      if (is_bound && other.mems.intersects(one.mems) && other.mems != one.mems) {
        return object_of(other.id);
      }
    }
    return "";
  }

  /// Returns true if no other lost container can have a part of these blocks, and they explain the
  /// counters of their NUMA nodes.
  [[nodiscard]] bool fills_counters(const RunningContainer& one,
                                    const std::vector<MemoryBlock>& blocks) const {
    for (const RunningContainer& other : others_.running) {
      const bool is_other = &other != &one && may_be_lost(other);
      if (is_other && other.mems.intersects(one.mems)) return false;
    }
    MemoryCheckpoint trial = before_;
    trial.assignments[one.id] = blocks;
    const auto after = count_again(std::move(trial), has_gate()).machine_state;
    const auto ids = ids_of(one.mems);
    return std::all_of(ids.begin(), ids.end(), [&](std::int32_t id) {
      const auto counter = before_.machine_state.find(id);  // the file may be torn before it
      return counter != before_.machine_state.end() && after.at(id) == counter->second;
    });
  }

  const Node& node_;
  const OtherFiles& others_;
  const CpuCheckpoint& cpu_;
  MemoryCheckpoint before_;
  MemoryCheckpoint counted_;
  MemoryCheckpoint& memory_;
  Notes& notes_;
  std::vector<std::int32_t> all_;  ///< the NUMA nodes with memory, ascending
  std::vector<Doubt> doubts_;
};

}  // namespace

std::vector<Doubt> restore_running(const Node& node, const Damage& damage,
                                   const MemoryCheckpoint& memory, CpuCheckpoint& cpu,
                                   Notes& notes) {
  if (!node.cpu().is_static()) return {};
  return CpuReader(node, damage, memory, cpu, notes).read();
}

std::vector<Doubt> restore_running(const Node& node, const Damage& damage, const CpuCheckpoint& cpu,
                                   MemoryCheckpoint& memory, Notes& notes) {
  if (!node.memory().is_static()) return {};
  return MemoryReader(node, damage.others, cpu, memory, notes).read();
}

bool runs_exclusively(const Node& node, const OtherFiles& others) {
  CpuCheckpoint none;
  Notes notes;
  (void)restore_running(node, {false, others}, MemoryCheckpoint{}, none, notes);
  return !none.assignments.empty();
}

}  // namespace pinfold::checkpoint
