#pragma once

#include <optional>
#include <string_view>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/nri/messages.hpp"
#include "pinfold/nri_pods/premises.hpp"

/// Checks an annotation against what the kubelet has sent.
namespace pinfold::nri {

/// Checks the QoS class and the totals of pod_resources.
[[nodiscard]] Result<void> verify_pod(const PodSpec& announced, const api::PodSandbox& sandbox,
                                      const Premises& premises);

/// Checks the shares, quota and limits of a container. `of_pod` is the pod-level resources that
/// apply where the container has no amount of its own, or nullptr. `path` is the container's name
/// in errors. Errors: as above.
[[nodiscard]] Result<void> verify_container(const Container& announced, const Resources* of_pod,
                                            const api::Container& shown, std::string_view path);

}  // namespace pinfold::nri
