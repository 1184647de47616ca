#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "pinfold/decide/decide.hpp"

/// What the OCI runtime specification says, as far as Pinfold needs it.
namespace pinfold::tools {

/// The state of a container as a runtime hands it to a hook.
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

/// What a container wants, from its annotations.
struct HookRequest {
  PodSpec pod;            ///< with defaults applied
  std::string container;  ///< which one of the pod it is
};
/// True if there is an annotation of ours: "io.pinfold.*".
[[nodiscard]] bool concerns_pinfold(const HookState& state);
/// Reads the annotations (docs/oci-hook.md). `read_file` gives the text of a file.
/// Errors: kInvalidArgument with the annotation, also for one of ours that is not known; those of
/// `read_file`.
[[nodiscard]] Result<HookRequest> read_request(
    const HookState& state,
    const std::function<Result<std::string>(const std::string& path)>& read_file);

/// The `linux.resources` of a config.json for what was decided.
[[nodiscard]] nlohmann::json oci_resources(const ContainerResources& decided, const CpuSet& cpus);

}  // namespace pinfold::tools
