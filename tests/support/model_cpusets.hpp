#pragma once

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "model_kernel.hpp"

/// The rules of Linux's cpusets for the groups of a ModelKernel: which values a group accepts, how
/// a write affects other groups, and which CPUs are effective. Sets and states are stored in the
/// files of the groups; the effective values are computed from them.
///
/// Partitions behave as in Linux 6.1, which tests/kernel_table checks: a partition is valid or not,
/// this changes only at certain events, and a valid one takes its CPUs from its parent, which must
/// be a partition too. With `has_exclusive` a group below ordinary groups can be one, as far as
/// Pinfold uses that; no table checks these rules. Those of Linux 7 are in model_partitions.hpp.
namespace pinfold::test {

class ModelCpusets {
 public:
  using Dir = ModelKernel::Dir;

  explicit ModelCpusets(const ModelKernel& kernel)
      : kernel_(kernel), is_v1_(kernel.version == enforce::CgroupVersion::kV1) {}

  [[nodiscard]] static CpuSet own(const Dir& dir, const std::string& file) {
    const auto it = dir.files.find(file);
    if (it == dir.files.end()) return {};
    auto set = CpuSet::parse(it->second);
    return set ? *std::move(set) : CpuSet{};
  }

  [[nodiscard]] CpuSet effective_mems(const Dir& dir) const {
    CpuSet mine = own(dir, kMems);
    if (is_v1_) return mine;
    return within(mine, dir.parent == nullptr ? kernel_.mems : effective_mems(*dir.parent));
  }

  [[nodiscard]] CpuSet effective_cpus(const Dir& dir) const {
    if (is_v1_) return own(dir, kCpus);
    if (dir.parent == nullptr) {
      return within(own(dir, kCpus), kernel_.cpus) - given(dir) - held_below(dir);
    }
    if (is_valid(dir)) return (granted(dir) & kernel_.cpus) - given(dir);
    return within(own(dir, kCpus), effective_cpus(*dir.parent));
  }

  /// Writes cpuset.cpus or cpuset.mems. Returns 0 or the errno.
  [[nodiscard]] int write_set(Dir& dir, const std::string& file, const CpuSet& next) const {
    const CpuSet before = own(dir, file);
    if (const int error = check_set(dir, file, before, next); error != 0) return error;
    if (next == before) return 0;
    if (file == kCpus && !is_v1_) change_state(dir, before, next);
    dir.files[file] = next.to_string();
    if (file == kCpus && !is_v1_) settle_below(dir);
    return 0;
  }

  /// Writes cpuset.cpus.partition. Returns 0 or the errno.
  [[nodiscard]] int write_partition(Dir& dir, const std::string& next) const {
    if (next != "member" && next != "root" && next != "isolated") return EINVAL;
    std::string& state = dir.files[kPartition];
    if (state == next) return 0;
    if (next == "member") {
      dir.is_exclusive = false;
    } else if (is_invalid(dir)) {
      state = next + state.substr(kind(dir).size());  // it stays invalid, for the same reason
      return 0;
    } else if (state == "member") {
      const std::string problem = cannot_begin(dir);
      dir.is_exclusive = problem.empty();
      if (!problem.empty()) {
        state = next + " invalid (" + problem + ")";
        settle_below(dir);
        return 0;
      }
    }
    state = next;
    settle_below(dir);
    return 0;
  }

  /// Writes cpuset.cpus.exclusive, which ends partitions below the group that are not within it.
  static void write_exclusive(Dir& dir, const std::string& next) {
    dir.files[kExclusive] = next;
    end_outside(dir);
  }

  /// Writes cgroup v1's cpuset.cpu_exclusive. Returns 0 or the errno.
  [[nodiscard]] static int write_cpu_exclusive(Dir& dir, const std::string& next) {
    const bool is_exclusive = next != "0";
    for (const auto& [name, child] : dir.children) {
      if (child->is_exclusive && !is_exclusive) return EBUSY;
    }
    if (dir.parent != nullptr && is_exclusive) {
      if (!dir.parent->is_exclusive) return EACCES;
      if (overlaps_sibling(dir, own(dir, kCpus))) return EINVAL;
    }
    dir.is_exclusive = is_exclusive;
    dir.files[kCpuExclusive] = is_exclusive ? "1" : "0";
    return 0;
  }

  /// cgroup v2: updates the partitions after CPUs came online or went offline.
  void settle_online(Dir& root) const {
    const bool drops = !given(root).empty() && given(root).contains_all(kernel_.cpus);
    for (const auto& [name, child] : root.children) settle_hotplug(*child, drops);
  }

  static constexpr const char* kCpus = "cpuset.cpus";
  static constexpr const char* kMems = "cpuset.mems";
  /// Constants because they are looked up for many groups whenever effective CPUs are read.
  static inline const std::string kPartition = "cpuset.cpus.partition";
  static inline const std::string kExclusive = "cpuset.cpus.exclusive";
  static constexpr const char* kCpuExclusive = "cpuset.cpu_exclusive";

  // What the rules of Linux 6 and 7 share.
  [[nodiscard]] static CpuSet within(const CpuSet& mine, const CpuSet& above) {
    const CpuSet both = mine & above;
    return both.empty() ? above : both;
  }

  /// Returns "member", "root" or "isolated".
  [[nodiscard]] static std::string kind(const Dir& dir) {
    const auto it = dir.files.find(kPartition);
    return it == dir.files.end() ? "member" : it->second.substr(0, it->second.find(' '));
  }
  [[nodiscard]] static bool is_invalid(const Dir& dir) {
    const auto it = dir.files.find(kPartition);
    return it != dir.files.end() && it->second.find(' ') != std::string::npos;
  }
  [[nodiscard]] static bool is_valid(const Dir& dir) {
    if (dir.parent == nullptr) return true;
    const auto it = dir.files.find(kPartition);
    return it != dir.files.end() && it->second != "member" &&
           it->second.find(' ') == std::string::npos;
  }
  static void invalidate(Dir& dir, const std::string& reason) {
    if (is_valid(dir)) dir.files[kPartition] = kind(dir) + " invalid (" + reason + ")";
  }
  /// Returns true if a process needs a CPU that the partition does not give away: a process inside
  /// it, or below it in a group that is not a partition. Groups in `except` do not count. The root
  /// always has processes.
  [[nodiscard]] static bool is_in_use(const Dir& dir, const Dir* except = nullptr) {
    return dir.parent == nullptr || !dir.processes.empty() || is_in_use_below(dir, except);
  }

 private:
  static constexpr const char* kNotExclusive = "Cpu list in cpuset.cpus not exclusive";
  static constexpr const char* kNoCpus = "Parent unable to distribute cpu downstream";
  static constexpr const char* kHotplug = "No cpu available due to hotplug";

  /// Returns the CPUs of the cpuset, online or not; for the root: all.
  [[nodiscard]] CpuSet listed(const Dir& dir) const {
    return dir.parent == nullptr ? kernel_.possible_cpus | kernel_.cpus : own(dir, kCpus);
  }
  /// Returns the CPUs of a valid partition, including those that it gives to partitions below,
  /// online or not.
  [[nodiscard]] CpuSet granted(const Dir& dir) const {
    if (dir.parent == nullptr) return listed(dir);
    if (!is_valid(*dir.parent)) return own(dir, kExclusive) - kernel_.stripped;
    return listed(dir) & granted(*dir.parent);
  }
  /// Returns the CPUs that a valid partition gives to the partitions directly below it.
  [[nodiscard]] CpuSet given(const Dir& dir) const {
    CpuSet cpus;
    if (!is_valid(dir)) return cpus;
    for (const auto& [name, child] : dir.children) {
      if (is_valid(*child)) cpus |= granted(*child);
    }
    return cpus;
  }
  /// Returns the CPUs of valid partitions below ordinary groups; these groups list them as
  /// exclusive.
  [[nodiscard]] CpuSet held_below(const Dir& dir) const {
    CpuSet cpus;
    if (!kernel_.has_exclusive) return cpus;
    const bool gives = is_valid(dir);
    for (const auto& [name, child] : dir.children) {
      const auto listed = child->files.find(kExclusive);
      if (listed == child->files.end() || listed->second.empty()) continue;
      if (!gives && is_valid(*child)) cpus |= granted(*child);
      cpus |= held_below(*child);
    }
    return cpus;
  }

  [[nodiscard]] static bool is_in_use_below(const Dir& dir, const Dir* except = nullptr) {
    return std::any_of(dir.children.begin(), dir.children.end(), [&](const auto& child) {
      if (child.second.get() == except) return is_in_use_below(*child.second);
      return !is_valid(*child.second) && is_populated(*child.second);
    });
  }
  /// Returns true if a valid partition would give away all its CPUs although it is in use.
  [[nodiscard]] bool starves(const Dir& dir) const {
    const CpuSet away = given(dir);
    return !away.empty() && away.contains_all(granted(dir) & kernel_.cpus) && is_in_use(dir);
  }

  /// Returns true if a sibling has one of these CPUs; only exclusive siblings count, unless `dir`
  /// is exclusive.
  [[nodiscard]] static bool overlaps_exclusive(const Dir& dir, const CpuSet& cpus) {
    const auto& siblings = dir.parent->children;
    return std::any_of(siblings.begin(), siblings.end(), [&](const auto& entry) {
      const Dir& sibling = *entry.second;
      return &sibling != &dir && (dir.is_exclusive || sibling.is_exclusive) &&
             own(sibling, kCpus).intersects(cpus);
    });
  }
  [[nodiscard]] static bool overlaps_sibling(const Dir& dir, const CpuSet& cpus) {
    const auto& siblings = dir.parent->children;
    return std::any_of(siblings.begin(), siblings.end(), [&](const auto& entry) {
      return entry.second.get() != &dir && own(*entry.second, kCpus).intersects(cpus);
    });
  }

  [[nodiscard]] int check_set(const Dir& dir, const std::string& file, const CpuSet& before,
                              const CpuSet& next) const {
    const bool is_cpus = file == kCpus;
    // cgroup v2 accepts offline CPUs.
    const CpuSet existing = is_cpus ? kernel_.possible_cpus | kernel_.cpus : kernel_.mems;
    if (!existing.contains_all(next)) return is_cpus ? ERANGE : EINVAL;
    if (is_v1_ && is_cpus && !kernel_.cpus.contains_all(next)) return EINVAL;
    if (next == before) return 0;
    if (is_v1_) {
      for (const auto& [name, child] : dir.children) {
        if (!next.contains_all(own(*child, file))) return EBUSY;
      }
      if (!own(*dir.parent, file).contains_all(next)) return EACCES;
    }
    // If a process runs in a group or below it, the group cannot lose its set.
    if (next.empty() && is_populated(dir)) return ENOSPC;
    return is_v1_ && is_cpus && overlaps_exclusive(dir, next) ? EINVAL : 0;
  }

  /// Updates the state of a cgroup v2 group before it gets other CPUs.
  void change_state(Dir& dir, const CpuSet& before, const CpuSet& next) const {
    if (overlaps_exclusive(dir, next)) {
      for (const auto& [name, sibling] : dir.parent->children) {
        if (sibling.get() == &dir || !own(*sibling, kCpus).intersects(next)) continue;
        if (!given(*sibling).empty()) {
          leave_model("a sibling makes a partition invalid that has partitions below it");
        }
        lose(*sibling, kNotExclusive);
        settle_below(*sibling);
      }
      lose(dir, kNotExclusive);
      return;
    }
    const Dir& parent = *dir.parent;
    if (kind(dir) == "member" || !is_valid(parent) || next.empty()) return;
    const CpuSet away = given(parent);
    const CpuSet added = (next & listed(parent)) - away;
    const bool returns = ((before - next) & away).intersects(kernel_.cpus);
    if (!returns && leaves_nothing(dir, added)) {
      lose(dir, kNoCpus);
    } else if (is_invalid(dir) && (dir.is_exclusive || !overlaps_sibling(dir, before))) {
      gain(dir);  // the kernel compares the CPUs that the group still has
      if (overlaps_sibling(dir, next)) leave_model("a partition has CPUs that a sibling lists");
    }
  }
  /// Marks the end of the model: from here on Linux 6.1 follows no rule but its code, with
  /// effective CPUs that it does not update, or that it gives to groups that do not list them.
  void leave_model(const std::string& why) const {
    if (kernel_.beyond_model.empty()) kernel_.beyond_model = why;
  }
  static void lose(Dir& dir, const std::string& reason) {
    if (!is_valid(dir)) return;
    invalidate(dir, reason);
    dir.is_exclusive = false;
  }
  static void gain(Dir& dir) {
    dir.files[kPartition] = kind(dir);
    dir.is_exclusive = true;
  }
  /// Returns true if the parent is in use and would keep no CPU.
  [[nodiscard]] bool leaves_nothing(const Dir& dir, const CpuSet& added) const {
    return !added.empty() && added.contains_all(effective_cpus(*dir.parent)) &&
           is_in_use(*dir.parent, &dir);
  }

  /// Returns why a member cannot become a valid partition; "": it can.
  [[nodiscard]] std::string cannot_begin(const Dir& dir) const {
    const Dir& parent = *dir.parent;
    const CpuSet cpus = listed(dir);
    if (kernel_.has_exclusive && can_be_remote(dir)) return "";
    if (cpus.empty()) return "cpuset.cpus is empty";
    if (overlaps_sibling(dir, cpus)) return kNotExclusive;
    if (!is_valid(parent)) return why_not_below(parent);
    if (!cpus.intersects(listed(parent))) return "Invalid cpu list in cpuset.cpus";
    if (cpus.contains_all(effective_cpus(parent)) && is_in_use(parent, &dir)) return kNoCpus;
    return "";
  }
  [[nodiscard]] static std::string why_not_below(const Dir& parent) {
    return is_invalid(parent) ? "Parent is an invalid partition root"
                              : "Parent is not a partition root";
  }
  /// Returns true if the group is below ordinary groups that all, up to the root, list its CPUs as
  /// exclusive.
  [[nodiscard]] static bool can_be_remote(const Dir& dir) {
    const CpuSet cpus = own(dir, kExclusive);
    if (cpus.empty() || is_valid(*dir.parent)) return false;
    for (const Dir* above = dir.parent; above->parent != nullptr; above = above->parent) {
      if (!own(*above, kExclusive).contains_all(cpus)) return false;
    }
    return true;
  }

  static void end_outside(Dir& dir) {
    for (const auto& [name, child] : dir.children) {
      const bool is_remote = is_valid(*child) && !is_valid(dir);
      if (is_remote && !can_be_remote(*child)) invalidate(*child, "Invalid cpu list");
      end_outside(*child);
    }
  }

  /// Updates the partitions below a cgroup v2 group after its set or state has changed.
  void settle_below(Dir& dir) const {
    if (dir.parent != nullptr && kind(dir) != "member" && is_valid(*dir.parent) &&
        !listed(*dir.parent).contains_all(listed(dir))) {
      leave_model("a partition lists CPUs that its parent does not");
    }
    const bool drops = is_valid(dir) && starves(dir);
    for (const auto& [name, child] : dir.children) {
      if (kind(*child) == "member") continue;
      if (!is_valid(dir)) {
        const bool is_remote = kernel_.has_exclusive && !own(*child, kExclusive).empty();
        if (is_remote) continue;
        if (!given(*child).empty()) {
          leave_model("a partition with partitions below it is below an invalid one");
        }
        invalidate(*child, why_not_below(dir));
      } else if (is_invalid(*child)) {
        revive(*child);
      } else if (drops) {
        lose(*child, kNoCpus);
      }
      settle_below(*child);
    }
  }
  /// Makes an invalid partition below a valid one valid again if possible.
  void revive(Dir& dir) const {
    if (listed(dir).empty()) return;
    const CpuSet added = (listed(dir) & listed(*dir.parent)) - given(*dir.parent);
    if (leaves_nothing(dir, added)) return;
    if (dir.is_exclusive || !overlaps_sibling(dir, listed(dir))) gain(dir);
  }

  /// `is_dropped`: the parent has taken back what it gave to partitions.
  void settle_hotplug(Dir& dir, bool is_dropped) const {
    bool drops = false;
    if (kind(dir) != "member") {
      const Dir& parent = *dir.parent;
      const bool was_valid = is_valid(dir);
      drops = was_valid && starves(dir);
      const CpuSet left = drops ? granted(dir) & kernel_.cpus : effective_cpus(dir);
      if (was_valid && (is_dropped || (left.empty() && is_in_use(dir)))) {
        invalidate(dir, is_valid(parent) ? kHotplug : why_not_below(parent));
        drops = true;
      } else if (!was_valid && is_valid(parent)) {
        revive(dir);
      }
    } else if (!own(dir, kCpus).empty() && !given(*dir.parent).empty() &&
               !own(dir, kCpus).intersects(effective_cpus(*dir.parent))) {
      leave_model("a group beside partitions has no CPU online");
    }
    for (const auto& [name, child] : dir.children) settle_hotplug(*child, drops);
  }

  const ModelKernel& kernel_;
  bool is_v1_;
};

}  // namespace pinfold::test
