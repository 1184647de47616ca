#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "node/noise_scope.hpp"
#include "node/status_picture.hpp"
#include "pinfold/audit/tasks.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/picture/numa_use.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::tools {
namespace {

using audit::LinuxTask;

struct WhoOptions {
  AgentArguments agent;
  std::vector<std::string> cpus;  ///< lists of CPUs
};

/// A node, its owners and its threads.
struct Scan {
  const agent::NodeAgent& agent;
  const agent::NodeStatus& status;
  Overlay owners;
  std::vector<LinuxTask> tasks;
  std::map<CpuId, noise::CpuNoise> measured;
};

const Machine& machine_of(const Scan& scan) { return scan.agent.node().machine(); }

const Overlay::Entry* entry_with(const Scan& scan, CpuId cpu) {
  const std::size_t entry = entry_of(scan.owners, cpu);
  return entry == kNoEntry ? nullptr : &scan.owners.entries[entry];
}

CpuOwner owner_of(const Scan& scan, CpuId cpu) {
  const Overlay::Entry* const entry = entry_with(scan, cpu);
  if (entry == nullptr) return {cpu.value, "none", "none", std::nullopt};
  return {cpu.value, std::string(to_string(entry->use)), entry->text, entry->owner};
}

std::string use_of(const Scan& scan, CpuId cpu) { return owner_of(scan, cpu).use; }

CpuSet siblings_of(const Scan& scan, CpuId cpu) {
  const auto core = static_cast<std::size_t>(machine_of(scan).groups_of(cpu).core);
  return machine_of(scan).cores()[core].cpus - CpuSet::of(cpu);
}

/// Returns the container that a group belongs to; nullopt for a foreign group.
std::optional<ContainerRef> container_of(const Scan& scan, const std::string& group) {
  for (const agent::PodStatus& pod : scan.status.pods) {
    for (const agent::ContainerStatus& container : pod.containers) {
      const std::string& own = container.cgroup_path;
      if (own.empty() || !group.starts_with(own)) continue;
      if (group.size() > own.size() && group[own.size()] != '/') continue;
      return ContainerRef{ref_of(pod.spec), container.resources.name};
    }
  }
  return std::nullopt;
}

/// Returns the containers that may run on a CPU in the desired state, by their names.
std::map<std::string, CpuCandidate> containers_on(const Scan& scan, CpuId cpu) {
  std::map<std::string, CpuCandidate> containers;
  for (const agent::PodStatus& pod : scan.status.pods) {
    for (const agent::ContainerStatus& container : pod.containers) {
      const CpuSet& cpus = container.desired.cpus;
      if (!cpus.empty() && !cpus.contains(cpu)) continue;
      ContainerRef owner{ref_of(pod.spec), container.resources.name};
      CpuCandidate& candidate = containers[to_string(owner)];
      candidate.owner = std::move(owner);
      candidate.isolation = to_string(container.desired.isolation);
    }
  }
  return containers;
}

/// Describes the CPUs of containers that are limited by a CPU affinity; by container.
std::map<std::string, std::string> limits_of(const Scan& scan) {
  std::map<std::string, std::string> limits;
  for (const agent::PodStatus& pod : scan.status.pods) {
    for (const agent::ContainerStatus& container : pod.containers) {
      if (!container.observed || !container.observed->affinity.is_limited()) continue;
      limits[to_string(ContainerRef{ref_of(pod.spec), container.resources.name})] =
          limit_of(container.observed->affinity);
    }
  }
  return limits;
}

std::vector<CpuCandidate> candidates_of(const Scan& scan, CpuId cpu) {
  std::map<std::string, CpuCandidate> by_name;  // containers first
  for (auto& [name, candidate] : containers_on(scan, cpu)) by_name["1" + name] = candidate;
  std::map<std::string, pid_t> last;
  for (const LinuxTask& task : scan.tasks) {  // ordered by process
    if (!task.allowed.contains(cpu)) continue;
    const auto owner = task.is_kernel ? std::nullopt : container_of(scan, task.group);
    const std::string key = task.is_kernel ? "3"
                            : owner        ? "1" + to_string(*owner)
                                           : "2" + task.group;
    CpuCandidate& candidate = by_name[key];
    candidate.owner = owner;
    if (!task.is_kernel) candidate.cgroup_path = task.group;
    candidate.is_kernel = task.is_kernel;
    ++candidate.threads;
    if (std::exchange(last[key], task.process) != task.process) ++candidate.processes;
  }
  for (const auto& [name, note] : limits_of(scan)) {
    const auto limited = by_name.find("1" + name);
    if (limited != by_name.end()) limited->second.note = note;
  }
  std::vector<CpuCandidate> candidates;
  candidates.reserve(by_name.size());
  for (auto& [key, candidate] : by_name) candidates.push_back(std::move(candidate));
  return candidates;
}

std::vector<const LinuxTask*> tasks_on(const Scan& scan, CpuId cpu) {
  std::vector<const LinuxTask*> tasks;
  for (const LinuxTask& task : scan.tasks) {
    if (task.cpu == cpu) tasks.push_back(&task);
  }
  // Running threads come first, then those of processes, then kernel threads.
  const auto rank = [](const LinuxTask* task) {
    return task->state == 'R' ? 0 : task->is_kernel ? 2 : 1;
  };
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](const LinuxTask* a, const LinuxTask* b) { return rank(a) < rank(b); });
  return tasks;
}

std::string name_of(const Scan& scan, const LinuxTask& task) {
  if (task.is_kernel) return "the kernel";
  if (const auto container = container_of(scan, task.group)) return to_string(*container);
  return task.group.empty() ? "unknown" : task.group;
}

std::optional<noise::CpuNoise> noise_on(const Scan& scan, CpuId cpu) {
  const auto found = scan.measured.find(cpu);
  return found == scan.measured.end() ? std::nullopt : std::optional(found->second);
}

CpuDocument cpu_document(const Scan& scan, CpuId cpu) {
  CpuDocument document{*machine_of(scan).find(cpu), owner_of(scan, cpu), {}, {},
                       candidates_of(scan, cpu),    noise_on(scan, cpu)};
  for (const CpuId sibling : siblings_of(scan, cpu)) {
    document.siblings.push_back(owner_of(scan, sibling));
  }
  for (const LinuxTask* task : tasks_on(scan, cpu)) {
    document.threads.push_back({task->process, task->thread, escaped(task->command),
                                std::string(1, task->state), task->is_kernel,
                                container_of(scan, task->group), task->group});
  }
  return document;
}

std::string tasks_text(const Scan& scan, CpuId cpu) {
  constexpr std::size_t kMost = 12;  // sleeping threads
  const Style style = terminal_style();
  TextTable table({{"PID", TextTable::Align::kRight},
                   {"THREAD", TextTable::Align::kRight},
                   {"COMMAND"},
                   {"STATE"},
                   {"OWNER"}});
  std::size_t left_out = 0;
  std::size_t shown = 0;
  for (const LinuxTask* task : tasks_on(scan, cpu)) {
    const bool runs = task->state == 'R';
    if (!runs && shown >= kMost) {
      ++left_out;
      continue;
    }
    ++shown;
    table.add_painted({std::to_string(task->process), std::to_string(task->thread),
                       escaped(task->command),
                       runs ? paint(style, Paint::kGreen, "running") : std::string("ran here last"),
                       escaped(name_of(scan, *task))});
  }
  std::string text = table.empty() ? "  no thread\n" : table.render(style, 2);
  if (left_out > 0) text += fmt::format("  and {} more that ran here last\n", left_out);
  return text;
}

std::string candidates_text(const Scan& scan, CpuId cpu) {
  const Style style = terminal_style();
  const bool is_exclusive = use_of(scan, cpu) == "exclusive";
  TextTable table({{"WHAT"},
                   {"ISOLATION"},
                   {"PROCS", TextTable::Align::kRight},
                   {"THREADS", TextTable::Align::kRight},
                   {""}});
  std::string notes;
  for (const CpuCandidate& candidate : candidates_of(scan, cpu)) {
    const std::string name = candidate.is_kernel             ? "threads of the kernel"
                             : candidate.owner               ? to_string(*candidate.owner)
                             : candidate.cgroup_path.empty() ? "unknown group"
                                                             : candidate.cgroup_path;
    const bool intrudes = is_exclusive && !candidate.is_kernel && candidate.isolation.empty();
    table.add_painted({escaped(name), candidate.isolation,
                       candidate.is_kernel ? "" : std::to_string(candidate.processes),
                       std::to_string(candidate.threads),
                       intrudes ? paint(style, Paint::kRed, "! not the owner") : ""});
    if (candidate.note.empty()) continue;
    notes += fmt::format("  note: {}: {}\n", escaped(name), candidate.note);
  }
  return table.empty() ? "  nothing\n" : table.render(style, 2) + notes;
}

/// Returns a line about a scheduler of sched_ext, which decides instead of the kernel's where
/// threads run within their CPUs; "" if none is loaded.
std::string scheduler_text(const std::string& root) {
  const auto state = read_file(root + "/sys/kernel/sched_ext/state");
  if (!state || !state->starts_with("enabled")) return "";
  const auto name = read_file(root + "/sys/kernel/sched_ext/root/ops");
  return fmt::format("\nScheduler: {} (sched_ext), which moves threads within their CPUs itself\n",
                     name ? escaped(name->substr(0, name->find('\n'))) : "unknown");
}

/// Returns "efficiency" on a machine with several kinds of cores; else "".
std::string kind_of(const Machine& machine, CpuId cpu) {
  const auto& kinds = machine.description().core_kinds;
  if (!kinds) return "";
  for (const CoreKind& kind : *kinds) {
    if (kind.cpus.contains(cpu)) return kind.name;
  }
  return "";
}

std::string cpu_text(const Scan& scan, CpuId cpu) {
  const Machine& machine = machine_of(scan);
  const Cpu& facts = *machine.find(cpu);
  const CpuSet& numa = machine.cpus_of_numa(machine.groups_of(cpu).numa);
  const Style style = terminal_style();
  std::string text = paint(style, Paint::kBold, fmt::format("CPU {}", cpu.value));
  const CpuOwner owner = owner_of(scan, cpu);
  text += fmt::format("   {}{}\n", owner.use == "exclusive" ? "exclusive to " : "",
                      escaped(owner.label));
  std::string siblings;
  for (const CpuId sibling : siblings_of(scan, cpu)) {
    siblings += fmt::format("{}{} ({})", siblings.empty() ? "" : ", ", sibling.value,
                            escaped(owner_of(scan, sibling).label));
  }
  text += fmt::format("  siblings   {}\n", siblings.empty() ? "none" : siblings);
  if (const std::string kind = kind_of(machine, cpu); !kind.empty()) {
    text += fmt::format("  core       {}\n", escaped(kind));
  }
  text += fmt::format("  NUMA node  {}: {}, {} free\n", facts.numa.value, cpus_named(numa),
                      free_cpus(machine, scan.owners, numa).cpus.size());
  text += fmt::format("  socket     {}{}\n", facts.socket.value,
                      machine.description().has_cache_info ? fmt::format(", L3 {}", facts.l3.value)
                                                           : std::string());
  if (const auto noise = noise_on(scan, cpu)) {
    text += fmt::format("  noise      {}: pinfold noise {}\n", summary_of(*noise), cpu.value);
  }
  text += "\nThreads on this CPU\n" + tasks_text(scan, cpu);
  return text + "\nWhat may run here\n" + candidates_text(scan, cpu);
}

Result<CpuSet> read_cpus(const WhoOptions& options, const Machine& machine) {
  const std::string list = fmt::format("{}", fmt::join(options.cpus, ","));
  const auto cpus = CpuSet::parse(list);
  if (!cpus) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("CPUs '{}': expected a list such as 17 or 4-7,12", list));
  }
  const CpuSet unknown = *cpus - machine.all_cpus();
  if (!unknown.empty() || cpus->empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("CPUs '{}': the machine has {}", list, cpus_named(machine.all_cpus())));
  }
  return *cpus;
}

/// Measures the noise of CPUs for a moment; not for the files of another machine.
std::map<CpuId, noise::CpuNoise> noise_of(const WhoOptions& options, const agent::NodeAgent& agent,
                                          const agent::NodeStatus& status, const CpuSet& cpus) {
  constexpr std::chrono::milliseconds kMoment{200};
  const bool is_this_machine = options.agent.machine.empty() && options.agent.sysfs == "/";
  if (!is_this_machine) return {};
  noise::NoiseScope scope = exclusive_scope(agent, status);
  scope.cpus = cpus;
  const auto report = measure_noise(options.agent.sysfs, scope, kMoment);
  std::map<CpuId, noise::CpuNoise> by_cpu;
  if (!report) return by_cpu;  // the owners of the CPU are known without it
  for (const noise::CpuNoise& one : report->cpus) by_cpu.emplace(one.cpu, one);
  return by_cpu;
}

Result<ExitStatus> run(const WhoOptions& options) {
  PINFOLD_LET(const auto agent, open_agent(options.agent));
  PINFOLD_LET(const auto cpus, read_cpus(options, agent.node().machine()));
  PINFOLD_LET(const auto status, agent::node_status(agent));
  PINFOLD_LET(auto tasks, audit::read_tasks(options.agent.sysfs, cpus));
  const Scan scan{agent, status, owners_of(agent.node().machine(), status), std::move(tasks),
                  noise_of(options, agent, status, cpus)};
  if (options.agent.output == OutputFormat::kJson) {
    WhoDocument document;
    for (const CpuId cpu : cpus) document.cpus.push_back(cpu_document(scan, cpu));
    fmt::print("{}", json_text(document));
    return kYes;
  }
  for (const CpuId cpu : cpus) {
    fmt::print("{}{}", cpu == cpus.first() ? "" : "\n", cpu_text(scan, cpu));
  }
  fmt::print("{}", scheduler_text(options.agent.sysfs));
  return kYes;
}

}  // namespace

cli::Command who_command() {
  auto options = std::make_shared<WhoOptions>();
  options->agent.is_query = true;
  cli::Command command{"who",
                       "Show a CPU's owner and siblings, the threads running on it, and what "
                       "else may run there"};
  command.add(agent_arguments(options->agent));
  command.add({output_option(options->agent.output),
               {.name = "CPUS",
                .target = &options->cpus,
                .help = "CPUs as a list: 17, or 4-7,12",
                .value = "LIST",
                .required = true}});
  command.sections = {{"Examples",
                       {{"pinfold who 17", "Show who owns CPU 17 and what runs there"},
                        {"pinfold who 4-7 -o json", "The same for four CPUs, as JSON"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
