#pragma once

#include <optional>
#include <string>

#include "pinfold/agent/node_file.hpp"
#include "pinfold/checkpoint/fs.hpp"

/// config.yaml of a state directory, where the commands look for the configuration, while a
/// reconfiguration replaces it: docs/operations.md.
namespace pinfold::agent {

inline constexpr const char* kConfigFileName = "config.yaml";
inline constexpr const char* kEarlierConfigFileName = "config.yaml.before";

/// Replaces config.yaml by `text`, and keeps what it was as config.yaml.before, which comes first:
/// it is not lost if this ends in between. To be done before the commit, so that an interrupted
/// reconfiguration goes on with the configuration that it was for. Durable when it returns. Does
/// nothing if config.yaml does not exist or is `text`. Errors: kIo; then it may be done in part.
[[nodiscard]] Result<void> install_config(checkpoint::Fs& fs, const std::string& text);

/// A text for a configuration: config.yaml.before if it says the same, else JSON. Errors: kIo.
[[nodiscard]] Result<std::string> text_of_config(checkpoint::Fs& fs, const Config& config);

/// Whether a reconfiguration ended between install_config() and its commit: config.yaml says
/// something else than `now`, the configuration that the state is for, and config.yaml.before says
/// that. If config.yaml is that of `before`, the node before the last reconfiguration, it was an
/// --undo that ended there. Returns the text that config.yaml had; nullopt if nothing was
/// interrupted, or an --undo. Errors: kIo.
[[nodiscard]] Result<std::optional<std::string>> find_interrupted(
    checkpoint::Fs& fs, const Config& now, const std::optional<EarlierNode>& before);

}  // namespace pinfold::agent
