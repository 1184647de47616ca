#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "observe_parts.hpp"
#include "pinfold/api/config_document.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::audit {
namespace {

using nlohmann::json;

constexpr const char* kDefaultConfig = "/var/lib/kubelet/config.yaml";

/// Where distributions keep the configuration file if no kubelet is running.
constexpr std::array kUsualConfigs = {kDefaultConfig,
                                      "/etc/kubernetes/kubelet/config.json",
                                      "/etc/kubernetes/kubelet/kubelet-config.json",
                                      "/etc/kubernetes/kubelet.conf.yaml",
                                      "/etc/kubernetes/kubelet-config.yaml",
                                      "/etc/kubernetes/kubelet/config",
                                      "/home/kubernetes/kubelet-config.yaml"};
/// OpenShift's, where kubeadm keeps a kubeconfig.
constexpr const char* kOpenShiftConfig = "/etc/kubernetes/kubelet.conf";

/// Returns the file of a kubelet that does not run; "" if there is none.
std::string usual_config(const Tree& tree) {
  const auto* const found = std::find_if(kUsualConfigs.begin(), kUsualConfigs.end(),
                                         [&](const char* path) { return tree.has(path); });
  if (found != kUsualConfigs.end()) return *found;
  const auto text = tree.read(kOpenShiftConfig);
  const bool is_config = text && text->find("KubeletConfiguration") != std::string::npos;
  return is_config ? kOpenShiftConfig : "";
}

std::string flag_of(const KubeletFlags& flags, const char* name) {
  const auto found = flags.find(name);
  return found == flags.end() ? "" : found->second;
}

std::string choose_config(const Tree& tree, const ObserveOptions& options,
                          const ObservedKubelet& kubelet) {
  if (!options.kubelet_config.empty()) return options.kubelet_config;
  std::string named = flag_of(kubelet.flags, "--config");
  const bool is_known = kubelet.pid || !kubelet.settings_path.empty() || kubelet.has_command;
  if (is_known || !named.empty()) return named;
  named = usual_config(tree);
  return named.empty() ? kDefaultConfig : named;
}

/// Checks what the decoder of a kubelet needs first. Source: loadConfigFile and
/// mergeKubeletConfigurations in cmd/kubelet/app/server.go.
Result<void> check_kind(const json& document) {
  for (const auto& [field, value] : {std::pair("apiVersion", "kubelet.config.k8s.io/v1beta1"),
                                     std::pair("kind", "KubeletConfiguration")}) {
    if (document.is_object() && document.contains(field)) continue;
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: expected '{}', without which a kubelet does not start", field, value));
  }
  return {};
}

/// Reads a file or drop-in that a kubelet reads.
Result<ConfigDocument> read_document(const Tree& tree, const std::string& path) {
  const std::string name = fmt::format("'{}'", tree.shown(path));
  PINFOLD_LET(const auto text, tree.read_exactly(path));
  PINFOLD_LET_WRAP(auto read, read_config_document(text), name);
  PINFOLD_TRY_WRAP(check_kind(read.document), name);
  return read;
}

/// Appends the drop-ins of --config-dir in the order in which the kubelet walks through it and the
/// directories below it. Like the kubelet, it does not follow symbolic links to directories, which
/// can form a circle.
Result<void> add_drop_ins(const Tree& tree, const std::string& directory,
                          std::vector<std::string>& paths) {
  PINFOLD_LET(const auto names, tree.list(directory));
  PINFOLD_LET(const auto directories, tree.list_directories(directory));
  for (const std::string& name : names) {
    std::string path = fmt::format("{}/{}", directory, name);
    if (std::binary_search(directories.begin(), directories.end(), name)) {
      PINFOLD_TRY(add_drop_ins(tree, path, paths));
    } else if (name.ends_with(".conf")) {
      paths.push_back(std::move(path));
    }
  }
  return {};
}

/// The file and its drop-ins with the flags, as one document.
// NOLINTNEXTLINE(bugprone-exception-escape): moving nlohmann's JSON asserts
struct WholeConfig {
  std::string part = {};  ///< the file that is being read; "": the flags
  json document = json::object();
  ConfigSources sources = {};
  std::vector<ConfigWarning> warnings = {};
};

/// Returns whether a file is a document of another kind, such as a kubeconfig.
bool has_other_kind(const Tree& tree, const std::string& path) {
  const auto text = tree.read_exactly(path);
  if (!text) return false;
  const auto document = parse_document(*text, DocumentRules::kKubeletLenient);
  if (!document || !document->is_object()) return false;
  const auto kind = document->find("kind");
  return kind != document->end() && *kind != "KubeletConfiguration";
}

/// Reads a file or drop-in. A kubelet decodes each of them alone.
Result<json> read_part(const Tree& tree, const std::string& path, WholeConfig& config) {
  config.part = path;
  auto read_as_config = read_document(tree, path);
  // No edit of such a file helps, but that of the flag with its name.
  if (!read_as_config && has_other_kind(tree, path)) config.part.clear();
  PINFOLD_LET(auto read, std::move(read_as_config));
  PINFOLD_LET_WRAP(auto parsed, config_from_json(read.document),
                   fmt::format("'{}'", tree.shown(path)));
  note_source(path, read.document, config.sources);
  for (auto* const warnings : {&read.notes, &parsed.warnings}) {
    for (std::string& warning : *warnings) config.warnings.push_back({std::move(warning), path});
  }
  return std::move(read.document);
}

/// Merges the drop-ins of --config-dir into the file, or into nothing without a file.
Result<void> merge_drop_ins(const Tree& tree, const std::string& directory, WholeConfig& config) {
  std::vector<std::string> paths;
  PINFOLD_TRY(add_drop_ins(tree, directory, paths));
  for (const std::string& path : paths) {
    PINFOLD_LET(auto over, read_part(tree, path, config));
    over.erase("mergeDefaultEvictionSettings");  // no effect in a drop-in
    merge_config(config.document, over);
  }
  json& hard = config.document["evictionHard"];
  if (hard.is_null()) hard = json::object();  // a kubelet has chosen its defaults before
  return {};
}

/// Reads the file and its drop-ins, and applies the flags on top.
Result<void> read_whole(const Tree& tree, const ObservedKubelet& kubelet, WholeConfig& config) {
  const std::string directory = flag_of(kubelet.flags, "--config-dir");
  if (!kubelet.config_path.empty()) {
    PINFOLD_LET(config.document, read_part(tree, kubelet.config_path, config));
    if (!directory.empty()) set_eviction_defaults(config.document);
  } else {
    config.document["evictionHard"] = json::object();  // only a file has default thresholds
  }
  if (!directory.empty()) PINFOLD_TRY(merge_drop_ins(tree, directory, config));
  config.part.clear();
  if (!kubelet.pid) {  // one that runs knows its flags
    PINFOLD_TRY(check_flags(kubelet.flags));
    if (auto unknown = unknown_flags(kubelet.flags); !unknown.empty()) {
      config.warnings.push_back({std::move(unknown)});
    }
  }
  if (config.document.is_object()) PINFOLD_TRY(apply_flags(kubelet.flags, config.document));
  note_sources(kubelet.flags, config.sources);
  config.sources.is_of_flags =
      kubelet.config_path.empty() ||
      (!kubelet.settings_path.empty() && kubelet.settings_path != kubelet.config_path);
  return {};
}

/// Returns the configured driver. `is_decided`: the program that contains the kubelet decides
/// without a file.
std::optional<Driver> driver_of(const json& config, bool is_decided) {
  const auto found = config.find("cgroupDriver");
  if (found == config.end() || !found->is_string()) {
    return is_decided ? std::nullopt : std::optional(Driver::kCgroupfs);  // the default
  }
  const auto name = found->get<std::string>();
  if (name == to_string(Driver::kSystemd)) return Driver::kSystemd;
  if (name == to_string(Driver::kCgroupfs)) return Driver::kCgroupfs;
  return std::nullopt;
}

}  // namespace

bool has_usual_config(const Tree& tree, const ObserveOptions& options) {
  return !options.kubelet_config.empty() || !usual_config(tree).empty();
}

void observe_config(const Tree& tree, const ObserveOptions& options, ObservedKubelet& kubelet) {
  if (!kubelet.config_error.empty()) return;  // from the files with its flags
  kubelet.config_path = choose_config(tree, options, kubelet);
  WholeConfig whole;
  if (const auto read = read_whole(tree, kubelet, whole); !read) {
    kubelet.config_error = read.error().message;
    kubelet.config_error_file = whole.part;
    return;
  }
  auto parsed = config_from_json(whole.document);
  if (!parsed) {
    kubelet.config_error = std::move(parsed)
                               .error()
                               .wrap(fmt::format("'{}'", tree.shown(kubelet.config_path)))
                               .message;
    return;
  }
  kubelet.config = std::move(parsed->config);
  kubelet.config->sources = SharedSources(std::move(whole.sources));
  kubelet.config_warnings = std::move(whole.warnings);
  if (!kubelet.unit_error.empty()) {
    kubelet.config_warnings.insert(kubelet.config_warnings.begin(),
                                   ConfigWarning{kubelet.unit_error});
  }
  kubelet.config_text = whole.document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  kubelet.driver = driver_of(whole.document, kubelet.unit.starts_with("k3s"));
}

}  // namespace pinfold::audit
