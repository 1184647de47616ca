#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "audit/audit_text.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "input.hpp"
#include "node/noise_scope.hpp"
#include "output.hpp"
#include "pinfold/audit/fields.hpp"
#include "pinfold/audit/findings.hpp"
#include "pinfold/audit/observe.hpp"
#include "pinfold/audit/observed.hpp"
#include "pinfold/noise/noise.hpp"
#include "program_output.hpp"
#include "stop_signals.hpp"

namespace pinfold::tools {
namespace {

using std::chrono::milliseconds;

struct AuditCommand {
  std::string root = "/";
  audit::ObserveOptions files;
  std::string pod_resources;
  audit::Severity fail_on = audit::Severity::kWarning;
  OutputFormat format = OutputFormat::kText;
  int noise_ms = -1;  ///< how long to measure; -1: not given
  bool watch = false;
  int interval_ms = 200;
  int seconds = 0;
};

/// Returns the exclusive CPUs of an audited node with the groups of the containers that have them,
/// and the CPUs that may be interrupted.
noise::NoiseScope audited_scope(const audit::Report& report, const audit::Observed& observed) {
  std::map<std::string, std::string> directories;  // by the runtime's id
  for (const audit::ObservedGroup& group : observed.cgroups.groups) {
    if (!group.name.container.empty()) directories[group.name.container] = group.directory;
  }
  noise::NoiseScope scope;
  scope.cpus = report.exclusive;
  for (const audit::AuditedContainer& container : report.containers) {
    const auto directory = directories.find(container.runtime_id);
    if (!container.is_exclusive || directory == directories.end()) continue;
    for (const CpuId cpu : container.expected.value_or(CpuSet())) {
      scope.owners[cpu] = directory->second;
    }
  }
  if (observed.machine) scope.housekeeping = observed.machine->all_cpus() - scope.cpus;
  return scope;
}

/// Returns a line for each CPU: "CPU 2  312 interruptions/s, 640 us/s lost, quiet score 47".
std::string noise_lines(const noise::NoiseReport& report) {
  std::string lines;
  for (const noise::CpuNoise& noise : report.cpus) {
    lines += fmt::format("  CPU {}  {}\n", noise.cpu.value, summary_of(noise));
  }
  return lines;
}

void print_event(const AuditCommand& options, const audit::WatchEvent& event,
                 const audit::LabelledContainers& containers, milliseconds at) {
  if (options.format == OutputFormat::kText) {
    fmt::print("{:9.1f} s  {}\n", std::chrono::duration<double>(at).count(), event_text(event));
    return;
  }
  fmt::print("{}", json_text(audit::watch_line(event, containers, at), -1));
}

/// Audits periodically, and prints changes. Returns true if no overlap was found.
bool watch(const AuditCommand& options, const audit::Tree& tree, const audit::Observed& first) {
  using std::chrono::steady_clock;
  const bool is_text = options.format == OutputFormat::kText;
  const milliseconds interval(options.interval_ms);
  const auto begin = steady_clock::now();
  const auto time = [&] {
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
  };
  audit::OverlapWatch overlaps;
  audit::LabelledContainers containers;
  bool is_clean = true;
  StopSignals stop;
  for (milliseconds at{0};; at = time()) {
    const auto report = audit::judge_containers(audit::observe_again(tree, first));
    if (is_text && at == at.zero()) fmt::print("{}", watched_text(report, interval));
    audit::add_labels(report, containers);
    for (const audit::WatchEvent& event : overlaps.look(report, at)) {
      print_event(options, event, containers, at);
      is_clean = is_clean && event.kind != audit::WatchEvent::Kind::kOverlaps;
    }
    // Flush, so that a reader sees each event at once; a closed pipe ends the watch.
    if (std::fflush(stdout) != 0) return is_clean;
    if (options.seconds > 0 && at >= std::chrono::seconds(options.seconds)) break;
    if (stop.wait(interval)) break;
  }
  if (is_text) {
    fmt::print("{} still open after {:.0f} s\n", counted(overlaps.open(), "overlap"),
               std::chrono::duration<double>(time()).count());
  }
  return is_clean;
}

bool is_socket(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_socket(path, ignored);
}

/// Asks a kubelet. Errors: kUnsupported if the program that does it is not installed.
Result<std::string> ask_kubelet(const std::string& socket) {
  constexpr const char* kProgram = "pinfold-pod-resources";
  PINFOLD_LET(const auto places, places_of_program(kProgram));
  for (const std::string& program : places) {
    if (::access(program.c_str(), X_OK) != 0) continue;
    return program_output(program, {socket}, audit::Tree::kMaxBytes);
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}': {}: it is not installed; it is in the package pinfold-agent",
                          socket, kProgram));
}

Result<audit::PodResources> read_pod_resources(const std::string& path) {
  PINFOLD_LET(const auto text, is_socket(path) ? ask_kubelet(path) : read_input(path));
  auto listed = audit::parse_pod_resources(text);
  if (!listed) return fail(std::move(listed).error().wrap(fmt::format("'{}'", path)));
  return listed;
}

/// Adds the answer of PodResources that the options name, else that of this machine's kubelet if it
/// can be asked.
Result<void> add_pod_resources(const AuditCommand& options, audit::Observed& observed) {
  if (!options.pod_resources.empty()) {
    PINFOLD_LET(observed.pod_resources, read_pod_resources(options.pod_resources));
    return {};
  }
  const std::string socket = observed.kubelet.root_dir + "/pod-resources/kubelet.sock";
  if (!observed.root.empty() || !is_socket(socket)) return {};
  auto listed = read_pod_resources(socket);
  if (listed) {
    observed.pod_resources = *std::move(listed);
  } else if (listed.error().code != ErrorCode::kUnsupported) {
    observed.problems["PodResources"] = {std::move(listed).error().message, 1};
  }
  return {};
}

/// Measures what interrupts exclusive CPUs: on this machine unless the options forbid it, on
/// another root only if they ask for it. nullopt if it is not measured, or cannot be: it is
/// optional.
std::optional<noise::NoiseReport> measured(const AuditCommand& options, const audit::Report& report,
                                           const audit::Observed& observed) {
  constexpr int kMoment = 200;
  const int by_default = observed.root.empty() ? kMoment : 0;
  const int milliseconds_to_measure = options.noise_ms < 0 ? by_default : options.noise_ms;
  if (report.exclusive.empty() || milliseconds_to_measure == 0) return std::nullopt;
  auto noise = measure_noise(observed.root, audited_scope(report, observed),
                             milliseconds(milliseconds_to_measure));
  return noise ? std::optional(*std::move(noise)) : std::nullopt;
}

Result<ExitStatus> audit_node(const AuditCommand& options) {
  PINFOLD_LET(const auto tree, audit::Tree::open(options.root));
  audit::Observed observed = audit::observe(tree, options.files);
  if (options.watch) return watch(options, tree, observed) ? kYes : kNo;
  PINFOLD_TRY(add_pod_resources(options, observed));
  const audit::Report report = audit::judge(observed);
  const auto noise = measured(options, report, observed);
  if (options.format == OutputFormat::kJson) {
    fmt::print("{}", json_text(AuditedNode{audit::audit_document(report, observed), noise}));
  } else {
    fmt::print("{}", audit_text(report, observed, terminal_style()));
    if (noise) {
      fmt::print("\nNoise on exclusive CPUs ('pinfold noise' has the sources)\n{}",
                 noise_lines(*noise));
    }
  }
  for (const audit::Finding& finding : report.findings) {
    if (finding.severity <= options.fail_on) return kNo;
  }
  return kYes;
}

std::vector<cli::Option> options_of(AuditCommand& options) {
  using audit::Severity;
  return {{"--root", &options.root,
           "Root of the node's file system: / for this machine, the mounted file system of "
           "another one, or a captured tree with /proc and /sys",
           "DIR"},
          output_option(options.format),
          {"--fail-on",
           cli::one_of<Severity>(options.fail_on, {{"error", Severity::kError},
                                                   {"warning", Severity::kWarning},
                                                   {"note", Severity::kNote}}),
           "Lowest severity of a finding that gives exit status 1"},
          {"--kubelet-dir", &options.files.kubelet_dir,
           "The kubelet's root directory on the node [that of the running kubelet, or "
           "/var/lib/kubelet]",
           "DIR"},
          {"--kubelet-config", &options.files.kubelet_config,
           "KubeletConfiguration on the node [that of the running kubelet, or the usual files]",
           "FILE"},
          {"--pod-resources", &options.pod_resources,
           "Also compare with the kubelet's PodResources API: its response to List as JSON, '-' "
           "for standard input",
           "FILE"},
          {.name = "--noise",
           .target = cli::Integer{&options.noise_ms, 0, 3'600'000},
           .help = "Milliseconds to measure what interrupts exclusive CPUs; 0: do not measure "
                   "[200; 0 with another root]",
           .value = "MS"},
          {.name = "--watch",
           .target = &options.watch,
           .help = "Print each overlap when it begins and how long it lasted, until the command is "
                   "interrupted; exit status 1 if there was any",
           .excludes = {"--fail-on", "--pod-resources", "--noise"}},
          {.name = "--interval",
           .target = cli::Integer{&options.interval_ms, 10, 60'000},
           .help = "Milliseconds between two checks",
           .value = "MS",
           .needs = "--watch"},
          {.name = "--for",
           .target = cli::Integer{&options.seconds, 1, INT_MAX},
           .help = "Stop watching after this time",
           .value = "SECONDS",
           .needs = "--watch"}};
}

}  // namespace

cli::Command audit_command() {
  const auto options = std::make_shared<AuditCommand>();
  cli::Command command{"audit",
                       "Check a node that only a kubelet manages: whether its decisions are in "
                       "effect, and what else runs on exclusive CPUs. Changes nothing"};
  command.add(options_of(*options));
  command.run = [options] { return exit_status(audit_node(*options)); };
  command.sections = {
      {"Examples",
       {{"pinfold audit", "Check this node; as root, to read the processes of other users"},
        {"pinfold audit --fail-on error -o json", "The same for monitoring"},
        {"pinfold audit --root /host", "In a privileged container with the node's file system"},
        {"pinfold audit --watch --for 60", "Measure how long overlaps last after pods start"}}}};
  return command;
}

}  // namespace pinfold::tools
