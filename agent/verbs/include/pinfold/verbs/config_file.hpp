#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pinfold/agent/node_file.hpp"
#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::verbs {

inline constexpr const char* kEarlierConfigFileName = "config.yaml.before";

/// Replaces config.yaml of a state directory, where the commands look for the configuration, during
/// a reconfiguration, and keeps its previous version: docs/operations.md. Writes are durable when a
/// function returns; a function that fails may have written some of its files.
class ConfigFiles {
 public:
  /// Errors: kIo.
  [[nodiscard]] static Result<ConfigFiles> open(std::unique_ptr<checkpoint::Fs> fs);
  /// The contents of both files when this was opened.
  [[nodiscard]] const std::optional<std::string>& current() const { return current_; }
  [[nodiscard]] const std::optional<std::string>& earlier() const { return earlier_; }

  /// Replaces config.yaml. Saves the old contents as config.yaml.before first, so that a crash in
  /// between loses nothing. Call it before the commit, so that an interrupted reconfiguration is
  /// completed with its own configuration. Errors: kIo.
  [[nodiscard]] Result<void> install(const std::string& text);
  /// Restores both files to their contents when this was opened. Errors: kIo.
  [[nodiscard]] Result<void> restore();

  /// Returns whether a reconfiguration was interrupted between install() and its commit:
  /// config.yaml differs from `now`, the configuration of the state, and config.yaml.before equals
  /// it. False if config.yaml is the configuration of `before`, the node before the last
  /// reconfiguration: then an --undo was interrupted.
  [[nodiscard]] bool is_interrupted(const Config& now,
                                    const std::shared_ptr<const agent::EarlierNode>& before) const;
  /// Reverts an interrupted reconfiguration: restores config.yaml from config.yaml.before. Errors:
  /// kIo.
  [[nodiscard]] Result<void> take_back();

 private:
  [[nodiscard]] Result<void> put(const char* name, const std::optional<std::string>& text);

  std::unique_ptr<checkpoint::Fs> fs_;
  std::optional<std::string> current_;
  std::optional<std::string> earlier_;
  bool has_changed_ = false;
};

}  // namespace pinfold::verbs
