#pragma once

#include <optional>
#include <string>

#include "pinfold/audit/observed.hpp"
#include "pinfold/audit/tree.hpp"

/// Reads a node. Writes nothing, and asks no program.
namespace pinfold::audit {

struct ObserveOptions {
  std::string kubelet_dir = {};     ///< "": --root-dir of the running kubelet, or its default
  std::string kubelet_config = {};  ///< "": --config of the running kubelet, or its default
};

/// Everything that an audit judges. What cannot be read is a problem, not an error.
[[nodiscard]] Observed observe(const Tree& tree, const ObserveOptions& options);

/// Only the kubelet: what runs, and its configuration.
[[nodiscard]] ObservedKubelet observe_kubelet(const Tree& tree, const ObserveOptions& options);

/// Only the state files and the groups, for --watch: fast enough to do it several times a second.
/// `before`: a whole observation of the same node.
[[nodiscard]] Observed observe_again(const Tree& tree, const Observed& before);

}  // namespace pinfold::audit
