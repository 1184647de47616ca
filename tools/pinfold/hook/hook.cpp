#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "commands.hpp"
#include "hook/hooked_container.hpp"
#include "hook/oci.hpp"
#include "hook/pod_file.hpp"
#include "input.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

/// The OCI hook: a runtime runs it at createRuntime and poststop.
namespace pinfold::tools {
namespace {

using agent::NodeAgent;

struct HookOptions {
  AgentArguments agent;
  std::vector<std::string> pod_file_dirs;
  bool no_validation = false;
  bool precreate = false;
  std::string id;  ///< see state_of_config
};

/// Finds and checks the directory of the container's group.
Result<std::string> group_of(const NodeAgent& agent, const enforce::LiveProcess& process) {
  const agent::ObservedCgroups& enforced = *agent.enforced();
  PINFOLD_LET(auto directory, enforced.directory_of_process(process.pid()));
  PINFOLD_LET(auto own, enforced.directory_of_process(::getpid()));
  if (directory == own || (enforced.root() + "/").starts_with(directory + "/")) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the container shares cgroup '{}' with other processes: expected a "
                            "separate cgroup",
                            directory));
  }
  PINFOLD_TRY(check_group(process, directory));
  if (!process.is_running()) {  // then the above may be about a later process with the same id
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("state.pid: {}: the container's process has ended", process.pid()));
  }
  return directory;
}

/// Returns what the author of a container reads about an error that may quote the pod.
verbs::Refusal unanswered(Error error) {
  return {fmt::format("the container is not admitted or removed ({})", to_string(error.code)),
          std::move(error)};
}

Result<void> answer(AgentSession& session, const HookRequest& request,
                    const verbs::Action& action) {
  auto outcome = session.execute<verbs::HookOutcome>(action);
  // Even after a failure, for changes that were stored before it.
  (void)session.checkpoint_journal();
  if (outcome) return answer_of(request, *std::move(outcome));
  return answer_of(request, unanswered(std::move(outcome).error()));
}

Result<void> create(const HookState& state, const HookRequest& request,
                    const HookOptions& options) {
  PINFOLD_LET(const auto pid, container_pid(state.pid));
  PINFOLD_LET(const auto process, open_container_process(pid));
  PINFOLD_LET(auto session, AgentSession::open(options.agent));
  if (!session.view().enforces()) {
    return fail(ErrorCode::kUnsupported, "--no-enforce: the hook needs cgroups to pin a container");
  }
  PINFOLD_LET(const auto directory, group_of(session.view(), process));
  return answer(session, request,
                verbs::AdmitHooked{request.pod, {request.container, directory}, process.id()});
}

void warn_of(const HookRequest& request) {
  for (const std::string& note : request.notes) warn(note);
}

Result<void> handle(const HookState& state, const HookOptions& options) {
  PINFOLD_LET(const auto stage, stage_of(state.status));
  const bool is_created = stage == HookStage::kCreateRuntime;
  const auto validation = is_created && !options.no_validation ? Validation::kOn : Validation::kOff;
  PINFOLD_LET(const auto request, read_request(state, validation, [&](const std::string& path) {
                return read_pod_file(path, options.pod_file_dirs);
              }));
  if (is_created) {
    warn_of(request);
    return create(state, request, options);
  }
  PINFOLD_LET(auto session, AgentSession::open(options.agent));
  return answer(session, request, verbs::RemoveHooked{{request.pod.uid, request.container}});
}

/// Admits the pod of a container that the parent of this process is about to make.
Result<verbs::OwnResources> prepare(const HookState& state, const HookOptions& options) {
  const auto validation = options.no_validation ? Validation::kOff : Validation::kOn;
  PINFOLD_LET(const auto request, read_request(state, validation, [&](const std::string& path) {
                return read_pod_file(path, options.pod_file_dirs);
              }));
  warn_of(request);
  PINFOLD_LET(const auto creator, enforce::LiveProcess::open(::getppid()));
  PINFOLD_LET(auto session, AgentSession::open(options.agent));
  auto prepared = session.execute<verbs::PreparedContainer>(
      verbs::PrepareHooked{request.pod, request.container, creator.id()});
  (void)session.checkpoint_journal();
  if (!prepared) prepared = unanswered(std::move(prepared).error());
  if (auto* const own = std::get_if<verbs::OwnResources>(&*prepared)) return std::move(*own);
  auto refused = answer_of(request, std::get<verbs::Refusal>(*std::move(prepared)));
  return fail(std::move(refused).error());
}

/// Reads a config.json and prints it with what the container asks for.
Result<ExitStatus> run_precreate(const HookOptions& options) {
  PINFOLD_LET(const auto text, read_rest(STDIN_FILENO, "standard input", kMaxHookInput));
  PINFOLD_LET_WRAP(auto config, parse_document(text), "config.json");
  PINFOLD_LET_WRAP(const auto state, state_of_config(config, options.id), "config.json");
  const std::string who = fmt::format("container '{}'", printable(state.id));
  PINFOLD_LET_WRAP(const auto asked, asked_of(state), who);
  if (asked) {
    PINFOLD_LET_WRAP(const auto own, prepare(state, options), who);
    PINFOLD_TRY_WRAP(add_own_resources(own, *asked, config), who);
  }
  fmt::print("{}\n", config.dump());
  return kYes;
}

Result<ExitStatus> run_hook(const HookOptions& options) {
  PINFOLD_LET(const auto text, read_rest(STDIN_FILENO, "standard input", kMaxHookInput));
  PINFOLD_LET(const auto state, parse_hook_state(text));
  if (!concerns_pinfold(state)) return kYes;
  PINFOLD_TRY_WRAP(handle(state, options), fmt::format("container '{}'", printable(state.id)));
  return kYes;
}

}  // namespace

cli::Command hook_command() {
  auto options = std::make_shared<HookOptions>();
  // The author of a container reads the hook's output, which must not mention other pods.
  options->agent.hides_warnings = true;
  cli::Command command{"hook",
                       "OCI hook for createRuntime and poststop: reads the container state from "
                       "standard input, admits the container as its io.pinfold.* annotations "
                       "request, and removes it after it has stopped"};
  command.add(agent_arguments(options->agent));
  command.add({pod_file_dir_option(options->pod_file_dirs),
               socket_option(options->agent),
               no_validation_option(options->no_validation),
               {"--precreate", &options->precreate,
                "For podman's hook point precreate: read a config.json instead, and print it with "
                "the environment variables and the mount that the annotation io.pinfold.assigned "
                "asks for"},
               {"--id", &options->id,
                "With --precreate: the container's id [from linux.cgroupsPath]", "ID"},
               {"--keep-affinity", &options->agent.keeps_affinity,
                "Do not reset the CPU affinity that the container's process has inherited; a "
                "running service follows its own configuration"},
               output_option(options->agent.output)});
  command.sections = {{"Examples",
                       {{"pinfold hook --pod-file-dir /etc/pinfold/pods < state.json",
                         "For container runtimes; not run by users"}}}};
  command.run = [options] {
    return exit_status(options->precreate ? run_precreate(*options) : run_hook(*options));
  };
  return command;
}

}  // namespace pinfold::tools
