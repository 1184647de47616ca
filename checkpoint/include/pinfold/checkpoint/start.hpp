#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/decide/decide.hpp"

namespace pinfold::checkpoint {

/// The bytes of the kubelet's two state files; nullopt: the file does not exist.
struct KubeletFiles {
  std::optional<std::string> cpu;
  std::optional<std::string> memory;

  friend bool operator==(const KubeletFiles&, const KubeletFiles&) = default;
};

/// Starts from the state files as the kubelet does: restores, checks, or initializes an empty
/// state. `files` changes as the kubelet's files would, even if the start fails: a missing file is
/// created, and a file that was read stays the same until the state changes. Returns: the state
/// without active pods, which the kubelet does not keep in these files. Errors: the kubelet's stage
/// and text.
[[nodiscard]] tl::expected<NodeState, StartError> start(const Node& node, KubeletFiles& files,
                                                        const ContainerIds& ids,
                                                        std::string_view state_dir = kKubeletDir);

/// Returns the stage and the kubelet's text without its advice to drain the node and to delete the
/// file, which would lose every assignment: "cpumanager: could not restore state from checkpoint:
/// ... (in 'cpu_manager_state')". Begins with the wrong checksums of the first of the `files` that
/// has any, which the kubelet's text does not name.
[[nodiscard]] std::string cause_of(const StartError& error, const KubeletFiles& files);

/// Checks whether start() would succeed.
[[nodiscard]] tl::expected<void, StartError> would_start(const Node& node, KubeletFiles files,
                                                         const ContainerIds& ids);

/// Encodes a state in both files as the kubelet of `node` does, regardless of earlier contents.
[[nodiscard]] KubeletFiles encode_files(const Node& node, const NodeState& state);

/// Updates `files` after an event: encodes a file again if its state has changed.
void update(const Node& node, const NodeState& before, const NodeState& after, KubeletFiles& files);

}  // namespace pinfold::checkpoint
