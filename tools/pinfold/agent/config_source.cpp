#include "agent/config_source.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "input.hpp"
#include "pinfold/api/config_document.hpp"
#include "pinfold/audit/observe.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::tools {
namespace {

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// Returns the configuration of the kubelet on a node.
Result<std::string> text_of_node(const std::string& root) {
  PINFOLD_LET(const auto tree, audit::Tree::open(root));
  auto kubelet = audit::observe_kubelet(tree, {});
  if (kubelet.config) return std::move(kubelet.config_text);
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("'{}': not the configuration of a kubelet: {}", root, kubelet.config_error));
}

/// Returns whether an argument has flags itself and is not the name of a file that exists, such as
/// /etc/default/kubelet.
bool may_have_flags(const std::string& argument) {
  std::error_code ignored;
  return argument.find("--") != std::string::npos && !std::filesystem::exists(argument, ignored);
}

/// Reads flags from a command line, or from a file that has one.
Result<FlagsText> read_flags(const std::string& argument) {
  if (may_have_flags(argument)) {
    if (auto flags = flags_of_text(argument)) return *std::move(flags);
  }
  PINFOLD_LET_WRAP(const auto text, read_input(argument), "--kubelet-flags");
  if (auto flags = flags_of_text(text)) return *std::move(flags);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--kubelet-flags: '{}': expected kubelet flags, an environment file or "
                          "a systemd unit",
                          argument));
}

}  // namespace

bool names_config(const NodeOptions& options) {
  return !options.config.empty() || !options.kubelet_flags.empty();
}

std::string config_name(const NodeOptions& options) {
  return options.config.empty() ? "--kubelet-flags" : options.config;
}

std::string own_config_file(const NodeOptions& options) {
  return options.state_dir + "/config.yaml";
}

bool has_own_config(const NodeOptions& options) {
  std::error_code ignored;
  return std::filesystem::exists(own_config_file(options), ignored);
}

Result<std::string> read_config_text(const NodeOptions& options) {
  std::string text = "{}";
  if (is_directory(options.config)) {
    PINFOLD_LET(text, text_of_node(options.config));
  } else if (!options.config.empty()) {
    PINFOLD_LET(text, read_input(options.config));
  }
  PINFOLD_LET_WRAP(auto read, read_config_document(text), options.config);
  for (const std::string& note : read.notes) warn("configuration: " + note);
  const auto as_written = parse_document(text);
  bool is_whole = as_written && *as_written == read.document;
  for (const std::string& argument : options.kubelet_flags) {
    PINFOLD_LET(const auto flags, read_flags(argument));
    for (const std::string& note : flags.notes) warn("--kubelet-flags: " + note);
    for (const std::string& one : flag_warnings(flags.flags)) warn("--kubelet-flags: " + one);
    PINFOLD_TRY(apply_flags(flags.flags, read.document));
    is_whole = false;
  }
  if (is_whole) return text;
  return read.document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace pinfold::tools
