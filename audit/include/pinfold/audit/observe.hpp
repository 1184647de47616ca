#pragma once

#include <string>

#include "pinfold/audit/observed.hpp"
#include "pinfold/audit/tree.hpp"

/// Reads a node. Writes nothing and runs no program.
namespace pinfold::audit {

/// Reads all input of an audit. Anything that cannot be read is a problem, not an error.
[[nodiscard]] Observed observe(const Tree& tree, const ObserveOptions& options);

/// Reads only the kubelet: its process and its configuration.
[[nodiscard]] ObservedKubelet observe_kubelet(const Tree& tree, const ObserveOptions& options);

/// Reads only the groups of pods and the names of their containers. `kubelet_dir`: the kubelet's
/// root directory on the node; "": unknown.
[[nodiscard]] Observed observe_containers(const Tree& tree, const std::string& kubelet_dir);

/// Reads only the state files and the groups, for --watch: fast enough for several times a second.
/// `before`: a complete observation of the same node.
[[nodiscard]] Observed observe_again(const Tree& tree, const Observed& before);

}  // namespace pinfold::audit
