#pragma once

#include <optional>
#include <string_view>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/nri/messages.hpp"
#include "pinfold/nri_pods/recover.hpp"

/// What an annotation says against what the kubelet has sent.
namespace pinfold::nri {

/// The QoS class and the totals of pod_resources.
/// Errors: kInvalidArgument, "field: 'value': gives ..., expected ...".
[[nodiscard]] Result<void> verify_pod(const PodSpec& announced, const api::PodSandbox& sandbox,
                                      const Premises& premises);

/// The shares, quota and limits of a container. `of_pod`: the pod-level resources that it has an
/// amount from if it has none of its own; or nullptr. `path`: what errors call the container.
/// Errors: the same.
[[nodiscard]] Result<void> verify_container(const Container& announced, const Resources* of_pod,
                                            const api::Container& shown, std::string_view path);

}  // namespace pinfold::nri
