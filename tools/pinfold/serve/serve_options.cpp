#include "serve/serve_options.hpp"

#include <fmt/format.h>

#include "agent/agent_options.hpp"

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
       .help = "Flags of a kubelet over the configuration, or a file with them: an environment "
               "file, a unit of systemd",
       .value = "FLAGS",
       .is_verbatim = true},
      {"--machine", &options->machine,
       "The machine, in any form that 'pinfold topology --machine' reads [discovered]", "FILE"},
      {.name = "--profile",
       .target = &options->profile,
       .help = "fixed, or that of a kubelet: without or with its known bugs",
       .value = "NAME",
       .suggestions = profile_names()},
      {.name = "--kubelet-binary",
       .target = &options->kubelet_binary,
       .help = "Run FILE --version and use the profile of that kubelet, unless the configuration "
               "has one",
       .value = "FILE",
       .excludes = {"--profile"}},
      {"--cgroup-root", &options->cgroup_root, "Cgroup below which Pinfold keeps all groups",
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
       "configuration file: pod-resources/kubelet.sock beside the socket of the service]",
       "FILE"},
      {"--metrics-address", &options->metrics_address,
       "Also serve metrics over HTTP at this address, '127.0.0.1:9470'", "ADDRESS"},
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
       .help = "The least level that is logged: debug, info, warning or error [info]",
       .value = "LEVEL",
       .suggestions = {"debug", "info", "warning", "error"}},
      {.name = "--check",
       .target = &options->check,
       .help = "Run no service, but ask the one at the socket: live, if it answers; ready, if it "
               "also follows a container runtime or need not. Status 1: it is not",
       .value = "WHAT",
       .suggestions = {"live", "ready"}},
  });
  command.sections = {
      {"Examples",
       {{"pinfold serve --settings agent.yaml",
         "Run with this configuration until a signal arrives"},
        {"pinfold serve --check live", "What a liveness probe runs"}}},
      {"Signals",
       {{"TERM, INT", "Finish the requests that are being done, settle the state, and exit"},
        {"HUP", "Read the configuration file again; what needs a restart is logged"}}}};
  return command;
}

}  // namespace pinfold::tools
