#pragma once

#include <algorithm>
#include <cerrno>
#include <string>

#include "model_cpusets.hpp"
#include "model_kernel.hpp"

/// The rules of cgroup v2's cpuset.cpus, cpuset.cpus.exclusive and cpuset.cpus.partition in Linux 7
/// for the groups of a ModelKernel; tests/kernel_table checks them with the table of Linux 7.2.
///
/// A partition asks for its exclusive CPUs or, without any, for its CPUs. It gets those of them
/// that its parent owns and that no sibling claims, and is valid as long as that leaves it some. A
/// local partition takes them from its parent, a valid partition; a remote one, below ordinary
/// groups, from the root. Which CPUs a valid partition got is stored (Dir::granted), because it
/// depends on who came first; everything else is computed.
namespace pinfold::test {

class ModelPartitions {
 public:
  using Dir = ModelKernel::Dir;

  explicit ModelPartitions(const ModelKernel& kernel) : kernel_(kernel) {}

  /// Returns cpuset.cpus.effective.
  [[nodiscard]] CpuSet effective(const Dir& dir) const {
    if (dir.parent == nullptr) return kernel_.cpus - given(dir);
    if (is_valid(dir)) return (dir.granted & kernel_.cpus) - given(dir);
    return within(own(dir, kCpus), effective(*dir.parent));
  }

  /// Returns cpuset.cpus.exclusive.effective.
  [[nodiscard]] CpuSet owned(const Dir& dir) const {
    if (dir.parent == nullptr) return possible();
    const CpuSet exclusive = own(dir, ModelCpusets::kExclusive);
    if (is_valid(dir) || exclusive.empty()) return dir.granted;
    return exclusive & owned(*dir.parent);
  }

  /// Returns cpuset.cpus.isolated: the CPUs of isolated partitions at or below the group, without
  /// those that such a partition gives to another one.
  [[nodiscard]] CpuSet isolated(const Dir& dir) const {
    CpuSet cpus;
    if (is_valid(dir) && kind(dir) == "isolated") cpus = dir.granted - given(dir);
    for (const auto& [name, child] : dir.children) cpus |= isolated(*child);
    return cpus;
  }

  /// Writes cpuset.cpus. Returns 0 or the errno.
  [[nodiscard]] int write_cpus(Dir& dir, const CpuSet& next) const {
    if (!possible().contains_all(next)) return EINVAL;
    if (next == own(dir, kCpus)) return 0;
    dir.files[kCpus] = next.to_string();
    change(dir);
    return 0;
  }

  /// Writes cpuset.cpus.exclusive. Returns 0 or the errno.
  [[nodiscard]] int write_exclusive(Dir& dir, const CpuSet& next) const {
    if (!possible().contains_all(next)) return EINVAL;
    const CpuSet before = own(dir, ModelCpusets::kExclusive);
    if (next == before) return 0;
    const bool asks_for_cpus = next.empty() && kind(dir) != "member";
    const CpuSet asked = asks_for_cpus ? own(dir, kCpus) : next;
    if (conflicts(dir, next) || available(dir, asked) != (asked & owned(*dir.parent))) {
      return EINVAL;
    }
    if (dir.is_remote && (before.empty() || next.empty())) leave_model(kNoExclusive);
    dir.files[ModelCpusets::kExclusive] = next.to_string();
    change(dir);
    return 0;
  }

  /// Writes cpuset.cpus.partition. Returns 0 or the errno.
  [[nodiscard]] int write_partition(Dir& dir, const std::string& next) const {
    if (next != "member" && next != "root" && next != "isolated") return EINVAL;
    std::string& state = dir.files[ModelCpusets::kPartition];
    if (state == next) return 0;
    if (next == "member") {
      lose(dir, "");
      state = next;
    } else if (is_valid(dir)) {
      state = next;
    } else {
      begin(dir, next);
    }
    settle(dir);
    return 0;
  }

  /// Updates the partitions after CPUs came online or went offline.
  void settle_online(Dir& root) const {
    const CpuSet away = given(root);
    if (!away.empty() && away.contains_all(kernel_.cpus)) {
      leave_model("partitions have all CPUs that are online");
    }
    for (const auto& [name, child] : root.children) settle_hotplug(*child);
  }

 private:
  static constexpr const char* kCpus = ModelCpusets::kCpus;
  static constexpr const char* kInvalidCpus = "Invalid cpu list in cpuset.cpus.exclusive";
  static constexpr const char* kNoCpus = "Parent unable to distribute cpu downstream";
  static constexpr const char* kHotplug = "No cpu available due to hotplug";
  static constexpr const char* kNoExclusive =
      "the CPUs of a remote partition change that has none listed as exclusive";

  [[nodiscard]] static CpuSet own(const Dir& dir, const std::string& file) {
    return ModelCpusets::own(dir, file);
  }
  [[nodiscard]] static std::string kind(const Dir& dir) { return ModelCpusets::kind(dir); }
  [[nodiscard]] static bool is_valid(const Dir& dir) { return ModelCpusets::is_valid(dir); }
  [[nodiscard]] static CpuSet within(const CpuSet& mine, const CpuSet& above) {
    return ModelCpusets::within(mine, above);
  }
  [[nodiscard]] CpuSet possible() const { return kernel_.possible_cpus | kernel_.cpus; }

  [[nodiscard]] static CpuSet asked(const Dir& dir) {
    const CpuSet exclusive = own(dir, ModelCpusets::kExclusive);
    return exclusive.empty() ? own(dir, kCpus) : exclusive;
  }
  /// Returns those of the CPUs that the group could have exclusively.
  [[nodiscard]] CpuSet available(const Dir& dir, const CpuSet& cpus) const {
    CpuSet left = cpus & owned(*dir.parent);
    for (const auto& [name, sibling] : dir.parent->children) {
      if (sibling.get() == &dir) continue;
      const CpuSet exclusive = own(*sibling, ModelCpusets::kExclusive);
      left -= exclusive.empty() ? sibling->granted : exclusive;
    }
    return left;
  }
  /// Returns true if a sibling does not let the group list these CPUs as exclusive.
  [[nodiscard]] static bool conflicts(const Dir& dir, const CpuSet& exclusive) {
    const auto& siblings = dir.parent->children;
    return std::any_of(siblings.begin(), siblings.end(), [&](const auto& entry) {
      if (entry.second.get() == &dir) return false;
      const CpuSet cpus = own(*entry.second, kCpus);
      return own(*entry.second, ModelCpusets::kExclusive).intersects(exclusive) ||
             (!cpus.empty() && exclusive.contains_all(cpus));
    });
  }

  /// Returns the CPUs that partitions take from a valid one, or from the root.
  [[nodiscard]] CpuSet given(const Dir& dir) const {
    CpuSet cpus = dir.parent == nullptr ? remote_below(dir) : CpuSet{};
    for (const auto& [name, child] : dir.children) {
      if (is_valid(*child) && !child->is_remote) cpus |= child->granted;
    }
    return cpus;
  }
  [[nodiscard]] CpuSet remote_below(const Dir& dir) const {
    CpuSet cpus;
    for (const auto& [name, child] : dir.children) {
      cpus |= child->is_remote ? child->granted : remote_below(*child);
    }
    return cpus;
  }

  /// Returns true if a process would have no CPU when the partition has these.
  [[nodiscard]] bool starves(const Dir& dir, const CpuSet& cpus) const {
    const Dir& parent = *dir.parent;
    return (cpus.contains_all(effective(parent)) && ModelCpusets::is_in_use(parent, &dir)) ||
           (!cpus.intersects(kernel_.cpus) && ModelCpusets::is_in_use(dir));
  }
  /// Returns true if the root can give these CPUs to a remote partition, besides those that it has.
  [[nodiscard]] bool can_add(const Dir& dir, const CpuSet& cpus) const {
    const CpuSet added = cpus - dir.granted;
    return added.empty() ||
           (!added.contains_all(effective(kernel_.root)) && !added.intersects(given(kernel_.root)));
  }

  void lose(Dir& dir, const std::string& reason) const {
    ModelCpusets::invalidate(dir, reason);
    dir.is_remote = false;
    dir.granted = {};
  }
  void gain(Dir& dir, const CpuSet& cpus) const {
    if (!remote_below(dir).empty()) leave_model("a partition begins above a remote one");
    dir.files[ModelCpusets::kPartition] = kind(dir);
    dir.is_remote = !is_valid(*dir.parent);
    dir.granted = cpus;
  }

  /// Makes a member or an invalid partition one of this kind, valid if possible.
  void begin(Dir& dir, const std::string& next) const {
    dir.granted = {};
    const CpuSet cpus = available(dir, asked(dir));
    const std::string problem = cannot_begin(dir, cpus);
    dir.files[ModelCpusets::kPartition] =
        problem.empty() ? next : next + " invalid (" + problem + ")";
    if (problem.empty()) gain(dir, cpus);
  }
  [[nodiscard]] std::string cannot_begin(const Dir& dir, const CpuSet& cpus) const {
    if (asked(dir).empty()) return "cpuset.cpus and cpuset.cpus.exclusive are empty";
    const bool is_at_top = dir.parent->parent == nullptr;
    if (is_at_top && own(dir, ModelCpusets::kExclusive).intersects(given(kernel_.root))) {
      return "Have remote partition underneath";
    }
    if (cpus.empty()) return kInvalidCpus;
    if (is_valid(*dir.parent)) return starves(dir, cpus) ? kNoCpus : "";
    if (!cpus.intersects(kernel_.cpus)) return kInvalidCpus;
    return can_add(dir, cpus) ? "" : kNoCpus;
  }

  /// Updates a group that asks for other CPUs, and the groups below it.
  void change(Dir& dir) const {
    const bool can_be_valid = is_valid(dir) || is_valid(*dir.parent);
    if (kind(dir) != "member" && can_be_valid) {
      if (dir.is_remote && own(dir, ModelCpusets::kExclusive).empty()) leave_model(kNoExclusive);
      const CpuSet cpus = available(dir, asked(dir));
      if (cpus.empty()) {
        lose(dir, kInvalidCpus);
      } else if (starves(dir, cpus) || (dir.is_remote && !can_add(dir, cpus))) {
        lose(dir, kNoCpus);
      } else {
        gain(dir, cpus);
      }
    }
    settle(dir);
  }

  /// Updates the partitions below a group after its state or CPUs changed.
  void settle(Dir& dir) const {
    if (!is_valid(dir)) {
      dir.granted = {};
    } else {
      invalidate_below(dir);
      if (!dir.is_remote && effective(dir).empty() && starves(dir, asked(dir))) lose(dir, kNoCpus);
    }
    for (const auto& [name, child] : dir.children) settle_child(*child);
  }
  void settle_child(Dir& dir) const {
    if (dir.is_remote) {
      const CpuSet cpus = available(dir, asked(dir));
      if (cpus == dir.granted) return;
      if (cpus.empty() || !can_add(dir, cpus)) {
        lose(dir, kInvalidCpus);
      } else {
        dir.granted = cpus;
      }
    } else if (kind(dir) != "member" && !is_valid(*dir.parent)) {
      lose(dir, why_not_below(*dir.parent));
    } else if (kind(dir) != "member") {
      const CpuSet before = effective(dir);
      const bool was_valid = is_valid(dir);
      retry(dir);
      if (!was_valid && is_valid(dir) && effective(dir) != before) {
        leave_model("a partition is valid again with other CPUs than it had as an ordinary group");
      }
    }
    settle(dir);
  }
  [[nodiscard]] static std::string why_not_below(const Dir& parent) {
    return kind(parent) == "member" ? "Parent is not a partition root"
                                    : "Parent is an invalid partition root";
  }

  /// Invalidates the partitions that a valid one can no longer have below it. They keep what they
  /// were granted until they settle: after a CPU is online again they are valid again.
  void invalidate_below(Dir& dir) const {
    if (available(dir, asked(dir)) != dir.granted) {
      leave_model("a partition asks for a CPU that a sibling has left since");
    }
    const bool is_used = ModelCpusets::is_in_use(dir);
    CpuSet left = dir.granted & kernel_.cpus;
    for (const auto& [name, child] : dir.children) {
      if (!is_valid(*child)) continue;
      if (!dir.granted.contains_all(child->granted)) {
        ModelCpusets::invalidate(*child, kInvalidCpus);
      } else if (is_used && child->granted.contains_all(left)) {
        ModelCpusets::invalidate(*child, kNoCpus);
      } else {
        left -= child->granted;
      }
    }
  }

  /// Makes a partition below a valid one valid or invalid, for the CPUs that it asks for.
  void retry(Dir& dir) const {
    const CpuSet cpus = asked(dir);
    if (cpus.empty()) return;
    if (starves(dir, cpus)) {
      ModelCpusets::invalidate(dir, kNoCpus);
    } else if (!is_valid(dir) && !owned(*dir.parent).contains_all(cpus)) {
      leave_model("an invalid partition asks for CPUs that its parent does not own");
    } else if (!is_valid(dir) && !sibling_asks_for(dir, cpus)) {
      gain(dir, cpus);
    }
  }
  [[nodiscard]] static bool sibling_asks_for(const Dir& dir, const CpuSet& cpus) {
    const auto& siblings = dir.parent->children;
    return std::any_of(siblings.begin(), siblings.end(), [&](const auto& entry) {
      return entry.second.get() != &dir && asked(*entry.second).intersects(cpus);
    });
  }

  void settle_hotplug(Dir& dir) const {
    const Dir& parent = *dir.parent;
    if (is_valid(dir)) {
      invalidate_below(dir);
      if (dir.is_remote && effective(dir).empty() && ModelCpusets::is_in_use(dir)) {
        lose(dir, kHotplug);
      } else if (!dir.is_remote && (!is_valid(parent) || starves(dir, effective(dir)))) {
        ModelCpusets::invalidate(dir, kHotplug);
        const CpuSet online = asked(dir) & owned(parent) & kernel_.cpus;
        if (effective(dir) != (online.empty() ? effective(parent) : online)) {
          leave_model("a partition lost its last CPU and asks for others than it lists");
        }
      }
    } else if (kind(dir) != "member" && is_valid(parent) && !owned(dir).empty()) {
      retry(dir);
    }
    for (const auto& [name, child] : dir.children) settle_hotplug(*child);
  }

  /// Marks the end of the model: from here on Linux 7.2 has effective CPUs that it does not update,
  /// or a partition whose CPUs another group has as well.
  void leave_model(const std::string& why) const {
    if (kernel_.beyond_model.empty()) kernel_.beyond_model = why;
  }

  const ModelKernel& kernel_;
};

}  // namespace pinfold::test
