#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/api/assigned_variables.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/verbs/hooked.hpp"

/// The parts of the OCI runtime specification that Pinfold uses.
namespace pinfold::tools {

/// The maximum that the hook reads from its standard input or a pod file, in bytes.
inline constexpr std::size_t kMaxHookInput = std::size_t{1} << 20U;

/// The container state that a runtime passes to a hook.
struct HookState {
  std::string id;
  std::string status;  ///< see stage_of
  std::string bundle;
  std::int64_t pid = 0;
  std::map<std::string, std::string> annotations;
};
/// Parses the state. Domain: at most kMaxHookInput bytes.
/// Errors: kInvalidArgument, "state.pid: 'x': expected ...".
[[nodiscard]] Result<HookState> parse_hook_state(std::string_view text);

/// The hook points that Pinfold handles.
enum class HookStage { kCreateRuntime, kPoststop };
/// Returns the hook point for the status of a container.
/// Errors: kInvalidArgument for "running" (the hook would be too late) and for an unknown status.
/// Source: OCI runtime specification 1.0.2, State and Lifecycle. crun sends "created" and runc
/// "creating" at createRuntime, both "stopped" at poststop.
[[nodiscard]] Result<HookStage> stage_of(std::string_view status);
/// Checks the id of a container's first process, which exists at createRuntime.
/// Errors: kInvalidArgument unless it is 2 to the maximum of Linux (PID_MAX_LIMIT).
[[nodiscard]] Result<pid_t> container_pid(std::int64_t pid);

/// Returns the annotations of a container that is about to be made, from its config.json. `id`: its
/// id; "": the last part of linux.cgroupsPath, which podman derives from the id.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<HookState> state_of_config(const nlohmann::json& config,
                                                const std::string& id);
/// Returns a container's request to learn its resources, by io.pinfold.assigned; nullopt: none.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<std::optional<AssignedVariables>> asked_of(const HookState& state);
/// Adds environment variables and the mount of a container's files to its config.json.
/// Errors: kInvalidArgument if the document has no place for them.
[[nodiscard]] Result<void> add_own_resources(const verbs::OwnResources& own,
                                             const AssignedVariables& asked,
                                             nlohmann::json& config);

/// The pod and container that the annotations of a container describe.
struct HookRequest {
  PodSpec pod;                          ///< with defaults applied
  std::string container;                ///< name of the container in the pod
  std::string pod_file;                 ///< the source of the pod; "": the annotations
  std::vector<std::string> notes = {};  ///< what its author should know
};
/// Whether a pod is checked as the API server does.
enum class Validation { kOn, kOff };
/// Returns true if the container has an annotation "io.pinfold.*".
[[nodiscard]] bool concerns_pinfold(const HookState& state);
/// Reads the annotations (docs/oci-hook.md). `read_file` returns the contents of a pod file.
/// Errors: kInvalidArgument with the annotation, including for an unknown "io.pinfold.*"; those of
/// `read_file`. No message quotes the pod file, because the author of a container reads the
/// message, but may not be permitted to read the file.
[[nodiscard]] Result<HookRequest> read_request(
    const HookState& state, Validation validation,
    const std::function<Result<std::string>(const std::string& path)>& read_file);

/// The CPUs of commands that are executed in a container, such as probes.
enum class ExecCpus {
  kAll,    ///< "all": those of the container
  kFirst,  ///< "first": the first one of them; the others are left to the program
};

/// Returns the part of an OCI config.json (1.3) that a container with these resources and CPUs
/// needs: linux.resources, linux.memoryPolicy if its memory is assigned, and
/// process.execCPUAffinity if its CPUs are exclusive to it or its pod, so that commands that are
/// run in it use these CPUs even if the runtime uses others. The values are the current ones: after
/// a move the container needs a new document.
[[nodiscard]] nlohmann::json oci_config(const ContainerResources& resources, const CpuSet& cpus,
                                        ExecCpus exec);

}  // namespace pinfold::tools
