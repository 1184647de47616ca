#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "pinfold/decide/decide.hpp"

/// The parts of the OCI runtime specification that Pinfold uses.
namespace pinfold::tools {

/// The container state that a runtime passes to a hook.
struct HookState {
  std::string id;
  std::string status;  ///< "creating", "created", "running" or "stopped"
  std::string bundle;
  std::int64_t pid = 0;
  std::map<std::string, std::string> annotations;
};
/// Domain: at most 1 MiB.
/// Errors: kInvalidArgument, "state.pid: 'x': expected ...".
[[nodiscard]] Result<HookState> parse_hook_state(std::string_view text);

/// The pod and container that the annotations of a container describe.
struct HookRequest {
  PodSpec pod;            ///< with defaults applied
  std::string container;  ///< name of the container in the pod
};
/// True if the container has an annotation "io.pinfold.*".
[[nodiscard]] bool concerns_pinfold(const HookState& state);
/// Reads the annotations (docs/oci-hook.md). `read_file` returns the contents of a file.
/// Errors: kInvalidArgument with the annotation, also for an unknown one "io.pinfold.*"; those of
/// `read_file`.
[[nodiscard]] Result<HookRequest> read_request(
    const HookState& state,
    const std::function<Result<std::string>(const std::string& path)>& read_file);

/// The `linux.resources` of a config.json for a container with these resources and CPUs.
[[nodiscard]] nlohmann::json oci_resources(const ContainerResources& resources, const CpuSet& cpus);

}  // namespace pinfold::tools
