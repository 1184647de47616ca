#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "agent/agent_view.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "node/live_node.hpp"
#include "node/noise_scope.hpp"
#include "node/status_picture.hpp"
#include "node/status_watch.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/named_groups.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/forecast/memory_watch.hpp"
#include "pinfold/picture/render_node.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::tools {
namespace {

struct StatusOptions {
  AgentArguments agent;
  std::string svg;
  std::string pod;
  bool watch = false;
  int interval_s = 2;
};

/// Returns the directory with sys/ and proc/ of the machine; "" if a file describes it.
std::string live_root(const AgentArguments& options) {
  return options.machine.empty() ? options.sysfs : "";
}

std::string other_groups_text(const agent::NodeStatus& view) {
  std::string text;
  if (!view.held.empty()) {
    text +=
        "\nHeld pods, known only from the kubelet's files. 'pinfold admit' takes one over;\n"
        "'pinfold remove --pod UID' or 'pinfold reconcile --release-unknown' releases it:\n";
    for (const agent::HeldContainer& held : view.held) {
      const PodRef& pod = held.container.pod;
      text += fmt::format("  {}  {}, memory nodes {}{}\n", escaped(to_string(held.container)),
                          held.cpus.empty() ? "CPUs shared" : cpus_named(held.cpus),
                          held.mems.empty() ? "any" : held.mems.to_string(),
                          pod.name.empty() ? "" : ", UID " + escaped(pod.uid.value));
    }
  }
  if (!view.foreign.empty()) {
    text += "\nForeign groups below the root:\n";
    for (const enforce::ForeignGroup& group : view.foreign) {
      text += fmt::format("  {}{}  {} process{}, {}\n", escaped(group.directory),
                          group.is_own ? " itself" : "", group.processes,
                          group.processes == 1 ? "" : "es", cpus_named(group.cpus));
    }
  }
  return text;
}

/// Says where exporters can read PodResources; "" if the service does not serve it.
std::string pod_resources_text(const verbs::ServiceReport& report) {
  const std::string& reason = report.pod_resources_reason;
  if (report.pod_resources_socket.empty() && reason.empty()) return "";
  const std::string place =
      report.pod_resources_socket.empty() ? "not served" : escaped(report.pod_resources_socket);
  return fmt::format("PodResources: {}{}\n", place,
                     reason.empty() ? "" : " (" + escaped(reason) + ")");
}

/// Lists Guaranteed pods without exclusive CPUs, and CPU limits of containers that have some.
std::string limits_text(const agent::NodeStatus& view) {
  std::string shared;
  std::string throttled;
  for (const agent::PodStatus& pod : view.pods) {
    const bool is_shared =
        pod.qos == QosClass::kGuaranteed &&
        std::all_of(pod.containers.begin(), pod.containers.end(),
                    [](const agent::ContainerStatus& one) { return !one.why_shared.empty(); });
    if (is_shared && !pod.containers.empty()) {
      shared += fmt::format("  {}/{}: {}\n", escaped(pod.spec.namespace_name),
                            escaped(pod.spec.name), escaped(pod.containers.front().why_shared));
    }
    for (const std::string& line : agent::throttles(pod)) throttled += "  " + escaped(line) + "\n";
  }
  std::string text;
  if (!shared.empty()) text += "\nGuaranteed, but without exclusive CPUs:\n" + shared;
  if (!throttled.empty()) text += "\nExclusive CPUs, but with a CPU quota:\n" + throttled;
  return text;
}

/// Returns "requests: 29500m of 30 CPUs, 12Gi of 128Gi of memory"; "requests: at least ..." with
/// pods whose requests are unknown.
std::string requests_text(const std::vector<agent::RequestSum>& sums, bool has_held) {
  const auto amount = [](const std::string& resource, const Quantity& quantity) {
    return resource == "cpu" ? quantity.to_string()
                             : human_bytes(static_cast<std::uint64_t>(quantity.value()));
  };
  std::vector<std::string> parts;
  parts.reserve(sums.size());
  for (const agent::RequestSum& sum : sums) {
    parts.push_back(fmt::format("{} of {} {}", amount(sum.resource, sum.requested),
                                amount(sum.resource, sum.allocatable),
                                sum.resource == "cpu" ? "CPUs" : "of " + sum.resource));
  }
  return fmt::format(
      "requests: {}{}{}\n", has_held ? "at least " : "", fmt::join(parts, ", "),
      has_held ? "; those of pods known only from the kubelet's files are unknown" : "");
}

/// Formats the whole status for people. `picture`: of the node.
std::string status_text(const std::optional<ServiceView>& service, const agent::NodeAgent& agent,
                        const agent::NodeStatus& view, const Picture& picture) {
  const std::string pool = view.shared_pool.to_string();
  const std::string reserved = view.reserved.to_string();
  std::string text = render_node(agent.node().machine(), picture) + "\n";
  const std::string cgroups = agent.enforces() ? fmt::format("{} at {}", agent.enforced()->mode(),
                                                             escaped(agent.enforced()->root()))
                                               : "not enforced";
  text += facts_text({"shared pool: " + (pool.empty() ? "any" : pool),
                      "reserved: " + (reserved.empty() ? "none" : reserved),
                      fmt::format("pods: {}", view.pods.size()), "cgroups: " + cgroups},
                     picture.style);
  text += requests_text(view.requests, !view.held.empty());
  text += (service ? agent::describe_profile(service->profile, service->profile_source)
                   : agent::describe_profile(agent.node().config().profile,
                                             agent.options().profile_source)) +
          "\n";
  if (!view.pods.empty())
    text += "\n" + container_table(view.pods, agent.enforces(), picture.style);
  text += limits_text(view);
  if (service && service->report) text += pod_resources_text(*service->report);
  if (service && service->comparison) text += "\n" + comparison_text(*service->comparison);
  text += other_groups_text(view);
  if (!agent.offline().empty()) {
    text += fmt::format("\n{} of this node {} offline:\n", cpus_named(agent.offline()),
                        one_or_more(agent.offline(), "is", "are"));
    for (const std::string& line : view.affected) text += "  " + escaped(line) + "\n";
  }
  if (!view.machine_changes.empty()) {
    text +=
        "\nThe machine differs from the one in the state ('pinfold reconfigure' adapts the "
        "state):\n";
    for (const std::string& line : view.machine_changes) text += "  " + escaped(line) + "\n";
  }
  if (!view.drift.empty()) {
    text += "\nDrift from the desired state ('pinfold reconcile' corrects it):\n";
    for (const std::string& line : view.drift) text += "  " + escaped(line) + "\n";
  }
  return text;
}

/// Returns the names of active pods, or of the containers of the pod that --pod names.
Result<std::string> names_text(const StatusOptions& options, const agent::NodeAgent& agent,
                               const agent::NodeStatus& view) {
  PodUid uid;
  if (!options.pod.empty()) {
    PINFOLD_LET(uid, agent::find_pod_uid(agent, options.pod));
  }
  std::string names;
  for (const agent::PodStatus& pod : view.pods) {
    if (options.pod.empty()) {
      names += fmt::format("{}/{}\n", pod.spec.namespace_name, pod.spec.name);
    } else if (pod.spec.uid == uid) {
      for (const auto& container : pod.containers) names += container.resources.name + "\n";
    }
  }
  return names;
}

/// Returns a line about the exclusive CPUs; "" if there is nothing to say.
std::string interrupts_text(const std::optional<InterruptReport>& report, const Style& style) {
  if (!report || report->cpus.empty()) return "";
  return "\nInterrupts of exclusive CPUs ('pinfold noise' has all sources and the quiet score):\n" +
         facts_text(interrupt_facts(*report), style);
}

/// What is measured from one frame to the next.
struct Meters {
  InterruptMeter interrupts;
  std::optional<forecast::MemoryWatch> memory;  ///< nullopt: nothing is measured
};

/// Returns one line for each forecast about memory; "" if nothing runs out.
std::string memory_text(Meters& meters, const agent::NodeAgent& agent, const Style& style) {
  if (!meters.memory) return "";
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::string root = agent.enforces() ? agent.enforced()->root() : "";
  const auto forecasts = meters.memory->look(
      now, [&] { return agent::named_groups(agent.node(), agent.state(), root); });
  if (!forecasts || forecasts->empty()) return "";
  std::string text = "\nMemory that runs out:\n";
  for (const forecast::Forecast& one : *forecasts) {
    text += wrapped_lines("  " + escaped(to_string(one)) + "\n", style);
  }
  return text;
}

/// Formats the status in the requested format. `load`: of CPUs; may be empty.
Result<WatchFrame> make_frame(const StatusOptions& options, const std::map<CpuId, double>& load,
                              Meters& meters) {
  PINFOLD_LET(auto agent, open_agent(options.agent));
  PINFOLD_LET(const auto view, agent::node_status(agent));
  const auto interrupts = meters.interrupts.read(exclusive_scope(agent, view));
  const ExitStatus status = view.ok ? kYes : kNo;
  Picture picture = picture_of(agent, view, live_root(options.agent));
  if (!options.svg.empty()) {
    const Machine& machine = agent.node().machine();
    PINFOLD_TRY(write_svg(options.svg, "Status of " + machine.name(),
                          {{"", machine, picture, notes_of(view)}}));
  }
  const bool is_names = options.agent.output == OutputFormat::kName;
  const auto service = is_names ? std::nullopt : read_service(options.agent);
  if (options.agent.output == OutputFormat::kJson) {
    StatusDocument document{view, std::nullopt, std::nullopt, {}, interrupts};
    if (service) {
      document.comparison = service->comparison;
      if (service->report) document.pod_resources = verbs::pod_resources_of(*service->report);
      document.node.profile = service->profile;
      document.node.profile_source = service->profile_source;
    }
    for (const auto& [cpu, share] : load) document.load[std::to_string(cpu.value)] = share;
    return WatchFrame{json_text(document, options.watch ? -1 : 2), status};
  }
  if (is_names) {
    PINFOLD_LET(auto names, names_text(options, agent, view));
    return WatchFrame{std::move(names), status};
  }
  picture.load = load;
  return WatchFrame{status_text(service, agent, view, picture) +
                        interrupts_text(interrupts, picture.style) +
                        memory_text(meters, agent, picture.style),
                    status};
}

/// Measures the load since the last call; the first call measures a short time.
class LoadMeter {
 public:
  explicit LoadMeter(std::string root) : root_(std::move(root)) {}
  [[nodiscard]] std::map<CpuId, double> read() {
    if (root_.empty()) return {};
    if (last_.empty()) {
      last_ = read_cpu_times(root_);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    auto now = read_cpu_times(root_);
    auto loads = loads_between(last_, now);
    last_ = std::move(now);
    return loads;
  }

 private:
  std::string root_;
  std::map<CpuId, CpuTime> last_;
};

Result<ExitStatus> run(const StatusOptions& options) {
  if (!options.pod.empty() && options.agent.output != OutputFormat::kName) {
    return fail(ErrorCode::kInvalidArgument, "--pod: only allowed with '-o name'");
  }
  if (!options.watch) {
    Meters nothing{InterruptMeter(""), std::nullopt};
    PINFOLD_LET(const auto frame, make_frame(options, {}, nothing));
    fmt::print("{}", frame.text);
    return options.agent.output == OutputFormat::kName ? kYes : frame.status;
  }
  const std::string root = live_root(options.agent);
  LoadMeter meter(root);
  Meters meters{InterruptMeter(root), std::nullopt};
  if (!root.empty()) meters.memory.emplace(root);
  return watch_frames(std::chrono::seconds(options.interval_s),
                      [&] { return make_frame(options, meter.read(), meters); });
}

}  // namespace

cli::Command status_command() {
  auto options = std::make_shared<StatusOptions>();
  options->agent.is_query = true;
  cli::Command command{"status",
                       "Show the desired and observed CPUs and NUMA nodes of every container"};
  command.add(agent_arguments(options->agent));
  cli::Option pod = pod_option(options->pod);
  pod.required = false;
  pod.help = "With -o name: the containers of the pod with this UID, name or NAMESPACE/NAME";
  command.add(
      {socket_option(options->agent),
       {"-o,--output",
        cli::one_of<OutputFormat>(options->agent.output, {{"text", OutputFormat::kText},
                                                          {"json", OutputFormat::kJson},
                                                          {"name", OutputFormat::kName}}),
        "Output format: text for people, json for programs, name for the active pods as "
        "NAMESPACE/NAME, one per line"},
       std::move(pod),
       svg_option(options->svg),
       {.name = "--watch",
        .target = &options->watch,
        .help = "Redraw periodically with each CPU's load until interrupted or q is pressed; "
                "with -o json print one line per update",
        .excludes = {"--svg"}},
       {.name = "--interval",
        .target = cli::Integer{&options->interval_s, 1, 3600},
        .help = "With --watch: seconds between two pictures, 1 to 3600",
        .value = "SECONDS",
        .needs = "--watch"}});
  command.sections = {
      {"Examples",
       {{"pinfold status", "Draw the node with the owners of its CPUs and memory"},
        {"pinfold status --watch", "The same, redrawn every 2 seconds with the load of each CPU"},
        {"pinfold status --svg node.svg", "Also write it as an image"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
