#include "pinfold/noise/noise.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "pinfold/noise/remedy.hpp"

// How it works
//
// Everything is a difference of two counters, divided by the time between them. A CPU's rate is the
// sum of its interrupts and of the runs of threads that are not its owner's. Softirqs are sources,
// but not part of the sum: they run at the end of an interrupt, or in ksoftirqd, and would count
// twice. Their time counts.
//
// A thread is counted on the CPU where it ran last. Threads that begin and end between the samples
// are in no list, but in the scheduler's count of the CPU. So the runs on the CPUs of one owner
// beyond those of all listed threads are a source as well, spread evenly over these CPUs because
// the owner's threads may have moved among them.

namespace pinfold::noise {
namespace {

using ThreadsById = std::map<pid_t, const ThreadSample*>;

struct SamplePair {
  const NoiseSample& before;
  const NoiseSample& after;
  const NoiseScope& scope;
  double seconds;
  ThreadsById earlier;                 ///< by thread
  std::map<pid_t, pid_t> parents;      ///< of the processes of `after`
  std::map<pid_t, std::string> group;  ///< likewise
};

std::uint64_t gain(std::uint64_t before, std::uint64_t after) {
  return after > before ? after - before : 0;
}

std::uint64_t count_at(const CountTable& table, std::string_view name, CpuId cpu) {
  const auto column = std::find(table.cpus.begin(), table.cpus.end(), cpu);
  const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                [&](const CountRow& one) { return one.name == name; });
  if (column == table.cpus.end() || row == table.rows.end()) return 0;
  return row->counts[static_cast<std::size_t>(column - table.cpus.begin())];
}

SourceKind kind_of_row(const CountRow& row) {
  if (row.name == "LOC" || row.description.find("arch_timer") != std::string::npos) {
    return SourceKind::kTimer;
  }
  const bool has_number = row.name.find_first_not_of("0123456789") == std::string::npos;
  return has_number ? SourceKind::kInterrupt : SourceKind::kKernelInterrupt;
}

/// Adds the rows of a table that counted something on a CPU. Returns their sum per second.
double add_rows(const SamplePair& given, CountTable NoiseSample::*table, CpuId cpu,
                std::vector<NoiseSource>& sources) {
  double sum = 0;
  for (const CountRow& row : (given.after.*table).rows) {
    const std::uint64_t count = gain(count_at(given.before.*table, row.name, cpu),
                                     count_at(given.after.*table, row.name, cpu));
    if (count == 0) continue;
    const bool is_softirq = table == &NoiseSample::softirqs;
    const double rate = static_cast<double>(count) / given.seconds;
    sources.push_back({is_softirq ? SourceKind::kSoftirq : kind_of_row(row), row.name,
                       row.description, rate, std::nullopt});
    sum += rate;
  }
  return sum;
}

/// Returns the time that the kernel itself has taken from a CPU, in microseconds per second. Adds
/// the hypervisor's part as a source.
double add_times(const SamplePair& given, CpuId cpu, std::vector<NoiseSource>& sources) {
  const auto before = given.before.lost.find(cpu);
  const auto after = given.after.lost.find(cpu);
  if (before == given.before.lost.end() || after == given.after.lost.end()) return 0;
  const auto rate = [&](std::chrono::microseconds LostTimes::*part) {
    const auto lost = after->second.*part - before->second.*part;
    return std::max(0.0, static_cast<double>(lost.count()) / given.seconds);
  };
  const double stolen = rate(&LostTimes::stolen);
  if (stolen > 0) {
    sources.push_back({SourceKind::kHypervisor, "steal", "", 0, stolen});
  }
  return rate(&LostTimes::interrupts) + rate(&LostTimes::softirqs) + stolen;
}

bool is_in_group(std::string_view group, std::string_view owner) {
  if (owner.empty() || !group.starts_with(owner)) return false;
  return group.size() == owner.size() || group[owner.size()] == '/';
}

/// Returns the first ancestor of a process, or itself, whose parent is not in the owner's group.
pid_t root_in_group(const SamplePair& given, pid_t process, const std::string& owner) {
  for (std::size_t depth = 0; depth <= given.parents.size(); ++depth) {
    const auto parent = given.parents.find(process);
    if (parent == given.parents.end()) break;
    const auto group = given.group.find(parent->second);
    if (group == given.group.end() || !is_in_group(group->second, owner)) break;
    process = parent->second;
  }
  return process;
}

/// Returns the container's first process: the oldest one in its group; 0 if there is none.
pid_t first_in_group(const SamplePair& given, const std::string& owner) {
  const audit::LinuxTask* first = nullptr;
  for (const ThreadSample& one : given.after.threads) {
    if (!is_in_group(one.task.group, owner)) continue;
    if (first == nullptr || one.task.started < first->started) first = &one.task;
  }
  return first == nullptr ? 0 : first->process;
}

/// Returns the kind of a thread on a CPU with this owner; nullopt for the owner's own threads.
std::optional<SourceKind> kind_of_task(const SamplePair& given, const audit::LinuxTask& task,
                                       const std::string& owner) {
  if (task.is_kernel) {
    return task.command.starts_with("kworker/") ? SourceKind::kWorkqueue
                                                : SourceKind::kKernelThread;
  }
  if (!is_in_group(task.group, owner)) return SourceKind::kTask;
  const pid_t root = root_in_group(given, task.process, owner);
  if (root == root_in_group(given, first_in_group(given, owner), owner)) return std::nullopt;
  return SourceKind::kExec;
}

/// Returns how much a thread has run between the samples. A reused thread id counts from zero.
ThreadTimes ran_between(const SamplePair& given, const ThreadSample& now) {
  const auto found = given.earlier.find(now.task.thread);
  if (found == given.earlier.end() || found->second->task.started != now.task.started) {
    return now.times;
  }
  const ThreadTimes& then = found->second->times;
  return {std::max(now.times.ran - then.ran, std::chrono::nanoseconds(0)),
          std::chrono::nanoseconds(0), gain(then.runs, now.times.runs)};
}

std::string owner_of_cpu(const NoiseScope& scope, CpuId cpu) {
  const auto owner = scope.owners.find(cpu);
  return owner == scope.owners.end() ? "" : owner->second;
}

/// Adds the threads that ran on a CPU and are not its owner's to its noise.
void add_threads(const SamplePair& given, CpuNoise& noise) {
  const std::string owner = owner_of_cpu(given.scope, noise.cpu);
  for (const ThreadSample& now : given.after.threads) {
    if (now.task.cpu != noise.cpu) continue;
    const ThreadTimes ran = ran_between(given, now);
    const auto kind = kind_of_task(given, now.task, owner);
    if (ran.runs == 0 || !kind) continue;
    const double rate = static_cast<double>(ran.runs) / given.seconds;
    const double lost = std::chrono::duration<double, std::micro>(ran.ran).count() / given.seconds;
    const std::string group = now.task.is_kernel ? "" : now.task.group;
    noise.sources.push_back({*kind, now.task.command, group, rate, lost});
    noise.per_second += rate;
    noise.lost_us += lost;
  }
}

/// Returns how often the CPUs of one owner began to run threads that are in no list, per second and
/// CPU.
double unlisted_runs(const SamplePair& given, const CpuSet& cpus) {
  double runs = 0;
  for (const CpuId cpu : cpus) {
    const auto before = given.before.runs.find(cpu);
    const auto after = given.after.runs.find(cpu);
    if (before == given.before.runs.end() || after == given.after.runs.end()) return 0;
    runs += static_cast<double>(gain(before->second, after->second));
  }
  for (const ThreadSample& now : given.after.threads) {
    if (!cpus.contains(now.task.cpu)) continue;
    runs -= static_cast<double>(ran_between(given, now).runs);
  }
  return std::max(0.0, runs / given.seconds / static_cast<double>(cpus.size()));
}

/// Adds the threads that began and ended between the samples.
void add_unlisted(const SamplePair& given, std::vector<CpuNoise>& cpus) {
  std::map<std::string, CpuSet> by_owner;
  for (const CpuId cpu : given.scope.cpus) {
    by_owner[owner_of_cpu(given.scope, cpu)].insert(cpu);
  }
  for (CpuNoise& noise : cpus) {
    const double runs = unlisted_runs(given, by_owner[owner_of_cpu(given.scope, noise.cpu)]);
    if (runs == 0) continue;
    noise.sources.push_back(
        {SourceKind::kTask, "ended", "threads that ended in the meantime", runs, std::nullopt});
    noise.per_second += runs;
  }
}

CpuNoise noise_of(const SamplePair& given, CpuId cpu) {
  CpuNoise noise{cpu};
  noise.per_second = add_rows(given, &NoiseSample::interrupts, cpu, noise.sources);
  add_rows(given, &NoiseSample::softirqs, cpu, noise.sources);
  noise.lost_us = add_times(given, cpu, noise.sources);
  add_threads(given, noise);
  return noise;
}

SamplePair compare(const NoiseSample& before, const NoiseSample& after, const NoiseScope& scope) {
  SamplePair given{
      before, after, scope, std::chrono::duration<double>(after.at - before.at).count(),
      {},     {},    {}};
  for (const ThreadSample& one : before.threads) given.earlier.emplace(one.task.thread, &one);
  for (const ThreadSample& one : after.threads) {
    given.parents.emplace(one.task.process, one.task.parent);
    given.group.emplace(one.task.process, one.task.group);
  }
  return given;
}

}  // namespace

std::string_view to_string(SourceKind kind) {
  switch (kind) {
    case SourceKind::kInterrupt:
      return "interrupt";
    case SourceKind::kTimer:
      return "timer";
    case SourceKind::kKernelInterrupt:
      return "kernel-interrupt";
    case SourceKind::kSoftirq:
      return "softirq";
    case SourceKind::kWorkqueue:
      return "workqueue";
    case SourceKind::kKernelThread:
      return "kernel-thread";
    case SourceKind::kExec:
      return "exec";
    case SourceKind::kTask:
      return "task";
    case SourceKind::kHypervisor:
      break;
  }
  return "hypervisor";
}

void finish(const NoiseScope& scope, CpuNoise& noise) {
  std::stable_sort(noise.sources.begin(), noise.sources.end(),
                   [](const auto& a, const auto& b) { return a.per_second > b.per_second; });
  const CpuSet housekeeping = scope.housekeeping - scope.cpus;
  for (NoiseSource& source : noise.sources) {
    source.remedy = remedy_of(source, noise.cpu, housekeeping);
  }
  noise.score = quiet_score(noise.per_second, noise.lost_us);
}

NoiseReport measure(const NoiseSample& before, const NoiseSample& after, const NoiseScope& scope) {
  NoiseReport report{after.at - before.at};
  if (report.duration.count() <= 0) {
    for (const CpuId cpu : scope.cpus) report.cpus.push_back({cpu});
    return report;
  }
  const SamplePair given = compare(before, after, scope);
  for (const CpuId cpu : scope.cpus) report.cpus.push_back(noise_of(given, cpu));
  add_unlisted(given, report.cpus);
  for (CpuNoise& noise : report.cpus) finish(scope, noise);
  return report;
}

std::map<SourceKind, std::uint64_t> interrupts_by_kind(const CountTable& interrupts, CpuId cpu) {
  std::map<SourceKind, std::uint64_t> counts = {
      {SourceKind::kInterrupt, 0}, {SourceKind::kTimer, 0}, {SourceKind::kKernelInterrupt, 0}};
  const auto column = std::find(interrupts.cpus.begin(), interrupts.cpus.end(), cpu);
  if (column == interrupts.cpus.end()) return counts;
  const auto index = static_cast<std::size_t>(column - interrupts.cpus.begin());
  for (const CountRow& row : interrupts.rows) counts[kind_of_row(row)] += row.counts[index];
  return counts;
}

int quiet_score(double per_second, double lost_us) {
  constexpr double kPointsPerTenfold = 10;
  constexpr double kBest = 100;
  const double tenfolds = std::log10(1 + per_second) + std::log10(1 + lost_us);
  return static_cast<int>(std::lround(std::max(0.0, kBest - kPointsPerTenfold * tenfolds)));
}

}  // namespace pinfold::noise
