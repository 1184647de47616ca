#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/decide/decide.hpp"

namespace pinfold::checkpoint {

/// The bytes of the kubelet's two state files; nullopt: there is no such file.
struct KubeletFiles {
  std::optional<std::string> cpu;
  std::optional<std::string> memory;

  friend bool operator==(const KubeletFiles&, const KubeletFiles&) = default;
};

/// The kubelet's start over its state files: restore, check, fill what is empty. `files` changes as
/// the kubelet's files do, also when the start fails: a missing file is created, a file that was
/// read is left as it is until the state changes.
/// Returns: the state without active pods, which the kubelet does not keep in these files.
/// Errors:  the kubelet's stage and text.
[[nodiscard]] tl::expected<NodeState, StartError> start(const Node& node, KubeletFiles& files,
                                                        const ContainerIds& ids,
                                                        std::string_view state_dir = kKubeletDir);

/// Brings `files` up to date after an event: a file is written anew if what it holds has changed.
void update(const Node& node, const NodeState& before, const NodeState& after, KubeletFiles& files);

}  // namespace pinfold::checkpoint
