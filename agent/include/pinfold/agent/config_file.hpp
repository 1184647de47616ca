#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pinfold/agent/node_file.hpp"
#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::agent {

inline constexpr const char* kConfigFileName = "config.yaml";
inline constexpr const char* kEarlierConfigFileName = "config.yaml.before";

/// config.yaml of a state directory, where the commands look for the configuration, while a
/// reconfiguration replaces it, and what it was before: docs/operations.md. What a function writes
/// is durable when it returns; if it fails, it may be done in part.
class ConfigFiles {
 public:
  /// Errors: kIo.
  [[nodiscard]] static Result<ConfigFiles> open(std::unique_ptr<checkpoint::Fs> fs);
  /// As they were when this was opened.
  [[nodiscard]] const std::optional<std::string>& current() const { return current_; }
  [[nodiscard]] const std::optional<std::string>& earlier() const { return earlier_; }

  /// Replaces config.yaml, and keeps what it was, which comes first: it is not lost if this ends
  /// in between. To be done before the commit, so that an interrupted reconfiguration goes on with
  /// the configuration that it was for. Errors: kIo.
  [[nodiscard]] Result<void> install(const std::string& text);
  /// Both files as they were when this was opened. Errors: kIo.
  [[nodiscard]] Result<void> restore();

  /// Whether a reconfiguration ended between install() and its commit: config.yaml says something
  /// else than `now`, the configuration that the state is for, and config.yaml.before says that. If
  /// config.yaml is that of `before`, the node before the last reconfiguration, it was an --undo
  /// that ended there.
  [[nodiscard]] bool is_interrupted(const Config& now,
                                    const std::optional<EarlierNode>& before) const;
  /// Takes back an interrupted reconfiguration: config.yaml is what config.yaml.before says.
  /// Errors: kIo.
  [[nodiscard]] Result<void> take_back();

 private:
  [[nodiscard]] Result<void> put(const char* name, const std::optional<std::string>& text);

  std::unique_ptr<checkpoint::Fs> fs_;
  std::optional<std::string> current_;
  std::optional<std::string> earlier_;
  bool has_changed_ = false;
};

}  // namespace pinfold::agent
