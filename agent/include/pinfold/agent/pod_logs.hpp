#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pinfold/types/pod_ref.hpp"

/// The kubelet's log directories of containers. They are named after the pods, so a node finds
/// there the names of pods that its state files list by UID.
namespace pinfold::agent {

/// Reads "NAMESPACE_NAME_UID"; nullopt for anything else.
/// Source: kubelet v1.36.2, pkg/kubelet/kuberuntime/helpers.go BuildPodLogsDirectory.
[[nodiscard]] std::optional<PodRef> parse_pod_log_name(std::string_view name);

/// Returns the names of those of `pods` that have a directory of logs in `directory`. Empty if it
/// cannot be read.
[[nodiscard]] PodNames names_in_pod_logs(const std::string& directory,
                                         const std::set<PodUid>& pods);

}  // namespace pinfold::agent
