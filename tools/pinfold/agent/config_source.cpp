#include "agent/config_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "input.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/api/config_document.hpp"
#include "pinfold/audit/observe.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold::tools {
namespace {

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// Returns whether a file is a drop-in of --config-dir, such as config.json.d/40-nodeadm.conf.
bool is_drop_in(const std::filesystem::path& file) {
  return file.extension() == ".conf" && file.parent_path().extension() == ".d";
}

/// Warns of what the configuration's own text does not show, such as the settings of a file that it
/// includes.
void warn_of_sources(const audit::ObservedKubelet& kubelet) {
  const auto parsed = parse_config(kubelet.config_text);
  const auto later = parsed ? parsed->warnings : std::vector<std::string>();
  for (const auto& [warning, file] : kubelet.config_warnings) {
    const bool is_said_later = std::find(later.begin(), later.end(), warning) != later.end();
    if (!is_said_later) warn("configuration: " + warning);
  }
}

struct NodeText {
  std::string text;
  bool is_partial = false;  ///< the kubelet may have flags, too
  ConfigSources sources = {};
};

/// Returns the files in a directory that may be meant instead of a root: the kubelet's file, or
/// drop-ins.
std::vector<std::string> config_files_in(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    const std::string name = entry.path().filename().string();
    constexpr std::array<std::string_view, 5> kNames = {
        "config", "config.json", "config.yaml", "kubelet-config.json", "kubelet-config.yaml"};
    const bool is_config =
        name.ends_with(".conf") || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    if (is_config && entry.is_regular_file(failed)) {
      files.push_back(fmt::format("'{}'", entry.path().string()));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Returns the configuration of the kubelet on a node. One that is only guessed is an error.
Result<NodeText> text_of_node(const std::string& root) {
  PINFOLD_LET(const auto tree, audit::Tree::open(root));
  auto kubelet = audit::observe_kubelet(tree, {});
  const std::string& error = kubelet.unit_error.empty() ? kubelet.config_error : kubelet.unit_error;
  if (const auto files = config_files_in(root);
      !error.empty() && !files.empty() && !tree.has(kubelet.config_path)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': it is not the root of a node, which has '{}': pass the root, or "
                            "the file {}",
                            root, kubelet.config_path, fmt::join(files, " or ")));
  }
  if (!error.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': not the configuration of a kubelet: {}", root, error));
  }
  warn_of_sources(kubelet);
  if (kubelet.may_have_flags) {
    warn(
        fmt::format("'{}': no unit 'kubelet.service' and no process of a kubelet: any flags that "
                    "it gets from elsewhere are unknown; pass them with --kubelet-flags",
                    root));
  }
  return NodeText{std::move(kubelet.config_text), kubelet.may_have_flags,
                  kubelet.config->sources.value()};
}

/// Returns whether an argument has flags itself and is not the name of a file that exists, such as
/// /etc/default/kubelet.
bool may_have_flags(const std::string& argument) {
  std::error_code ignored;
  return argument.find("--") != std::string::npos && !std::filesystem::exists(argument, ignored);
}

/// Returns the name of the unit in a file; "" if it has none.
std::string unit_in(const std::string& file) {
  std::error_code ignored;
  return unit_of_path(std::filesystem::absolute(file, ignored).string());
}

/// One --kubelet-flags.
struct FlagsArgument {
  std::string file_name;  ///< "": it has the flags itself
  std::string unit;       ///< see unit_in
  std::string text;
};

Result<FlagsArgument> read_argument(const std::string& argument) {
  if (may_have_flags(argument) && flags_of_text(argument)) return FlagsArgument{"", "", argument};
  PINFOLD_LET_WRAP(auto text, read_input(argument), "--kubelet-flags");
  if (flags_of_text(text))
    return FlagsArgument{std::string(base_name(argument)), unit_in(argument), std::move(text)};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--kubelet-flags: '{}': expected kubelet flags, an environment file or "
                          "a systemd unit",
                          argument));
}

/// The arguments; a unit finds its environment files by their names.
class FlagsArguments {
 public:
  explicit FlagsArguments(std::vector<FlagsArgument> arguments)
      : arguments_(std::move(arguments)) {}

  /// Merges the flags of all arguments, like those of one command line. The flags of an environment
  /// file are those that the unit uses.
  Result<FlagsText> merge() {
    std::vector<FlagsText> texts;
    for (const FlagsArgument& one : arguments_) {
      const auto read = [&](const std::string& path) { return read_files(path); };
      texts.push_back(flags_of_text(one.text, one.unit, {read}).value_or(FlagsText{}));
      PINFOLD_TRY(check_unit(texts.back()));
    }
    FlagsText all;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (used_.contains(arguments_[i].file_name)) continue;
      merge_flags(all.flags, texts[i].flags);
      all.is_command = all.is_command || texts[i].is_command;
      all.notes.insert(all.notes.end(), texts[i].notes.begin(), texts[i].notes.end());
    }
    return all;
  }

 private:
  std::vector<std::string> read_files(const std::string& pattern) {
    std::map<std::string, std::string> found;
    const std::string name(base_name(pattern));
    for (const FlagsArgument& one : arguments_) {
      const bool is_file =
          !one.file_name.empty() && ::fnmatch(name.c_str(), one.file_name.c_str(), 0) == 0;
      if (is_file) found.emplace(one.file_name, one.text);
    }
    std::vector<std::string> texts;
    for (auto& [file, text] : found) {
      used_.insert(file);
      texts.push_back(std::move(text));
    }
    return texts;
  }

  std::vector<FlagsArgument> arguments_;
  std::set<std::string> used_;
};

/// Applies --kubelet-flags to a configuration.
Result<void> apply_arguments(const NodeOptions& options, ConfigDocument& config) {
  std::vector<FlagsArgument> arguments;
  bool is_of_kubelet = !options.config.empty() || options.kubelet_flags.empty();
  for (const std::string& argument : options.kubelet_flags) {
    PINFOLD_LET(auto one, read_argument(argument));
    is_of_kubelet = is_of_kubelet || names_kubelet(one.text);
    arguments.push_back(std::move(one));
  }
  PINFOLD_LET_WRAP(FlagsText flags, FlagsArguments(std::move(arguments)).merge(),
                   "--kubelet-flags");
  if (flags.flags.empty() && !is_of_kubelet) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--kubelet-flags: '{}': it contains no kubelet flags",
                            options.kubelet_flags.front()));
  }
  const bool has_none = flags.flags.empty() && flags.notes.empty() && !flags.is_command;
  if (has_none && !options.kubelet_flags.empty()) {
    warn(fmt::format("--kubelet-flags: '{}': it contains no kubelet flags",
                     options.kubelet_flags.front()));
  }
  if (!options.config.empty()) {
    flags.flags.erase("--config");
    flags.is_command = false;  // the file has the rest
  }
  config.notes = std::move(flags.notes);
  PINFOLD_TRY_WRAP(add_flags(flags, config), "--kubelet-flags");
  for (const std::string& note : config.notes) warn("--kubelet-flags: " + note);
  return {};
}

}  // namespace

bool names_config(const NodeOptions& options) {
  return !options.config.empty() || !options.kubelet_flags.empty();
}

std::string config_name(const NodeOptions& options) {
  return options.config.empty() ? "--kubelet-flags" : options.config;
}

Result<std::string> kubelet_state_dir(const std::string& root) {
  PINFOLD_LET(const auto tree, audit::Tree::open(root));
  const std::string directory = audit::observe_kubelet(tree, {}).root_dir;
  return (std::filesystem::path(root) / std::filesystem::path(directory).relative_path()).string();
}

std::string own_config_file(const NodeOptions& options) {
  return options.state_dir + "/config.yaml";
}

bool lacks_config(const NodeOptions& options) {
  return !names_config(options) && !agent::has_config(options.state_dir);
}

Result<ConfigText> read_config_text(const NodeOptions& options) {
  NodeText node{"{}"};
  const std::string& text = node.text;
  if (is_directory(options.config)) {
    PINFOLD_LET(node, text_of_node(options.config));
  } else if (!options.config.empty()) {
    PINFOLD_LET(node.text, read_input(options.config));
  }
  PINFOLD_LET_WRAP(auto read, read_config_document(text, unit_in(options.config)), options.config);
  if (is_directory(options.config)) read.sources = std::move(node.sources);
  if (node.is_partial && options.kubelet_flags.empty()) read.is_partial = true;
  if (is_drop_in(options.config)) read.is_partial = true;
  if (std::error_code none;
      std::filesystem::is_directory(options.config + ".d", none) && !is_directory(options.config)) {
    warn(
        fmt::format("configuration: the files in '{0}.d' are not read: --config with the root of "
                    "the node, '/', reads '{0}' as its kubelet does",
                    options.config));
  }
  if (options.config.empty()) {
    read.document = nlohmann::json::object();
    read.is_partial = true;
  }
  for (const std::string& note : read.notes) warn("configuration: " + note);
  const auto as_written = parse_document(text);
  const bool is_whole = as_written && *as_written == read.document;
  const bool has_flags = is_directory(options.config) && !read.is_partial;
  const auto unset = [&] { return has_flags ? std::vector<std::string>{} : unset_policies(read); };
  if (is_whole && !read.is_partial && options.kubelet_flags.empty()) {
    return ConfigText{std::move(node.text), {}, unset(), std::move(read.sources)};
  }
  PINFOLD_TRY(apply_arguments(options, read));
  return ConfigText{
      read.document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
      open_policies(read), unset(), read.sources};
}

}  // namespace pinfold::tools
