#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/agent_arguments.hpp"
#include "pinfold/api/config.hpp"

/// Reads the configuration that --config and --kubelet-flags name.
namespace pinfold::tools {

/// Returns whether the options name a configuration.
[[nodiscard]] bool names_config(const NodeOptions& options);
/// Returns its name in messages: the file, or "--kubelet-flags".
[[nodiscard]] std::string config_name(const NodeOptions& options);

/// Returns "STATE_DIR/config.yaml", the node's own configuration.
[[nodiscard]] std::string own_config_file(const NodeOptions& options);
/// Returns whether neither the options nor the state directory have a configuration, so that the
/// kubelet's defaults apply.
[[nodiscard]] bool lacks_config(const NodeOptions& options);

/// Returns the directory in which the kubelet of a node keeps its state: its --root-dir, below the
/// root of the node's file system. Errors: those of a root that cannot be read.
[[nodiscard]] Result<std::string> kubelet_state_dir(const std::string& root);

/// A configuration as one document.
struct ConfigText {
  std::string text;
  std::vector<std::string> open_policies = {};   ///< see ParsedConfig
  std::vector<std::string> unset_policies = {};  ///< none of a directory, whose flags are read
  ConfigSources sources = {};
};
/// Returns the configuration as one document for STATE_DIR/config.yaml: the file itself if it is a
/// KubeletConfiguration and no flags are given. A directory is the root of a node's file system
/// ("/": this node) and means the configuration of the kubelet there. Warnings go to standard
/// error.
/// Errors: kInvalidArgument, kIo, kNotFound, with the file's name.
[[nodiscard]] Result<ConfigText> read_config_text(const NodeOptions& options);

}  // namespace pinfold::tools
