#include "what_if/simulate_pods.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "agent/config_source.hpp"
#include "input.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/picture/render_node.hpp"
#include "pinfold/simulate/workload.hpp"
#include "stop_signals.hpp"
#include "what_if/simulate_text.hpp"

namespace pinfold::tools {
namespace {

constexpr auto kInterrupted = static_cast<ExitStatus>(128 + SIGINT);

/// A line on a terminal that shows the progress of a long run.
class ProgressLine {
 public:
  ProgressLine(std::string label, std::size_t all) : label_(std::move(label)), all_(all) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (is_drawn_) fmt::print(stderr, "\r\x1b[K");
  }

  void show(std::size_t happened) {
    if (!is_terminal_ || Clock::now() < next_) return;
    next_ = Clock::now() + kInterval;
    is_drawn_ = true;
    fmt::print(stderr, "\r{}: {} of {} events ({} %)", label_, happened, all_,
               happened * 100 / all_);
    (void)std::fflush(stderr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{200};
  std::string label_;
  std::size_t all_;
  bool is_terminal_ = ::isatty(STDERR_FILENO) != 0;
  bool is_drawn_ = false;
  Clock::time_point next_ = Clock::now() + kInterval;  // a short run shows no progress
};

/// The machine, configuration and events of a simulation.
struct SimulationInput {
  Machine machine;
  std::optional<Config> config;  ///< of the state directory
  std::vector<simulate::PodEvent> events;
  std::optional<SimulatedNode> now;  ///< with a state directory
};

Result<Machine> machine_of(const SimulatedPods& options) {
  if (options.synthetic) {
    PINFOLD_LET_WRAP(auto machine, discover(HwlocSynthetic{*options.synthetic}, "synthetic"),
                     "--synthetic");
    return machine;
  }
  NodeOptions node;
  node.machine = options.machine;
  return read_machine(node);
}

Result<Config> config_of(const SimulatedPods& options, const std::string& file) {
  NodeOptions node;
  node.config = file;
  if (options.compared.empty()) node.kubelet_flags = options.kubelet_flags;
  node.profile = options.profile;
  // Without a file, use the defaults, not the configuration of this machine.
  if (!names_config(node)) {
    PINFOLD_LET(auto defaults, read_config(node, std::string("kind: KubeletConfiguration")));
    return std::move(defaults.config);
  }
  PINFOLD_LET(auto parsed, read_config(node));
  return std::move(parsed.config);
}

/// Returns the pods of an agent and its current node. Only reads the directory.
Result<SimulationInput> live_subject(const SimulatedPods& options) {
  AgentArguments of_directory;
  of_directory.state_dir = *options.state_dir;
  of_directory.insecure_state_dir = options.insecure_state_dir;
  of_directory.no_enforce = true;
  of_directory.is_query = true;
  auto opened = agent_options_of(of_directory, agent::ProfileSource::kConfiguration);
  PINFOLD_LET(auto stored, agent::read_stored_node(opened));
  PINFOLD_LET(const auto agent,
              agent::open_agent(stored.machine, stored.config, std::move(opened)));
  const NodeState& state = agent.state().node;
  if (!state.held.empty()) {
    warn(fmt::format("left out: {} known only from the kubelet's files",
                     counted(state.held.size(), "pod")));
  }
  std::vector<PodSpec> pods;
  for (const ActivePod& pod : state.pods) pods.push_back(pod.spec);
  if (pods.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--state-dir '{}': no pod is active: expected at least one",
                            *options.state_dir));
  }
  PINFOLD_LET(auto events, simulate::arrivals(pods));
  PINFOLD_LET(auto node, agent::make_node(stored.machine, stored.config));
  auto as_it_is = simulate::as_it_is(node, state);
  return SimulationInput{std::move(stored.machine), std::move(stored.config), std::move(events),
                         SimulatedNode{"now", std::move(node), std::move(as_it_is)}};
}

Result<SimulationInput> subject_of(const SimulatedPods& options) {
  const int sources =
      (options.state_dir ? 1 : 0) + (options.workload ? 1 : 0) + (options.files.empty() ? 0 : 1);
  if (sources != 1) {
    return fail(ErrorCode::kInvalidArgument,
                "pods: expected exactly one of manifests, --workload and --state-dir");
  }
  if (options.state_dir) return live_subject(options);
  PINFOLD_LET(auto machine, machine_of(options));
  if (options.workload) {
    PINFOLD_LET_WRAP(const auto workload, simulate::parse_workload(*options.workload),
                     "--workload");
    return SimulationInput{std::move(machine), std::nullopt, simulate::events_of(workload),
                           std::nullopt};
  }
  PINFOLD_LET(const auto pods, read_pods(options.files, RejectedPods::kDecide));
  PINFOLD_TRY(validate_all(pods));
  PINFOLD_LET(auto events, simulate::arrivals(pods));
  return SimulationInput{std::move(machine), std::nullopt, std::move(events), std::nullopt};
}

Result<SimulatedNode> simulate_one(const SimulatedPods& options, const std::string& file,
                                   const SimulationInput& subject, StopSignals& stop) {
  Config config = subject.config.value_or(Config());
  if (!file.empty() || !options.kubelet_flags.empty() || !subject.config) {
    PINFOLD_LET(config, config_of(options, file));
  }
  const std::string label = file.empty() ? subject.config ? "admitted again" : "defaults" : file;
  PINFOLD_LET_WRAP(auto node, agent::make_node(subject.machine, config), label);
  ProgressLine line(label, subject.events.size());
  PINFOLD_LET(auto result, simulate::simulate_pods(node, subject.events, [&](std::size_t happened) {
                line.show(happened);
                return !stop.wait(std::chrono::milliseconds(0));
              }));
  return SimulatedNode{label, std::move(node), std::move(result)};
}

void print(const SimulatedPods& options, const std::vector<SimulatedNode>& runs, bool is_complete) {
  if (options.output == OutputFormat::kJson) {
    SimulateDocument document{runs.front().node.machine().name(), is_complete, {}, {}};
    for (const SimulatedNode& run : runs) document.runs.push_back(simulation_document(run));
    if (runs.size() > 1) document.compared = comparison_document(runs.front(), runs.back());
    fmt::print("{}", json_text(document));
    return;
  }
  if (runs.size() == 1) {
    fmt::print("{}", simulation_text(runs.front(), options.picture));
    return;
  }
  fmt::print("{}", comparison_text(runs.front(), runs.back(), !options.workload));
  for (const SimulatedNode& run : runs) {
    if (!options.picture) break;
    fmt::print("\n{}\n{}", run.label, render_node(run.node.machine(), picture_of(run)));
  }
  if (options.state_dir) {
    fmt::print(
        "\nThese are admissions on an empty node. 'pinfold reconfigure --dry-run' plans the "
        "change\n"
        "for the running pods, and keeps what it can.\n");
  }
}

bool has_rejections(const std::vector<SimulatedNode>& runs) {
  const auto& last = runs.back().result.pods;
  const auto& first = runs.front().result.pods;
  for (std::size_t i = 0; i < last.size(); ++i) {
    if (!last[i].rejection) continue;
    if (runs.size() == 1 || i >= first.size() || !first[i].rejection) return true;
  }
  return false;
}

}  // namespace

bool SimulatedPods::is_asked_for() const {
  return !config.empty() || !kubelet_flags.empty() || !machine.empty() || synthetic || workload ||
         state_dir || !compared.empty();
}

Result<ExitStatus> simulate_pods_of(SimulatedPods options) {
  std::vector<std::string> configs = {options.config};
  if (!options.compared.empty()) {
    if (options.compared.size() < 2) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--compare-config '{}': expected two configurations",
                              options.compared.front()));
    }
    configs.assign(options.compared.begin(), options.compared.begin() + 2);
    options.files.insert(options.files.end(), options.compared.begin() + 2, options.compared.end());
  }
  PINFOLD_LET(auto subject, subject_of(options));
  StopSignals stop;
  std::vector<SimulatedNode> runs;
  if (subject.now && options.compared.empty()) runs.push_back(*std::move(subject.now));
  for (const std::string& file : configs) {
    PINFOLD_LET(auto run, simulate_one(options, file, subject, stop));
    runs.push_back(std::move(run));
  }
  const bool is_complete = runs.back().result.events == subject.events.size();
  print(options, runs, is_complete);
  if (!is_complete) {
    warn(fmt::format("stopped after {} of {} events", runs.back().result.events,
                     subject.events.size()));
    return kInterrupted;
  }
  return has_rejections(runs) ? kNo : kYes;
}

}  // namespace pinfold::tools
