// How it works. The planner builds the steps phase by phase, in the order of run(), and keeps
// `now_`: the layout that results from the steps so far. The phases that take CPUs away (remove,
// shrink) all come before those that give CPUs (create, grow), so at no point is an exclusive CPU
// in the set of two containers.
//
// A container that stays is first reduced to what it has both before and after. If that is nothing
// it is a "mover": it waits on `parking_`, the CPUs that are exclusive in neither layout. If there
// are none, move_unblocked() looks for movers whose new CPUs are already free and moves these
// directly, which can free the CPUs of others; if some are left, there is no plan.
//
// Invariants, after every step: no CPU that is exclusive in either layout is in the set of another
// container, and no foreign group is on the CPUs that a container gains if the pool has a free CPU
// for it; a pod's set contains its containers' sets (cgroup v1), so a pod is widened before a
// container and reduced after it. If neither layout has exclusive CPUs, new groups get their final
// CPUs at once.
//
// Pods that are the same in both layouts need no step and are left out first, unless foreign groups
// have to be placed around all containers.
//
// Cost for g groups that change: O(g log g) set operations, and one comparison of all groups;
// without parking CPUs, m movers add O(m^2 * g) in the worst case.

#include "pinfold/enforce/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>

namespace pinfold::enforce {
namespace {

constexpr std::string_view kQuotaV1 = "cpu.cfs_quota_us";
constexpr std::string_view kPeriodV1 = "cpu.cfs_period_us";

/// Returns the CPUs that are exclusive to a container or a pod.
CpuSet exclusive_cpus(const Layout& layout) {
  CpuSet all;
  for (const auto& [name, group] : layout) {
    if (!name.is_pod() && group.isolation != Isolation::kHost) all |= group.cpus;
  }
  return all;
}

Layout::const_iterator end_of_pod(const Layout& layout, Layout::const_iterator group) {
  return std::find_if(group, layout.end(),
                      [&](const auto& other) { return other.first.pod != group->first.pod; });
}

/// Leaves out pods that are complete and the same in both layouts.
std::pair<Layout, Layout> changed_pods(const Layout& before, const Layout& after) {
  std::pair<Layout, Layout> changed;
  const auto is_same = [](const auto& one, const auto& other) {
    return one == other && one.second.is_complete;
  };
  auto old = before.begin();
  auto next = after.begin();
  while (old != before.end() || next != after.end()) {
    const bool is_gone =
        next == after.end() || (old != before.end() && old->first.pod < next->first.pod);
    const bool is_new = !is_gone && (old == before.end() || next->first.pod < old->first.pod);
    const auto old_end = is_new ? old : end_of_pod(before, old);
    const auto next_end = is_gone ? next : end_of_pod(after, next);
    if (!std::equal(old, old_end, next, next_end, is_same)) {
      changed.first.insert(old, old_end);
      changed.second.insert(next, next_end);
    }
    old = old_end;
    next = next_end;
  }
  return changed;
}

class Planner {
 public:
  /// `exclusive`: CPUs that are exclusive before or after, also those of pods left out.
  Planner(const Layout& before, const Layout& after, CpuSet exclusive, const CpuSet& machine,
          const ForeignGroups& foreign)
      : before_(before),
        after_(after),
        machine_(machine),
        exclusive_(std::move(exclusive)),
        parking_(parking_in(machine - exclusive_, foreign.lost)),
        now_(before),
        foreign_(foreign),
        foreign_now_(foreign.groups) {}

  Result<Plan> run() {
    remove_gone();
    complete();
    shrink_containers();
    confine_foreign(exclusive_ | foreign_.exclusive);
    PINFOLD_TRY(park_movers());
    shrink_pods();
    PINFOLD_TRY(create_new());
    set_mems();
    grow();
    follow_pool();
    verify();
    set_values();
    return std::move(plan_);
  }

 private:
  using Entry = std::pair<const GroupName, GroupSettings>;

  /// Leaves out CPUs that some group cannot have, unless there are no others.
  [[nodiscard]] static CpuSet parking_in(const CpuSet& free, const CpuSet& lost) {
    const CpuSet left = free - lost;
    return left.empty() ? free : left;
  }

  [[nodiscard]] const CpuSet& resolved(const CpuSet& set) const {
    return set.empty() ? machine_ : set;
  }
  [[nodiscard]] bool is_new(const GroupName& name) const { return !before_.contains(name); }

  void add(Step step) {
    apply_to(now_, step);
    plan_.push_back(std::move(step));
  }
  void set_cpus(const GroupName& name, const CpuSet& cpus) {
    if (now_.at(name).cpus == cpus) return;
    if (!name.is_pod()) {
      confine_foreign((cpus & owned(after_, name)) - owned(before_, name));
      make_room_around(name, cpus);
    }
    add({Step::Kind::kCpus, name, cpus, "", ""});
    changed_.insert(name);
  }

  /// Returns a container's exclusive CPUs; empty if it has none.
  [[nodiscard]] static CpuSet owned(const Layout& layout, const GroupName& name) {
    const auto found = layout.find(name);
    const bool has_some = found != layout.end() && found->second.isolation != Isolation::kHost;
    return has_some ? found->second.cpus : CpuSet();
  }

  /// Returns the CPUs of the nearest group above a foreign one.
  [[nodiscard]] std::optional<CpuSet> above(const ForeignGroup& foreign) const {
    const std::string& directory = foreign.directory;
    const auto is_above = [&](const ForeignGroup& other) {
      return directory.starts_with(other.directory + "/");
    };
    // The nearest one is the last in order.
    const auto found = std::find_if(foreign_now_.rbegin(), foreign_now_.rend(), is_above);
    return found == foreign_now_.rend() ? foreign.above : found->cpus;
  }

  /// Returns the CPUs that a foreign group gets: those of `chosen` that are `free`, or all that are
  /// free if there are none. cgroup v1 refuses CPUs that the group above lacks, and v2 gives a
  /// group with none of the CPUs above it all of them; so if the group above has none that are
  /// free, it gets CPUs that are exclusive to no container. On v1 it keeps the CPUs of the
  /// containers in it, unless these were lost with the CPUs of the group above.
  [[nodiscard]] CpuSet place_of(const ForeignGroup& foreign, const CpuSet& chosen,
                                const CpuSet& free) const {
    CpuSet room = free;
    const auto has = above(foreign);
    if (has && (foreign_.is_v1 || !has->intersects(free))) {
      room &= *has;
      if (room.empty()) room = *has - exclusive_ - foreign_.exclusive;
      if (room.empty()) room = free;
    }
    CpuSet place = chosen & room;
    if (place.empty()) place = room;
    if (!foreign_.is_v1) return place;
    for (const GroupName& name : foreign.inside) {
      const auto inside = now_.find(name);
      if (inside == now_.end()) continue;
      place |= has ? inside->second.cpus & *has : inside->second.cpus;
    }
    return place;
  }

  /// Moves foreign groups off these CPUs, to CPUs of the pool that no container has exclusively at
  /// this point. If there are none, they stay where they are.
  void confine_foreign(const CpuSet& cpus) {
    if (cpus.empty() || foreign_now_.empty()) return;
    CpuSet free = foreign_.pool - cpus - foreign_.exclusive;
    for (const auto& [name, group] : now_) {
      if (!name.is_pod()) free -= group.cpus & (owned(before_, name) | owned(after_, name));
    }
    if (free.empty()) return;
    // Those inside first: on cgroup v1 a group must have the CPUs of the groups in it.
    for (auto foreign = foreign_now_.rbegin(); foreign != foreign_now_.rend(); ++foreign) {
      const CpuSet reach = foreign->reach(machine_);
      if (foreign->is_own || !reach.intersects(cpus)) continue;
      CpuSet place = place_of(*foreign, reach, free);
      if (place == reach) continue;
      if (!foreign->before) foreign->before = foreign->chosen;
      move_foreign(Step::Kind::kConfine, *foreign, std::move(place));
    }
  }

  /// Gives confined groups around a container its CPUs: cgroup v1 gives no group what the one above
  /// it lacks.
  void make_room_around(const GroupName& name, const CpuSet& cpus) {
    if (!foreign_.is_v1) return;
    for (ForeignGroup& foreign : foreign_now_) {  // the outer ones first
      const auto& inside = foreign.inside;
      const bool is_around = std::find(inside.begin(), inside.end(), name) != inside.end();
      if (!is_around || !foreign.before) continue;
      const auto has = above(foreign);
      const CpuSet room = foreign.chosen | (has ? cpus & *has : cpus);
      if (room == foreign.chosen) continue;
      move_foreign(Step::Kind::kFollow, foreign, room);
    }
  }

  void follow_pool() {
    if (foreign_.pool.empty()) return;
    for (ForeignGroup& foreign : foreign_now_) {
      if (!foreign.before) continue;
      CpuSet place = place_of(foreign, *foreign.before, foreign_.pool);
      if (place == foreign.chosen) continue;
      move_foreign(Step::Kind::kFollow, foreign, std::move(place));
    }
  }

  void move_foreign(Step::Kind kind, ForeignGroup& foreign, CpuSet cpus) {
    const bool kills = kind == Step::Kind::kConfine && foreign.kills;
    plan_.push_back({kind, {}, cpus, "", "", foreign.directory, kills});
    foreign.cpus = foreign.chosen = std::move(cpus);
  }

  void remove_gone() {
    for (const bool pods : {false, true}) {  // containers before their pods
      for (const auto& [name, group] : before_) {
        if (name.is_pod() == pods && !after_.contains(name)) {
          add({Step::Kind::kRemove, name, {}, "", ""});
        }
      }
    }
  }

  /// Completes groups that exist only in part; their sets do not change.
  void complete() {
    for (const auto& [name, group] : after_) {
      if (is_new(name) || before_.at(name).is_complete) continue;
      add({Step::Kind::kCreate, name, {}, "", ""});
    }
  }

  /// Reduces every container that stays to the CPUs that it has both before and after. Containers
  /// that stay in the shared pool come first: they may be running on CPUs that become exclusive.
  void shrink_containers() {
    for (const bool shared : {true, false}) {
      for (const auto& [name, group] : after_) {
        if (name.is_pod() || is_new(name)) continue;
        const GroupSettings& old = before_.at(name);
        const bool stays_shared =
            old.isolation == Isolation::kHost && group.isolation == Isolation::kHost;
        if (stays_shared != shared) continue;
        const CpuSet& had = resolved(old.cpus);
        const CpuSet& gets = resolved(group.cpus);
        if (gets.contains_all(had)) continue;
        CpuSet keeps = had & gets;
        if (keeps.empty()) {
          movers_.push_back(name);
        } else {
          widen_pod(name, keeps);  // only if another program has narrowed the pod
          set_cpus(name, keeps == gets ? group.cpus : keeps);
        }
      }
    }
  }

  [[nodiscard]] Result<void> need_parking(const GroupName& name) const {
    if (!parking_.empty()) return {};
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("every CPU of '{}' is exclusive to a container, so '{}' cannot get its "
                            "CPUs without an overlap: reserve at least one CPU",
                            machine_.to_string(), to_string(name)));
  }

  /// Widens the pod's set until it contains `cpus`. A pod whose containers are all adopted has no
  /// group.
  void widen_pod(const GroupName& name, const CpuSet& cpus) {
    const auto pod = now_.find(name.parent());
    if (pod == now_.end()) return;
    const CpuSet& has = pod->second.cpus;
    if (!has.empty() && !has.contains_all(cpus)) set_cpus(pod->first, has | cpus);
  }

  /// Returns true if another container has yet to leave CPUs that `name` will get, and one of the
  /// two is exclusive.
  [[nodiscard]] bool is_blocked(const GroupName& name) const {
    const auto is_exclusive = [this](const GroupName& group) {
      return before_.at(group).isolation != Isolation::kHost ||
             after_.at(group).isolation != Isolation::kHost;
    };
    const CpuSet& gets = resolved(after_.at(name).cpus);
    return std::any_of(now_.begin(), now_.end(), [&](const Entry& other) {
      if (other.first.is_pod() || other.first == name) return false;
      if (!is_exclusive(name) && !is_exclusive(other.first)) return false;
      return (resolved(other.second.cpus) - resolved(after_.at(other.first).cpus)).intersects(gets);
    });
  }

  /// If there are no CPUs to wait on: moves each container as soon as its CPUs are free, which can
  /// free the CPUs of others.
  void move_unblocked() {
    for (bool has_moved = true; has_moved;) {
      has_moved = std::erase_if(movers_, [this](const GroupName& name) {
                    if (is_blocked(name)) return false;
                    widen_pod(name, resolved(after_.at(name).cpus));
                    set_cpus(name, after_.at(name).cpus);
                    return true;
                  }) > 0;
    }
  }

  [[nodiscard]] Result<void> park_movers() {
    if (parking_.empty()) move_unblocked();
    for (const GroupName& name : movers_) {
      PINFOLD_TRY(need_parking(name));
      widen_pod(name, parking_);
      set_cpus(name, parking_);
    }
    return {};
  }

  /// Removes from each pod the CPUs that its containers have left, for processes in the pod's own
  /// group.
  void shrink_pods() {
    for (const auto& [pod, group] : after_) {
      if (!pod.is_pod() || is_new(pod)) continue;
      CpuSet used;
      for (auto it = std::next(now_.find(pod)); it != now_.end() && it->first.parent() == pod;
           ++it) {
        used |= resolved(it->second.cpus);
      }
      const CpuSet& has = resolved(now_.at(pod).cpus);
      CpuSet keeps = has & (used.empty() ? resolved(group.cpus) : used);
      if (keeps != has && !keeps.empty()) set_cpus(pod, keeps);
    }
  }

  [[nodiscard]] Result<void> create_new() {
    for (const auto& [name, group] : after_) {  // pods before their containers
      if (!is_new(name)) continue;
      CpuSet start = group.cpus;
      if (!exclusive_.empty()) {
        PINFOLD_TRY(need_parking(name));
        start = parking_;
      }
      if (!name.is_pod()) widen_pod(name, start);
      add({Step::Kind::kCreate, name, {}, "", ""});
      // Always written: on cgroup v1 a new group has no CPUs at all.
      add({Step::Kind::kCpus, name, start, "", ""});
      changed_.insert(name);
    }
    return {};
  }

  /// A pod's memory nodes must contain its containers': writes the pod's union, then the
  /// containers, then the pod's final set.
  void set_mems() {
    const auto set = [this](const GroupName& name, const NodeSet& mems, bool always) {
      if (always || now_.at(name).mems != mems) add({Step::Kind::kMems, name, mems, "", ""});
    };
    for (const auto& [name, group] : after_) {
      if (!name.is_pod()) {
        set(name, group.mems, is_new(name));
        continue;
      }
      const NodeSet& has = now_.at(name).mems;
      if (is_new(name)) {
        set(name, group.mems, true);
      } else if (!has.empty()) {
        set(name, group.mems.empty() ? NodeSet{} : has | group.mems, false);
      }
    }
    for (const auto& [name, group] : after_) {
      if (name.is_pod()) set(name, group.mems, false);
    }
  }

  void set_values() {
    // On cgroup v1 a container's quota must fit into its pod's, so a pod whose quota changes has no
    // limit until its containers have theirs.
    for (const bool pods : {false, true}) {
      for (const auto& [name, group] : after_) {
        if (name.is_pod() && !pods && !is_new(name)) lift_quota(name, group.values);
      }
      for (const auto& [name, group] : after_) {
        if (name.is_pod() != pods) continue;
        lift_quota(name, group.values);
        for (const auto& [file, value] : group.values) {
          const Values& has = now_.at(name).values;
          const auto it = has.find(file);
          if (it != has.end() && it->second == value) continue;
          add({Step::Kind::kValue, name, {}, file, value});
        }
      }
    }
  }

  /// cgroup v1 keeps quota and period in two files and checks their ratio at each write, so the
  /// limit is lifted before either changes.
  void lift_quota(const GroupName& name, const Values& desired) {
    const Values& has = now_.at(name).values;
    const auto quota = has.find(std::string(kQuotaV1));
    if (quota == has.end() || quota->second == "-1") return;
    for (const std::string_view file : {kQuotaV1, kPeriodV1}) {
      const auto is = has.find(std::string(file));
      const auto should = desired.find(std::string(file));
      if (should == desired.end() || (is != has.end() && is->second == should->second)) continue;
      add({Step::Kind::kValue, name, {}, std::string(kQuotaV1), "-1"});
      return;
    }
  }

  void grow() {
    for (const auto& [name, group] : after_) {
      if (!name.is_pod()) continue;
      if (group.cpus.empty()) {
        set_cpus(name, {});
      } else {
        widen_pod(name, group.cpus);
      }
    }
    for (const auto& [name, group] : after_) {
      if (!name.is_pod()) set_cpus(name, group.cpus);
    }
    for (const auto& [name, group] : after_) {
      if (name.is_pod()) set_cpus(name, group.cpus);
    }
  }

  void verify() {
    for (const GroupName& name : changed_) {
      if (name.is_pod()) continue;
      add({Step::Kind::kVerify, name, resolved(after_.at(name).cpus), "", ""});
    }
  }

  const Layout& before_;
  const Layout& after_;
  const CpuSet& machine_;
  const CpuSet exclusive_;  ///< before or after
  const CpuSet parking_;    ///< CPUs that are exclusive neither before nor after
  Layout now_;
  const ForeignGroups& foreign_;
  std::vector<ForeignGroup> foreign_now_;  ///< after the steps so far
  Plan plan_;
  std::vector<GroupName> movers_;
  std::set<GroupName> changed_;
};

}  // namespace

Result<Plan> plan(const Layout& before, const Layout& after, const CpuSet& machine,
                  const ForeignGroups& foreign) {
  CpuSet exclusive = exclusive_cpus(before) | exclusive_cpus(after);
  if (!foreign.groups.empty()) {
    return Planner(before, after, std::move(exclusive), machine, foreign).run();
  }
  const auto [from, to] = changed_pods(before, after);
  return Planner(from, to, std::move(exclusive), machine, foreign).run();
}

void apply_to(Layout& layout, const Step& step) {
  switch (step.kind) {
    case Step::Kind::kRemove:
      layout.erase(step.group);
      break;
    case Step::Kind::kCreate:
      layout[step.group].is_complete = true;
      break;
    case Step::Kind::kCpus:
      layout[step.group].cpus = step.set;
      break;
    case Step::Kind::kMems:
      layout[step.group].mems = step.set;
      break;
    case Step::Kind::kValue:
      layout[step.group].values.insert_or_assign(step.file, step.value);
      break;
    case Step::Kind::kVerify:
    case Step::Kind::kConfine:
    case Step::Kind::kFollow:
      break;
  }
}

std::string to_string(const Step& step) {
  std::string group = to_string(step.group);
  const std::string set = step.set.empty() ? "(as its parent)" : step.set.to_string();
  switch (step.kind) {
    case Step::Kind::kRemove:
      return group + ": remove";
    case Step::Kind::kCreate:
      return group + ": create";
    case Step::Kind::kCpus:
      return group + ": cpuset.cpus := " + set;
    case Step::Kind::kMems:
      return group + ": cpuset.mems := " + set;
    case Step::Kind::kValue:
      return group + ": " + step.file + " := " + step.value;
    case Step::Kind::kVerify:
      return group + ": verify that it runs on " + set;
    case Step::Kind::kConfine:
    case Step::Kind::kFollow:
      return fmt::format("'{}': cpuset.cpus := {}", step.directory, set);
  }
  return group;
}

std::ostream& operator<<(std::ostream& out, const Step& step) { return out << to_string(step); }

}  // namespace pinfold::enforce
