#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "input.hpp"
#include "node/noise_scope.hpp"
#include "node/status_picture.hpp"
#include "pinfold/audit/tasks.hpp"
#include "pinfold/noise/fields.hpp"
#include "pinfold/noise/osnoise.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::tools {
namespace {

struct NoiseOptions {
  AgentArguments agent;
  std::vector<std::string> subjects;  ///< lists of CPUs, or pods
  std::string trace;                  ///< a file; "": nothing was traced
  int milliseconds = 1000;
};

Result<CpuSet> cpus_of_pod(const agent::NodeAgent& agent, const agent::NodeStatus& status,
                           const std::string& name) {
  PINFOLD_LET(const auto uid, agent::find_pod_uid(agent, name));
  CpuSet cpus;
  for (const agent::PodStatus& pod : status.pods) {
    if (pod.spec.uid != uid) continue;
    for (const agent::ContainerStatus& container : pod.containers) {
      if (container.desired.isolation != Isolation::kHost) cpus |= container.desired.cpus;
    }
  }
  if (!cpus.empty()) return cpus;
  return fail(ErrorCode::kNotFound,
              fmt::format("pod '{}' has no exclusive CPUs: expected one that has some, or CPUs "
                          "such as 2-3",
                          name));
}

/// Returns the CPUs that a word of the command line names.
Result<CpuSet> cpus_of_subject(const agent::NodeAgent& agent, const agent::NodeStatus& status,
                               const std::string& subject) {
  const auto cpus = CpuSet::parse(subject);
  if (!cpus) return cpus_of_pod(agent, status, subject);
  const CpuSet& all = agent.node().machine().all_cpus();
  if (!cpus->empty() && all.contains_all(*cpus)) return *cpus;
  return fail(ErrorCode::kNotFound,
              fmt::format("CPUs '{}': the machine has {}", subject, cpus_named(all)));
}

/// Returns what to measure: the named CPUs, or every exclusive one.
Result<noise::NoiseScope> scope_of(const NoiseOptions& options, const agent::NodeAgent& agent,
                                   const agent::NodeStatus& status) {
  noise::NoiseScope scope = exclusive_scope(agent, status);
  if (options.subjects.empty() && scope.cpus.empty()) {
    return fail(ErrorCode::kNotFound,
                "no CPU is exclusive to a container: name CPUs, such as 'pinfold noise 2-3'");
  }
  if (options.subjects.empty()) return scope;
  scope.cpus.clear();
  for (const std::string& subject : options.subjects) {
    PINFOLD_LET(const auto cpus, cpus_of_subject(agent, status, subject));
    scope.cpus |= cpus;
  }
  return scope;
}

std::string lost_text(const std::optional<double>& lost_us) {
  return lost_us ? fmt::format("{:.0f}", *lost_us) : std::string("?");
}

std::string name_of_source(const noise::NoiseSource& source) {
  return source.detail.empty()
             ? escaped(source.name)
             : fmt::format("{} ({})", escaped(source.name), escaped(source.detail));
}

std::string sources_text(const noise::CpuNoise& noise) {
  constexpr std::size_t kMost = 10;
  TextTable table({{"PER S", TextTable::Align::kRight},
                   {"US/S", TextTable::Align::kRight},
                   {"KIND"},
                   {"SOURCE", TextTable::Align::kLeft, true},
                   {"WHAT REMOVES IT", TextTable::Align::kLeft, true}});
  const std::size_t shown = std::min(kMost, noise.sources.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const noise::NoiseSource& source = noise.sources[i];
    table.add({fmt::format("{:.1f}", source.per_second), lost_text(source.lost_us),
               std::string(to_string(source.kind)), name_of_source(source), source.remedy});
  }
  std::string text = table.empty() ? "  nothing\n" : table.render(terminal_style(), 2);
  const std::size_t more = noise.sources.size() - shown;
  if (more > 0) text += fmt::format("  and {} more: -o json\n", more);
  return text;
}

std::string report_text(const noise::NoiseReport& report, const Overlay& owners) {
  std::string text;
  for (const noise::CpuNoise& noise : report.cpus) {
    const std::size_t entry = entry_of(owners, noise.cpu);
    const std::string owner = entry == kNoEntry ? "none" : owners.entries[entry].text;
    text += fmt::format("{}CPU {}   {}: {}\n{}", text.empty() ? "" : "\n", noise.cpu.value,
                        escaped(owner), summary_of(noise), sources_text(noise));
  }
  return text;
}

/// Returns the threads of the owners of CPUs.
Result<std::set<std::int64_t>> threads_of_owners(const std::string& root,
                                                 const noise::NoiseScope& scope) {
  PINFOLD_LET(const auto tasks, audit::read_tasks(root, scope.cpus));
  std::set<std::int64_t> threads;
  for (const audit::LinuxTask& task : tasks) {
    const bool is_owner =
        std::any_of(scope.owners.begin(), scope.owners.end(), [&](const auto& owner) {
          return !owner.second.empty() && (task.group + "/").starts_with(owner.second + "/");
        });
    if (is_owner) threads.insert(task.thread);
  }
  return threads;
}

/// Warns of CPUs without an event: a trace does not say which CPUs were traced.
void warn_of_untraced(const noise::NoiseReport& report) {
  CpuSet silent;
  for (const noise::CpuNoise& noise : report.cpus) {
    if (noise.sources.empty()) silent.insert(noise.cpu);
  }
  if (silent.empty()) return;
  const auto them = one_or_more(silent, "it", "them");
  warn(
      fmt::format("the trace has no event of {}: nothing interrupted {}, or {} not in "
                  "'osnoise/cpus'",
                  cpus_named(silent), them, one_or_more(silent, "it was", "they were")));
}

Result<noise::NoiseReport> report_of(const NoiseOptions& options, const noise::NoiseScope& scope) {
  const std::string& root = options.agent.sysfs;
  if (options.trace.empty()) {
    return measure_noise(root, scope, std::chrono::milliseconds(options.milliseconds));
  }
  PINFOLD_LET(const auto trace, read_input(options.trace));
  PINFOLD_LET(const auto own, threads_of_owners(root, scope));
  PINFOLD_LET_WRAP(auto report, noise::traced_noise(trace, own, scope),
                   fmt::format("--trace '{}'", options.trace));
  warn_of_untraced(report);
  return report;
}

Result<ExitStatus> run(const NoiseOptions& options) {
  PINFOLD_LET(const auto agent, open_agent(options.agent));
  PINFOLD_LET(const auto status, agent::node_status(agent));
  PINFOLD_LET(const auto scope, scope_of(options, agent, status));
  PINFOLD_LET(const auto report, report_of(options, scope));
  if (options.agent.output == OutputFormat::kJson) {
    fmt::print("{}", json_text(report));
  } else {
    fmt::print("{}", report_text(report, owners_of(agent.node().machine(), status)));
  }
  return kYes;
}

}  // namespace

cli::Command noise_command() {
  auto options = std::make_shared<NoiseOptions>();
  options->agent.is_query = true;
  cli::Command command{"noise",
                       "Measure what interrupts exclusive CPUs: interrupts, softirqs, kernel "
                       "threads, other processes; and print how to remove each. Changes nothing"};
  command.add(agent_arguments(options->agent));
  command.add({output_option(options->agent.output),
               {.name = "--for",
                .target = cli::Integer{&options->milliseconds, 1, 3'600'000},
                .help = "Milliseconds to measure; interrupt times are accurate for 1000 ms or more",
                .value = "MS"},
               {.name = "--trace",
                .target = &options->trace,
                .help = "Instead of measuring, sum up the osnoise events in a tracefs trace, '-' "
                        "for standard input",
                .value = "FILE",
                .excludes = {"--for"}},
               {.name = "CPUS_OR_PODS",
                .target = &options->subjects,
                .help = "CPUs as a list (17, or 4-7,12), or pods by UID, name or NAMESPACE/NAME "
                        "[every exclusive CPU]",
                .value = "SUBJECT"}});
  command.sections = {
      {"Examples",
       {{"pinfold noise", "Measure every exclusive CPU for a second"},
        {"pinfold noise default/web --for 3000", "Measure the CPUs of a pod for 3 seconds"},
        {"pinfold noise 2-3 -o json", "The same for two CPUs, as JSON"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
