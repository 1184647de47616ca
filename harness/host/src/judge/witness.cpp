#include "pinfold/harness/witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace pinfold::harness {
namespace {

constexpr double kNsOfMs = 1e6;

struct Interval {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

Interval common(const Interval& a, const Interval& b) {
  return {std::max(a.from, b.from), std::min(a.to, b.to)};
}

std::string cpus_text(const CpuSet& cpus) {
  return fmt::format("CPU{} {}", cpus.size() == 1 ? "" : "s", cpus.to_string());
}

/// How long a group ran where it should not have, and on which CPUs.
struct Trespass {
  std::int64_t ran = 0;
  CpuSet cpus;
};

class WitnessJudge {
 public:
  explicit WitnessJudge(const WitnessRecord& record) : record_(record) {
    for (const auto& run : record.runs) by_cpu_[run.cpu].push_back(&run);
    for (const auto& [group, lives] : record.lives) {
      const bool is_sandbox = std::any_of(lives.begin(), lives.end(), [](const auto& life) {
        return life.program == kSandboxProgram;
      });
      if (is_sandbox) sandboxes_.insert(group);
    }
  }

  /// Judges the time from one mark to the next.
  void judge(const ExclusiveCpus& before, const ExclusiveCpus& after, const Interval& time) {
    ExclusiveCpus all = before;
    for (const auto& [owner, cpus] : after) all[owner] |= cpus;
    for (const auto& [owner, cpus] : all) {
      const CpuSet had = cpus_of(before, owner);
      const CpuSet has = cpus_of(after, owner);
      if (!is_owner(owner, had, has, time)) continue;
      judge_owner(owner, had, has, time);
      // While its CPUs change, it may wait in the shared pool.
      if (had.empty() || had == has) check_homes(owner, has, all, time);
    }
  }

  /// Judges groups that keep their CPUs as long as they live.
  void judge_lasting(const ExclusiveCpus& lasting) {
    constexpr Interval kAlways = {0, INT64_MAX};
    for (const auto& [owner, cpus] : lasting) {
      for (const CpuId cpu : cpus) claim(owner, cpu.value, kAlways);
      check_homes(owner, cpus, lasting, kAlways);
    }
  }

  [[nodiscard]] WitnessFindings findings() const {
    WitnessFindings found;
    found.owners = owners_.size();
    found.by_sandboxes = by_sandboxes_;
    for (const auto& [who, trespass] : intruders_) {
      if (trespass.ran <= kWitnessTolerance) continue;
      found.intruders.push_back(fmt::format("{} ran {:.3f} ms on {} of {}", who.first,
                                            static_cast<double>(trespass.ran) / kNsOfMs,
                                            cpus_text(trespass.cpus), who.second));
    }
    for (const auto& [group, trespass] : misplaced_) {
      found.misplaced.push_back(fmt::format("{} ran {:.3f} ms on {}, outside its CPUs", group,
                                            static_cast<double>(trespass.ran) / kNsOfMs,
                                            cpus_text(trespass.cpus)));
    }
    return found;
  }

 private:
  static CpuSet cpus_of(const ExclusiveCpus& all, const std::string& owner) {
    const auto found = all.find(owner);
    return found == all.end() ? CpuSet() : found->second;
  }

  /// Returns the times at which a container or pod has tasks, without its sandbox.
  [[nodiscard]] const std::vector<Interval>& lives_of(const std::string& owner) {
    const auto [at, is_new] = lives_.try_emplace(owner);
    if (!is_new) return at->second;
    std::vector<Interval> all;
    for (const auto& [group, lives] : record_.lives) {
      if (sandboxes_.contains(group) || !is_within(record_.groups[group], owner)) continue;
      for (const auto& life : lives) all.push_back({life.from, life.to});
    }
    std::sort(all.begin(), all.end(),
              [](const Interval& a, const Interval& b) { return a.from < b.from; });
    for (const Interval& one : all) {
      std::vector<Interval>& merged = at->second;
      if (merged.empty() || one.from > merged.back().to) {
        merged.push_back(one);
      } else {
        merged.back().to = std::max(merged.back().to, one.to);
      }
    }
    return at->second;
  }

  /// Calls `visit` with each run on a CPU and the most that it can have run in the interval.
  template <class Visit>
  void for_each_run(std::int32_t cpu, const Interval& time, const Visit& visit) const {
    const auto runs = by_cpu_.find(cpu);
    if (runs == by_cpu_.end()) return;
    auto run = std::lower_bound(
        runs->second.begin(), runs->second.end(), time.from,
        [](const WitnessRecord::Run* one, std::int64_t from) { return one->to <= from; });
    for (; run != runs->second.end() && (*run)->from < time.to; ++run) {
      const Interval part = common({(*run)->from, (*run)->to}, time);
      visit(**run, std::min((*run)->ran, part.to - part.from));
    }
  }

  /// Notes other groups that run on an owner's CPU in an interval, as long as the owner lives.
  void claim(const std::string& owner, std::int32_t cpu, const Interval& time) {
    for (const Interval& life : lives_of(owner)) {
      const Interval part = common(life, time);
      if (part.from >= part.to) continue;
      owners_.insert(owner);
      for_each_run(cpu, part, [&](const WitnessRecord::Run& run, std::int64_t ran) {
        const std::string& group = record_.groups[run.group];
        if (sandboxes_.contains(run.group)) {
          by_sandboxes_ += ran;
        } else if (!is_within(group, owner)) {
          add(intruders_[{group, owner}], cpu, ran);
        }
      });
    }
  }

  static void add(Trespass& trespass, std::int32_t cpu, std::int64_t ran) {
    trespass.ran += ran;
    trespass.cpus.insert(CpuId{cpu});
  }

  /// Returns true if a container has exclusive CPUs at both marks, or begins with some in between.
  /// Otherwise it may have become or ceased to be a shared one, at an unknown time.
  [[nodiscard]] bool is_owner(const std::string& owner, const CpuSet& before, const CpuSet& after,
                              const Interval& time) {
    const auto& lives = lives_of(owner);
    const bool is_born = std::none_of(lives.begin(), lives.end(), [&time](const Interval& life) {
      return life.from <= time.from && time.from < life.to;
    });
    return !after.empty() && (!before.empty() || is_born);
  }

  /// Judges the time between two marks at which an owner has these CPUs.
  void judge_owner(const std::string& owner, const CpuSet& before, const CpuSet& after,
                   const Interval& time) {
    for (const CpuId cpu : before | after) {
      const bool had = before.empty() || before.contains(cpu);
      const bool has = after.contains(cpu);
      const Interval own = had && has ? time : own_runs(owner, cpu.value, time);
      claim(owner, cpu.value, {had ? time.from : own.from, has ? time.to : own.to});
    }
  }

  /// Returns the time from the first to the last run of an owner on a CPU in an interval; empty if
  /// it does not run there.
  [[nodiscard]] Interval own_runs(const std::string& owner, std::int32_t cpu,
                                  const Interval& time) const {
    Interval own = {time.to, time.from};
    for_each_run(cpu, time, [&](const WitnessRecord::Run& run, std::int64_t) {
      if (sandboxes_.contains(run.group) || !is_within(record_.groups[run.group], owner)) return;
      own.from = std::min(own.from, std::max(run.from, time.from));
      own.to = std::max(own.to, std::min(run.to, time.to));
    });
    return own;
  }

  /// Returns the container or pod that owns the CPUs of a group.
  static std::string owner_of(std::string group, const ExclusiveCpus& owners) {
    while (!owners.contains(group) && group.find('/') != std::string::npos) {
      group.erase(group.rfind('/'));
    }
    return group;
  }

  /// Notes where an owner runs on any other CPU.
  void check_homes(const std::string& owner, const CpuSet& cpus, const ExclusiveCpus& owners,
                   const Interval& time) {
    for (const auto& [cpu, runs] : by_cpu_) {
      if (cpus.contains(CpuId{cpu})) continue;
      for_each_run(cpu, time, [&, cpu = cpu](const WitnessRecord::Run& run, std::int64_t ran) {
        const std::string& group = record_.groups[run.group];
        if (sandboxes_.contains(run.group) || owner_of(group, owners) != owner || ran == 0) return;
        add(misplaced_[group], cpu, ran);
      });
    }
  }

  const WitnessRecord& record_;
  std::map<std::int32_t, std::vector<const WitnessRecord::Run*>> by_cpu_;
  std::set<std::size_t> sandboxes_;
  std::map<std::string, std::vector<Interval>> lives_;
  std::set<std::string> owners_;
  std::map<std::pair<std::string, std::string>, Trespass> intruders_;
  std::map<std::string, Trespass> misplaced_;
  std::int64_t by_sandboxes_ = 0;
};

}  // namespace

WitnessFindings judge_witness(const WitnessRecord& record, const std::vector<ExclusiveCpus>& owned,
                              const ExclusiveCpus& lasting) {
  WitnessJudge judge(record);
  ExclusiveCpus others = lasting;
  const std::size_t marks = std::min(record.marks.size(), owned.size());
  for (std::size_t i = 0; i < marks; ++i) {
    const bool is_last = i + 1 == marks;
    judge.judge(owned[i], owned[is_last ? i : i + 1],
                {record.marks[i], is_last ? INT64_MAX : record.marks[i + 1]});
    for (const auto& [owner, cpus] : owned[i]) others.erase(owner);
  }
  judge.judge_lasting(others);
  return judge.findings();
}

}  // namespace pinfold::harness
