#pragma once

#include <optional>
#include <string>

#include "agent_options.hpp"

/// What --config and --kubelet-flags name.
namespace pinfold::tools {

/// Whether the options name a configuration.
[[nodiscard]] bool names_config(const NodeOptions& options);
/// What messages call it: the file, or the flags.
[[nodiscard]] std::string config_name(const NodeOptions& options);

/// "STATE_DIR/config.yaml", the node's own configuration.
[[nodiscard]] std::string own_config_file(const NodeOptions& options);
[[nodiscard]] bool has_own_config(const NodeOptions& options);

/// The configuration as one document for STATE_DIR/config.yaml: the file itself if it is a
/// KubeletConfiguration and no flags are given; a directory is the file system of a node, "/" this
/// one, and means the configuration of the kubelet there. Warnings go to standard error.
/// Errors: kInvalidArgument, kIo, kNotFound, with the file's name.
[[nodiscard]] Result<std::string> read_config_text(const NodeOptions& options);

}  // namespace pinfold::tools
