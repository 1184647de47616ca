#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/nri/messages.hpp"

/// Reads the annotations of a pod.
namespace pinfold::nri {

/// Returns a pod with containers of these names, without resources.
/// Errors: kInvalidArgument for names and UIDs that Kubernetes would not accept, for two containers
/// with the same name, and if "UID.CONTAINER" would be too long for a UID.
[[nodiscard]] Result<PodSpec> pod_of(const api::PodSandbox& sandbox,
                                     std::span<const api::Container> containers);

/// Returns the pod of kResourcesAnnotation, with the API server's checks and defaults; nullopt
/// without it. Domain: pod_of succeeds. Errors: kInvalidArgument.
[[nodiscard]] Result<std::optional<PodSpec>> announced_pod(const api::PodSandbox& sandbox);

/// Returns the containers of kAnnotatorAnnotation by name. It does not say which init containers
/// are sidecars, so all have the kind kInit. Domain and errors: as for announced_pod.
using AnnotatedContainers = std::map<std::string, Container, std::less<>>;
[[nodiscard]] Result<AnnotatedContainers> annotated_containers(const api::PodSandbox& sandbox);

}  // namespace pinfold::nri
