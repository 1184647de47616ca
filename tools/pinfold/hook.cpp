#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "agent_options.hpp"
#include "commands.hpp"
#include "input.hpp"
#include "oci.hpp"
#include "pod_validation.hpp"

/// The OCI hook: a runtime runs it at createRuntime and poststop.
namespace pinfold::tools {
namespace {

using agent::NodeAgent;
using agent::RunningProcesses;

struct HookOptions {
  AgentOptions agent;
  bool no_validation = false;
};

Result<agent::Adoption> group_of(NodeAgent& agent, const HookState& state,
                                 const std::string& container) {
  if (!agent.enforces()) {
    return fail(ErrorCode::kUnsupported, "--no-enforce: the hook needs cgroups to pin a container");
  }
  if (state.pid <= 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("state.pid: {}: expected the container's process", state.pid));
  }
  PINFOLD_LET(auto directory,
              agent.enforced()->directory_of_process(static_cast<pid_t>(state.pid)));
  PINFOLD_LET(auto own, agent.enforced()->directory_of_process(::getpid()));
  if (directory == own || (agent.enforced()->root() + "/").starts_with(directory + "/")) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the container shares cgroup '{}' with other processes: expected a "
                            "separate cgroup",
                            directory));
  }
  return agent::Adoption{container, std::move(directory)};
}

/// Admits and starts the container. If that fails after the admission, removes the container again.
Result<void> admit(NodeAgent& agent, const HookState& state, const HookRequest& request) {
  (void)agent.remove_abandoned();  // containers whose runtime died must not block this one
  PINFOLD_LET(auto adoption, group_of(agent, state, request.container));
  PINFOLD_LET(auto outcome, agent.admit_adopted(request.pod, adoption));
  if (outcome.rejection) {
    return fail(ErrorCode::kUnsupported, fmt::format("rejected, {}: {}", outcome.rejection->reason,
                                                     outcome.rejection->message));
  }
  std::optional<Error> failure = outcome.not_enforced;
  if (!failure) {
    auto started = agent.start({request.pod.uid, request.container});
    failure = started ? started->not_enforced : std::move(started).error();
  }
  if (!failure) return {};
  // The runtime ends a container whose hook fails; killed here, so that nothing runs unpinned.
  (void)agent.remove_adopted({request.pod.uid, request.container}, RunningProcesses::kKill);
  return fail(*std::move(failure));
}

Result<void> remove(NodeAgent& agent, const HookRequest& request) {
  const PodSpec& pod = request.pod;
  if (agent.state().node.find(pod.uid) == nullptr) return {};  // already removed
  PINFOLD_LET(auto outcome,
              agent.remove_adopted({pod.uid, request.container}, RunningProcesses::kRefuse));
  if (outcome.not_enforced) return fail(*std::move(outcome.not_enforced));
  return {};
}

Result<ExitStatus> run_hook(const HookOptions& options) {
  PINFOLD_LET(auto text, read_input("-"));
  PINFOLD_LET(auto state, parse_hook_state(text));
  if (!concerns_pinfold(state)) return kYes;
  const std::string about = fmt::format("container '{}'", state.id);
  PINFOLD_LET_WRAP(auto request, read_request(state, read_input), about);
  const bool is_stopped = state.status == "stopped";
  if (!is_stopped && !options.no_validation) {
    PINFOLD_TRY_WRAP(validate_all({request.pod}), about);
  }
  PINFOLD_LET_WRAP(auto agent, open_agent(options.agent), about);
  PINFOLD_TRY_WRAP(is_stopped ? remove(agent, request) : admit(agent, state, request), about);
  return kYes;
}

}  // namespace

cli::Command hook_command() {
  auto options = std::make_shared<HookOptions>();
  cli::Command command{"hook",
                       "OCI hook for createRuntime and poststop: reads the container state from "
                       "standard input, admits the container as its io.pinfold.* annotations "
                       "request, and removes it after it has stopped"};
  command.add(agent_options(options->agent));
  command.add({no_validation_option(options->no_validation), output_option(options->agent.output)});
  command.run = [options] { return exit_status(run_hook(*options)); };
  return command;
}

}  // namespace pinfold::tools
