#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "agent_options.hpp"
#include "oci.hpp"

/// The OCI hook: a runtime runs it at createRuntime and poststop.
namespace pinfold::tools {
namespace {

using agent::NodeAgent;
using agent::RunningProcesses;

Result<agent::Adoption> group_of(NodeAgent& agent, const HookState& state,
                                 const std::string& container) {
  if (!agent.enforces()) {
    return fail(ErrorCode::kUnsupported,
                "a hook without cgroups pins nothing: expected to enforce");
  }
  if (state.pid <= 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("state.pid: {}: expected the container's process", state.pid));
  }
  PINFOLD_LET(auto directory, agent.cgroups()->directory_of(static_cast<pid_t>(state.pid)));
  PINFOLD_LET(auto own, agent.cgroups()->directory_of(::getpid()));
  if (directory == own || (agent.cgroups()->root() + "/").starts_with(directory + "/")) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the container runs in '{}' together with others: expected a control "
                            "group of its own",
                            directory));
  }
  return agent::Adoption{container, std::move(directory)};
}

/// Whatever stops a container from starting takes its pod back first.
Result<void> admit(NodeAgent& agent, const HookState& state, const HookRequest& request) {
  (void)agent.remove_abandoned();  // containers whose runtime died must not stand in the way
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
  // The runtime ends a container that its hook refused; here, so that nothing runs unpinned.
  (void)agent.remove_adopted({request.pod.uid, request.container}, RunningProcesses::kKill);
  return fail(*std::move(failure));
}

Result<void> release(NodeAgent& agent, const HookRequest& request) {
  const PodSpec& pod = request.pod;
  if (agent.state().node.find(pod.uid) == nullptr) return {};  // nothing to give back: fine
  PINFOLD_LET(auto outcome,
              agent.remove_adopted({pod.uid, request.container}, RunningProcesses::kRefuse));
  if (outcome.not_enforced) return fail(*std::move(outcome.not_enforced));
  return {};
}

Result<void> run_hook(const AgentOptions& options) {
  PINFOLD_LET(auto text, read_input("-"));
  PINFOLD_LET(auto state, parse_hook_state(text));
  if (!concerns_pinfold(state)) return {};
  const std::string about = fmt::format("container '{}'", state.id);
  PINFOLD_LET_WRAP(auto request, read_request(state, read_input), about);
  PINFOLD_LET_WRAP(auto agent, open_agent(options), about);
  PINFOLD_TRY_WRAP(
      state.status == "stopped" ? release(agent, request) : admit(agent, state, request), about);
  return {};
}

}  // namespace

void add_hook(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<AgentOptions>();
  CLI::App* const command = app.add_subcommand(
      "hook",
      "OCI hook for createRuntime and poststop: reads the container's state from standard input, "
      "gives it what its io.pinfold.* annotations ask for, and takes it back");
  add_agent_options(*command, *options);
  command->callback([options, &exit_status] {
    auto done = run_hook(*options);
    exit_status = done ? kYes : report(done.error());
  });
}

}  // namespace pinfold::tools
