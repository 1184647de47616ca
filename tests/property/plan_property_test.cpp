#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <sstream>

#include "../support/model_kernel.hpp"
#include "pinfold/agent/desired.hpp"
#include "pinfold/enforce/apply_plan.hpp"
#include "pinfold/enforce/drift.hpp"
#include "pinfold/enforce/plan.hpp"

namespace pinfold::enforce {
namespace {

using test::ModelKernel;

constexpr int kCpus = 12;

/// A node that assigns CPUs more wildly than the CPU manager: the lowest free CPUs from a rotating
/// start, and sets moved at random.
struct RandomNode {
  struct Member {
    int count = 0;  ///< exclusive CPUs; 0: shared
    CpuSet cpus;
    Isolation isolation = Isolation::kHost;
  };
  struct Pod {
    std::map<std::string, Member> members;
    CpuSet mems;
  };
  std::map<PodUid, Pod> pods;
  int next_pod = 0;
  int start = 0;

  [[nodiscard]] CpuSet used() const {
    CpuSet all;
    for (const auto& [uid, pod] : pods) {
      for (const auto& [name, member] : pod.members) all |= member.cpus;
    }
    return all;
  }
  [[nodiscard]] CpuSet take(int count, const CpuSet& but = {}) const {  // CPU 0 is reserved
    CpuSet taken;
    const CpuSet busy = used() | but;
    for (int i = 0; i < kCpus - 1 && std::ssize(taken) < count; ++i) {
      const CpuId cpu{1 + (start + i) % (kCpus - 1)};
      if (!busy.contains(cpu)) taken.insert(cpu);
    }
    return std::ssize(taken) == count ? taken : CpuSet{};
  }

  void admit(int shape) {
    constexpr std::size_t kMaxPods = 6;  // enough for every combination of neighbours, and fast
    if (pods.size() == kMaxPods) return;
    Pod pod;
    const PodUid uid("p" + std::to_string(next_pod++));
    pod.mems = shape % 5 == 0 ? CpuSet{} : shape % 2 == 0 ? CpuSet{0} : CpuSet{0, 1};
    if (shape % 7 == 0) {  // pod-level resources: one exclusive container, two share the rest
      const CpuSet all = take(3);
      if (all.empty()) return;
      const CpuSet one = CpuSet::of(all.first());
      pod.members["own"] = {1, one, Isolation::kContainer};
      pod.members["left"] = {0, all - one, Isolation::kPod};
      pod.members["right"] = {0, all - one, Isolation::kPod};
    } else {
      CpuSet taken;
      for (int i = 0; i <= shape % 3; ++i) {
        Member member;
        member.count = (shape / (i + 1)) % 4;
        member.cpus = take(member.count, taken);
        taken |= member.cpus;
        if (!member.cpus.empty()) member.isolation = Isolation::kContainer;
        pod.members["c" + std::to_string(i)] = member;
      }
    }
    pods[uid] = std::move(pod);
  }
  void remove_pod(int which) {
    if (!pods.empty()) pods.erase(std::next(pods.begin(), which % std::ssize(pods)));
  }
  void remove_container(int which) {
    if (pods.empty()) return;
    auto& members = std::next(pods.begin(), which % std::ssize(pods))->second.members;
    if (!members.empty()) members.erase(members.begin());
  }
  /// Gives every container with exclusive CPUs different ones, like a re-admission with another
  /// configuration.
  void shuffle(int by) {
    start += by;
    std::vector<Member*> owners;
    for (auto& [uid, pod] : pods) {
      for (auto& [name, member] : pod.members) {
        if (name.starts_with('c') && !member.cpus.empty()) owners.push_back(&member);
      }
    }
    for (Member* owner : owners) owner->cpus.clear();
    for (Member* owner : owners) {
      owner->cpus = take(owner->count);
      if (owner->cpus.empty()) owner->isolation = Isolation::kHost;
    }
  }

  [[nodiscard]] Layout layout() const {
    Layout out;
    const CpuSet pool = CpuSet::range(0, kCpus - 1) - used();
    for (const auto& [uid, pod] : pods) {
      GroupSettings own;
      for (const auto& [name, member] : pod.members) {
        GroupSettings group;
        group.isolation = member.cpus.empty() ? Isolation::kHost : member.isolation;
        group.cpus = member.cpus.empty() ? pool : member.cpus;
        group.mems = pod.mems;
        group.values["cpu.weight"] = std::to_string(1 + member.count);
        own.cpus |= group.cpus;
        out[{uid, name}] = group;
      }
      if (pod.members.empty()) own.cpus = pool;
      own.mems = pod.mems;
      own.values["cpu.weight"] = "7";
      out[{uid, ""}] = own;
    }
    return out;
  }
};

CpuSet cpus_in(const Layout& layout, const GroupName& name) {
  const auto it = layout.find(name);
  return it == layout.end() ? CpuSet{} : it->second.cpus;
}

/// The exclusive CPUs of a container.
CpuSet owned(const Layout& layout, const GroupName& name) {
  const auto it = layout.find(name);
  return it == layout.end() || it->second.isolation == Isolation::kHost ? CpuSet{}
                                                                        : it->second.cpus;
}

CpuSet exclusive(const Layout& layout) {
  CpuSet all;
  for (const auto& [name, group] : layout) {
    if (!name.is_pod() && group.isolation != Isolation::kHost) all |= group.cpus;
  }
  return all;
}

using Running = std::map<GroupName, CpuSet>;

/// Returns where processes of the containers can run. `has_failures`: a group without a set has its
/// pod's CPUs and no process.
Running running(ModelKernel& kernel, bool has_failures = false) {
  Running effective;
  for (const auto& [pod, dir] : kernel.root.children) {
    for (const auto& [name, child] : dir->children) {
      // cgroup v1: making the group was interrupted, and no process can be in it.
      if (kernel.effective(*child, "cpuset.mems").empty()) continue;
      if (has_failures && child->files["cpuset.cpus"].empty()) continue;
      effective[{PodUid(pod.substr(3)), name}] = kernel.effective(*child, "cpuset.cpus");
    }
  }
  return effective;
}

/// Returns CPUs that two containers share in the kernel, although they are exclusive in one of the
/// layouts and neither layout lets these two share them; "" if there are none. `start`: the state
/// before steps that can fail. The steps need not end earlier sharing, and two containers may share
/// the CPUs of a third one that was not created.
std::string overlaps(ModelKernel& kernel, const Layout& before, const Layout& after,
                     const Running* start = nullptr) {
  const CpuSet precious = exclusive(before) | exclusive(after);
  const Running effective = running(kernel, start != nullptr);
  std::ostringstream out;
  for (auto a = effective.begin(); a != effective.end(); ++a) {
    for (auto b = std::next(a); b != effective.end(); ++b) {
      CpuSet shared = a->second & b->second & precious;
      if (start != nullptr) {
        shared = shared & (owned(before, a->first) | owned(after, a->first) |
                           owned(before, b->first) | owned(after, b->first));
        const auto at_start = [&](const GroupName& name) {
          const auto found = start->find(name);
          return found == start->end() ? CpuSet{} : found->second;
        };
        shared -= at_start(a->first) & at_start(b->first);
      }
      shared -= cpus_in(before, a->first) & cpus_in(before, b->first);
      shared -= cpus_in(after, a->first) & cpus_in(after, b->first);
      if (!shared.empty()) out << a->first << " and " << b->first << " share " << shared << "; ";
    }
  }
  return out.str();
}

/// Applies one change to a node; kind 2 is a removal and an admission at once.
void happen(RandomNode& node, int kind, int detail) {
  if (kind <= 2) node.admit(detail);
  if (kind == 2 || kind == 3) node.remove_pod(detail);
  if (kind == 4) node.remove_container(detail);
  if (kind == 5) node.shuffle(detail);
}

std::string difference(const Layout& desired, const Layout& observed) {
  std::ostringstream out;
  for (const auto& [name, group] : desired) {
    const auto has = observed.find(name);
    if (has != observed.end() && has->second == group) continue;
    out << "desired " << name << ": " << group << '\n';
    if (has != observed.end()) out << "   has " << name << ": " << has->second << '\n';
  }
  for (const auto& [name, group] : observed) {
    if (!desired.contains(name)) out << "too much: " << name << '\n';
  }
  return out.str();
}

/// What happens to a node: see happen().
std::vector<std::pair<int, int>> random_events() {
  return *rc::gen::resize(30, rc::gen::container<std::vector<std::pair<int, int>>>(
                                  rc::gen::pair(rc::gen::resize(100, rc::gen::inRange(0, 6)),
                                                rc::gen::resize(100, rc::gen::inRange(0, 64)))));
}

void check_sequence(CgroupVersion version) {
  ModelKernel kernel(version, CpuSet::range(0, kCpus - 1), CpuSet{0, 1});
  Cgroups cgroups = kernel.cgroups();
  RandomNode node;
  Layout before;
  const auto events = random_events();
  for (const auto& [kind, detail] : events) {
    happen(node, kind, detail);
    Layout after = node.layout();
    if (version == CgroupVersion::kV1) {
      for (auto& [name, group] : after) group.values.clear();
    }
    const auto steps = plan(before, after, kernel.cpus);
    RC_ASSERT(steps.has_value());
    std::ostringstream done;
    for (const Step& step : *steps) {
      done << step << '\n';
      const auto applied = cgroups.apply(step);
      if (!applied) RC_FAIL(done.str() + applied.error().message);
      const std::string overlap = overlaps(kernel, before, after);
      if (!overlap.empty()) RC_FAIL(done.str() + overlap);
    }
    const auto observed = cgroups.observe(after);
    RC_ASSERT(observed.has_value());
    if (*observed != after) RC_FAIL(done.str() + difference(after, *observed));
    RC_ASSERT(plan(*observed, after, kernel.cpus).value() == Plan{});
    before = after;
  }
}

TEST(PlanProperty, NoPrefixOverlapsOnCgroupV2) {
  EXPECT_TRUE(rc::check([] { check_sequence(CgroupVersion::kV2); }));
}

TEST(PlanProperty, NoPrefixOverlapsOnCgroupV1) {
  EXPECT_TRUE(rc::check([] { check_sequence(CgroupVersion::kV1); }));
}

/// Returns whether a step failed for this group or for its pod.
bool is_named(const PlanResult& result, const GroupName& name) {
  return std::any_of(result.failed.begin(), result.failed.end(), [&name](const FailedStep& failed) {
    return failed.step.group == name || failed.step.group == name.parent();
  });
}

/// Any steps of a plan can fail: there is still no overlap after any step, and each difference from
/// the desired state is named. The next plan, without failures, corrects everything.
void check_failures(CgroupVersion version) {
  ModelKernel kernel(version, CpuSet::range(0, kCpus - 1), CpuSet{0, 1});
  Cgroups cgroups = kernel.cgroups();
  RandomNode node;
  Layout before;
  const auto events = random_events();
  const auto fates = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<int>>(rc::gen::resize(100, rc::gen::inRange(0, 6))));
  std::size_t access = 0;
  for (const auto& [kind, detail] : events) {
    happen(node, kind, detail);
    Layout after = node.layout();
    if (version == CgroupVersion::kV1) {
      for (auto& [name, group] : after) group.values.clear();
    }
    kernel.fault = [&](const char* what, const std::string&, const std::string&) {
      return what != std::string("read") && fates[access++ % fates.size()] == 0 ? EIO : 0;
    };
    const Running start = running(kernel);
    std::ostringstream done;
    std::string overlap;
    const auto watch = [&](const Step& step, StepMoment moment) {
      done << (moment == StepMoment::kBefore ? "try " : "did ") << step << '\n';
      if (!overlap.empty()) return;
      overlap = overlaps(kernel, before, after, &start);
      if (!overlap.empty()) done << "  here: " << overlap << '\n';
    };
    const Plan steps = plan(before, after, kernel.cpus).value();
    const PlanResult result = apply_plan(cgroups, steps, before, after, kernel.cpus, watch);
    if (overlap.empty()) overlap = overlaps(kernel, before, after, &start);
    kernel.fault = nullptr;
    for (const FailedStep& failed : result.failed) done << failed.error.message << '\n';
    if (!overlap.empty()) RC_FAIL(done.str() + overlap);
    Layout observed = cgroups.observe(after).value();
    for (const auto& [name, group] : after) {
      const auto drift = drift_of(name, observed, after);
      if (!drift.empty() && !is_named(result, name)) RC_FAIL(done.str() + drift.front());
    }
    agent::mark_isolation(after, {}, observed);
    remove_leftovers(cgroups, observed, after);
    const Plan second = plan(observed, after, kernel.cpus).value();
    const auto failed = apply_plan(cgroups, second, observed, after, kernel.cpus).failed;
    if (!failed.empty()) RC_FAIL(done.str() + failed.front().error.message);
    observed = cgroups.observe(after).value();
    if (observed != after) RC_FAIL(done.str() + difference(after, observed));
    before = std::move(after);
  }
}

TEST(PlanProperty, NoFailuresOverlapOnCgroupV2) {
  EXPECT_TRUE(rc::check([] { check_failures(CgroupVersion::kV2); }));
}

TEST(PlanProperty, NoFailuresOverlapOnCgroupV1) {
  EXPECT_TRUE(rc::check([] { check_failures(CgroupVersion::kV1); }));
}

/// Changes groups without the agent's knowledge.
void damage(ModelKernel& kernel, const Layout& desired) {
  const auto blows = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 100), rc::gen::inRange(0, 1 << kCpus)));
  auto fs = kernel.fs();
  for (const auto& [which, bits] : blows) {
    if (desired.empty()) return;
    const GroupName name = std::next(desired.begin(), which % std::ssize(desired))->first;
    CpuSet cpus;
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      if (((bits >> cpu) & 1) != 0) cpus.insert(CpuId{cpu});
    }
    (void)fs->write(to_string(name), "cpuset.cpus", cpus.to_string());
    if (bits % 3 == 0) (void)fs->remove_group(to_string(name));
    if (bits % 5 == 0) (void)fs->make_group("podstray");
  }
}

/// After any damage to the groups, one plan from the observed layout reconciles everything.
void check_repair(CgroupVersion version) {
  ModelKernel kernel(version, CpuSet::range(0, kCpus - 1), CpuSet{0, 1});
  Cgroups cgroups = kernel.cgroups();
  RandomNode node;
  for (const int shape : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 64))) {
    node.admit(shape);
  }
  Layout desired = node.layout();
  if (version == CgroupVersion::kV1) {
    for (auto& [name, group] : desired) group.values.clear();
  }
  const Plan placing = plan({}, desired, kernel.cpus).value();
  for (const Step& step : placing) RC_ASSERT(cgroups.apply(step).has_value());
  damage(kernel, desired);
  const auto observed = cgroups.observe(desired);
  RC_ASSERT(observed.has_value());
  std::ostringstream done;
  const Plan repair = plan(*observed, desired, kernel.cpus).value();
  for (const Step& step : repair) {
    done << step << '\n';
    const auto applied = cgroups.apply(step);
    if (!applied) RC_FAIL(done.str() + applied.error().message);
  }
  const auto repaired = cgroups.observe(desired).value();
  if (repaired != desired) RC_FAIL(done.str() + difference(desired, repaired));
  RC_ASSERT(overlaps(kernel, desired, desired).empty());
}

TEST(PlanProperty, RepairsAnyDriftOnCgroupV2) {
  EXPECT_TRUE(rc::check([] { check_repair(CgroupVersion::kV2); }));
}

TEST(PlanProperty, RepairsAnyDriftOnCgroupV1) {
  EXPECT_TRUE(rc::check([] { check_repair(CgroupVersion::kV1); }));
}

}  // namespace
}  // namespace pinfold::enforce
