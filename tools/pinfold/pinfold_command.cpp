#include "pinfold_command.hpp"

#include "commands.hpp"

namespace pinfold::tools {
namespace {

constexpr const char* kHelp = "pinfold help checkpoint verify";

/// Documents the exit statuses, on which scripts depend.
cli::Section exit_statuses() {
  return {"Exit status",
          {{"0", "Success (admitted; equal), even if there were warnings"},
           {"1",
            "A negative result, listed below by command. For commands that change containers also: "
            "decided and stored, but not applied to the kernel"},
           {"1 from admit, explain", "A pod is rejected"},
           {"1 from audit",
            "A finding is at least as severe as --fail-on; with --watch: there was an "
            "overlap"},
           {"1 from barrier status", "The container runtime does not run the gate"},
           {"1 from checkpoint convert", "The kubelet would not start with the files"},
           {"1 from checkpoint diff", "The states differ"},
           {"1 from checkpoint repair", "Something would be lost, or the kubelet would not start"},
           {"1 from checkpoint verify", "None of the selected kubelets loads a file"},
           {"1 from defragment", "No moves that make room for the pod were found"},
           {"1 from doctor", "There is a problem (warnings do not count)"},
           {"1 from predict", "No node admits a pod"},
           {"1 from quiet --restore", "Something could not be restored"},
           {"1 from reconcile", "Drift remains"},
           {"1 from reconfigure", "Pods would be removed, and --evict does not permit it"},
           {"1 from remove", "Processes still run, and --kill was not given"},
           {"1 from resize", "The resize was rejected; the container's CPUs are unchanged"},
           {"1 from serve --check", "The service is not live or ready"},
           {"1 from simulate",
            "A pod is rejected (with two configurations: only by the second); with --compare: a "
            "vector differs"},
           {"1 from status", "Drift, or offline CPUs"},
           {"2", "An error; nothing has changed"},
           {"3",
            "An error with unknown outcome: all or part of the change may have been made, for "
            "example because the connection to the service broke or the output could not be "
            "written. The message says why; 'pinfold status' shows the state, and the command can "
            "be repeated"},
           {"130 from simulate", "Interrupted; the output is incomplete"}}};
}

}  // namespace

cli::Command pinfold_command(const std::vector<std::string>& arguments) {
  return {
      .name = "pinfold",
      .help =
          "Assigns CPUs and NUMA nodes to containers by the kubelet's rules and enforces them with "
          "cgroups.",
      .commands = {checkpoint_command(),    admit_command(),
                   explain_command(),       start_command(),
                   resize_command(),        remove_command(),
                   status_command(),        who_command(),
                   noise_command(),         quiet_command(),
                   reconcile_command(),     reconfigure_command(),
                   defragment_command(),    metrics_command(),
                   simulate_command(),      hook_command(),
                   barrier_command(),       serve_command(arguments),
                   oci_resources_command(), topology_command(),
                   predict_command(),       audit_command(),
                   doctor_command(),        completion_command([] { return pinfold_command(); }),
                   cli::help_command(kHelp)},
      .version = PINFOLD_VERSION,
      .summary = "assign CPUs and NUMA nodes to containers by the kubelet's rules",
      .subject_options = {"--state-dir", "--config", "--machine", "--sysfs"},
      .sections = {
          exit_statuses(),
          {"Examples",
           {{"pinfold topology", "Draw the sockets, NUMA nodes and CPUs of this machine"},
            {"pinfold admit --dry-run --explain pod.yaml",
             "Print which CPUs and memory a pod would get, and why"},
            {"pinfold admit pod.yaml", "Admit the pod, and pin its containers when they start"},
            {"pinfold explain pod.yaml",
             "Print what a rejected pod is missing, who holds it and what would make it fit"},
            {"pinfold explain --pod default/web",
             "Explain why an active pod has its CPUs and memory"},
            {"pinfold status", "Compare the desired and observed CPUs of every container"},
            {"pinfold status --watch", "Show the same as a picture with the load of each CPU"},
            {"pinfold who 17", "Show who owns CPU 17 and what runs there"},
            {"pinfold noise", "Measure what interrupts exclusive CPUs"},
            {"pinfold resize default/web --container main --cpu 4",
             "Give a running container 4 exclusive CPUs"},
            {"pinfold remove --pod default/web", "Remove the pod and release its resources"},
            {"kubectl get pod web -o yaml | pinfold predict --nodes nodes.yaml --pod -",
             "Predict which nodes would admit a pod"},
            {"pinfold checkpoint verify /var/lib/kubelet",
             "Check which kubelets load the state files of a directory"},
            {"pinfold audit", "Check a node that only a kubelet manages"},
            {"pinfold doctor", "Check that this machine has what Pinfold needs"}}},
          {"Environment",
           {{"NO_COLOR", "If set: no colours, even on a terminal. TERM=dumb has the same effect"},
            {"LC_ALL, LC_CTYPE, LANG",
             "The first one that is set chooses between Unicode and ASCII frames"}}},
          {"Files",
           {{"/var/lib/pinfold", "Default state directory"},
            {"/var/lib/pinfold/config.yaml", "Default KubeletConfiguration"}}},
          {"See also",
           {{"cgroups(7), cpuset(7), numa(7), lstopo(1)",
             "Reference for the kubelet's part: "
             "https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/"}}}}};
}

}  // namespace pinfold::tools
