#include "serve/serve_options.hpp"

#include <fmt/format.h>

#include "agent/agent_arguments.hpp"

namespace pinfold::tools {

cli::Command serve_declaration(const std::shared_ptr<ServeOptions>& options) {
  cli::Command command{
      "serve",
      "Run the service: one process that owns the state directory, answers the commands on a "
      "socket, and reconciles"};
  command.add({
      {"--settings", &options->settings_file,
       "Configuration file of the service [/etc/pinfold/agent.yaml if it exists]", "FILE"},
      {"--state-dir", &options->state_dir, "State directory of the node [/var/lib/pinfold]", "DIR"},
      insecure_state_dir_option(options->insecure_state_dir),
      {"--config", &options->config,
       "KubeletConfiguration [config.yaml in the state directory if it exists, else the kubelet's "
       "defaults]",
       "FILE"},
      {.name = "--kubelet-flags",
       .target = &options->kubelet_flags,
       .help = "Kubelet flags that override the configuration, or a file with them (an "
               "environment file or a systemd unit)",
       .value = "FLAGS",
       .is_verbatim = true},
      {"--machine", &options->machine,
       "The machine, in any form that 'pinfold topology --machine' reads [discovered]", "FILE"},
      {.name = "--profile",
       .target = &options->profile,
       .help = "fixed (without the kubelet's known bugs), or that of a kubelet (with them)",
       .value = "NAME",
       .suggestions = profile_names()},
      {.name = "--kubelet-binary",
       .target = &options->kubelet_binary,
       .help = "Run FILE --version and use the profile of that kubelet, unless the configuration "
               "names one",
       .value = "FILE",
       .excludes = {"--profile"}},
      {"--cgroup-root", &options->cgroup_root, "Cgroup under which Pinfold creates its groups",
       "DIR"},
      {.name = "--no-enforce",
       .target = &options->no_enforce,
       .help = "Decide and store, but change no cgroup",
       .excludes = {"--cgroup-root"}},
      {"--socket", &options->socket, "Socket of the service [/run/pinfold/agent.sock]", "FILE"},
      {"--grpc-socket", &options->grpc_socket, "Also serve the gRPC API pinfold.v1 on this socket",
       "FILE"},
      {"--pod-resources-socket", &options->pod_resources_socket,
       "Also serve the kubelet's PodResources API on this socket; 'off': nowhere [with nri in the "
       "configuration file: pod-resources/kubelet.sock next to the socket of the service]",
       "FILE"},
      {"--metrics-address", &options->metrics_address,
       "Also serve metrics over HTTP at this address, such as '127.0.0.1:9470'", "ADDRESS"},
      {.name = "--interval",
       .target = cli::Integer{&options->interval_s, 1, 3600},
       .help = "Seconds between two reconciliations, 1 to 3600; doubles up to 300 while drift "
               "remains [10]",
       .value = "SECONDS"},
      {"--move-pages", &options->move_pages,
       "Reconciliations also move pages to the desired NUMA nodes"},
      {"--keep-affinity", &options->keep_affinity,
       "Do not reset the CPU affinity that containers inherit from their runtime"},
      {.name = "--log-level",
       .target = &options->log_level,
       .help = "Lowest level to log: debug, info, warning or error [info]",
       .value = "LEVEL",
       .suggestions = {"debug", "info", "warning", "error"}},
      {.name = "--check",
       .target = &options->check,
       .help = "Do not run a service but check the one at the socket: live if it answers, ready "
               "if it also follows a container runtime or does not have to. Exit status 1 if it "
               "is not",
       .value = "WHAT",
       .suggestions = {"live", "ready"}},
  });
  command.sections = {
      {"Examples",
       {{"pinfold serve --settings agent.yaml",
         "Run with this configuration until a signal arrives"},
        {"pinfold serve --check live", "For a liveness probe"}}},
      {"Signals",
       {{"TERM, INT", "Finish the current requests, bring the state files up to date, and exit"},
        {"HUP", "Read the configuration file again; changes that need a restart are logged"}}}};
  return command;
}

}  // namespace pinfold::tools
