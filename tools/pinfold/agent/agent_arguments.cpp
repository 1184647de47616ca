#include "agent/agent_arguments.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

namespace pinfold::tools {
namespace {

void print_warning(agent::LogLevel level, std::string_view message) {
  if (level == agent::LogLevel::kWarning) warn(std::string(message));
}

}  // namespace

std::vector<cli::Option> node_options(NodeOptions& options) {
  return {
      {"--config", &options.config,
       "KubeletConfiguration, or a file that contains one; or a directory: the root of the file "
       "system of a node that runs a kubelet, / for this node [config.yaml in the state directory "
       "if it exists, else the kubelet's defaults]",
       "FILE"},
      kubelet_flags_option(options.kubelet_flags),
      {"--machine", &options.machine,
       "The machine: output of 'pinfold topology -o json', a kubelet's MachineInfo, hwloc XML "
       "(also .gz), a directory with sys/ and proc/, or an hwloc synthetic topology [discovered]",
       "FILE"},
      {.name = "--sysfs",
       .target = &options.sysfs,
       .help = "Discover the machine from DIR/sys and DIR/proc",
       .value = "DIR",
       .excludes = {"--machine"}},
      {.name = "--profile",
       .target = &options.profile,
       .help =
           "fixed (without the kubelet's known bugs), or kubelet-1.36, -1.37 or -1.38 (with those "
           "of that kubelet) [from the configuration, else the kubelet that wrote the state files "
           "if they show its version, else fixed]",
       .value = "NAME",
       .suggestions = profile_names()},
      {.name = "--kubelet-binary",
       .target = &options.kubelet_binary,
       .help = "Run FILE --version and use the profile of that kubelet, unless the configuration "
               "names one; 'unit': the program that kubelet.service runs",
       .value = "FILE",
       .excludes = {"--profile"},
       .suggestions = {"unit"}}};
}

std::vector<cli::Option> agent_arguments(AgentArguments& options) {
  std::vector<cli::Option> all = {
      state_dir_option(options.state_dir),
      insecure_state_dir_option(options.insecure_state_dir),
      {"--cgroup-root", &options.cgroup_root,
       "Cgroup under which Pinfold creates its groups [pinfold, at the mount of the cpuset "
       "controller]",
       "DIR"},
      {.name = "--no-enforce",
       .target = &options.no_enforce,
       .help = "Decide and store, but change no cgroup",
       .excludes = {"--cgroup-root"}},
      pod_logs_option(options.pod_logs)};
  const auto node = node_options(options);
  all.insert(all.end(), node.begin(), node.end());
  return all;
}

std::string iomem_of(const NodeOptions& options) {
  if (!options.machine.empty()) return "";
  return (std::filesystem::path(options.sysfs) / "proc/iomem").string();
}

std::string pod_logs_of(const NodeOptions& options) {
  if (!options.pod_logs.empty() || !options.machine.empty()) return options.pod_logs;
  return (std::filesystem::path(options.sysfs) / "var/log/pods").string();
}

agent::AgentOptions agent_options_of(const AgentArguments& options,
                                     agent::ProfileSource profile_source) {
  agent::AgentOptions opened;
  opened.iomem = iomem_of(options);
  opened.pod_logs = pod_logs_of(options);
  opened.profile_source = profile_source;
  opened.move_pages = options.moves_pages;
  opened.reset_affinity = !options.keeps_affinity;
  opened.quiet = options.quiet;
  opened.state_dir = options.state_dir;
  opened.insecure_state_dir = options.insecure_state_dir;
  opened.cgroup_root = options.cgroup_root;
  opened.enforce = !options.no_enforce;
  opened.dry_run = options.dry_run;
  opened.is_query = options.is_query;
  opened.log = options.log;
  if (!opened.log && !options.hides_warnings) opened.log = print_warning;
  return opened;
}

cli::Option kubelet_flags_option(std::vector<std::string>& flags) {
  return {.name = "--kubelet-flags",
          .target = &flags,
          .help =
              "Kubelet flags that override the configuration, or a file with them (an environment "
              "file or a systemd unit); may be repeated",
          .value = "FLAGS",
          .is_verbatim = true,
          .one_at_a_time = true};
}

cli::Option pod_logs_option(std::string& directory) {
  return {"--pod-logs", &directory,
          "The kubelet's directory of container logs, which names pods known only from the "
          "kubelet's files [var/log/pods in the directory of --sysfs; none with --machine]",
          "DIR"};
}

cli::Option state_dir_option(std::string& state_dir) {
  return {"--state-dir", &state_dir, "State directory of the node", "DIR"};
}

cli::Option insecure_state_dir_option(bool& is_insecure) {
  return {"--insecure-state-dir", &is_insecure,
          "For tests: accept a state directory that other users can change"};
}

// Lists the active pods or, with --pod, the containers of one.
constexpr const char* kActiveNames = "status -o name --no-enforce";

cli::Option pod_option(std::string& pod) {
  return {.name = "--pod",
          .target = &pod,
          .help = "UID, name or NAMESPACE/NAME",
          .value = "POD",
          .required = true,
          .suggested_by = kActiveNames};
}

cli::Option container_option(std::string& container) {
  return {.name = "--container",
          .target = &container,
          .help = "Name of the container",
          .value = "NAME",
          .suggested_by = kActiveNames,
          .suggested_with = "--pod"};
}

cli::Option dry_run_option(AgentArguments& options) {
  return {"--dry-run", &options.dry_run, "Decide and print, but store and apply nothing"};
}

cli::Option release_unknown_option(AgentArguments& options) {
  return {"--release-unknown", &options.release_unknown,
          "Release the CPUs and memory of held pods (known only from the kubelet's files): they "
          "no longer run"};
}

void print_dry_run(const AgentArguments& options) {
  if (options.dry_run) fmt::print("nothing stored (--dry-run)\n");
}

}  // namespace pinfold::tools
