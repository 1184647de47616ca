#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "observe_parts.hpp"
#include "pinfold/audit/distributions.hpp"
#include "pinfold/audit/doctor_observed.hpp"
#include "pinfold/audit/systemd_unit.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::audit {
namespace {

using nlohmann::json;

/// Returns the units of a distribution, first those that are enabled, then those that exist.
std::vector<std::string> units_of(const Tree& tree, const Distribution& distribution) {
  const auto enabled =
      tree.list("/etc/systemd/system/multi-user.target.wants").value_or(std::vector<std::string>());
  const InstalledUnits installed = find_units(tree);
  const auto rank = [&](const std::string& unit) {
    const std::string file = unit + ".service";
    if (std::find(enabled.begin(), enabled.end(), file) != enabled.end()) return 0;
    return installed.files.contains(file) ? 1 : 2;
  };
  std::vector<std::string> units;
  for (const std::string_view unit : distribution.units) {
    if (!unit.empty()) units.emplace_back(unit);
  }
  std::stable_sort(units.begin(), units.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return units;
}

/// Returns a program with the arguments in its unit; nullopt if no unit starts it.
std::optional<KubeletHost> host_of_unit(const Tree& tree, const Distribution& distribution,
                                        std::string& error) {
  for (const std::string& unit : units_of(tree, distribution)) {
    const auto read = read_unit(tree, fmt::format("{}.service", unit));
    auto host = read ? kubelet_host(read->command) : std::nullopt;
    if (!host || host->distribution != &distribution) continue;
    error = read->refusal;
    return host;
  }
  return std::nullopt;
}

/// Merges one file of k3s or RKE2 over those before it; a missing file sets nothing.
Result<void> merge_file(const Tree& tree, const std::string& path, RancherConfig& config) {
  const auto text = tree.read_exactly(path);
  if (!text) {
    if (text.error().code == ErrorCode::kNotFound) return {};
    return fail(text.error());
  }
  PINFOLD_LET_WRAP(const json document, parse_document(*text, DocumentRules::kKubeletLenient),
                   fmt::format("'{}'", tree.shown(path)));
  merge_rancher(config, document);
  return {};
}

Result<RancherConfig> read_rancher(const Tree& tree, const std::string& path,
                                   const std::vector<std::string>& arguments) {
  RancherConfig config;
  PINFOLD_TRY(merge_file(tree, path, config));
  const std::string directory = path + ".d";
  for (const std::string& name : tree.list(directory).value_or(std::vector<std::string>{})) {
    if (!name.ends_with(".yaml") && !name.ends_with(".yml")) continue;
    PINFOLD_TRY(merge_file(tree, fmt::format("{}/{}", directory, name), config));
  }
  merge_rancher(config, arguments);
  return Result<RancherConfig>(std::move(config));
}

Result<void> read_rancher_flags(const Tree& tree, const KubeletHost& host,
                                ObservedKubelet& kubelet) {
  kubelet.settings_path = std::string(host.distribution->settings);
  for (std::string& file : option_values(host.arguments, "--config")) {
    kubelet.settings_path = std::move(file);
  }
  PINFOLD_LET(const RancherConfig config,
              read_rancher(tree, kubelet.settings_path, host.arguments));
  if (!config.has_kubelet) {
    kubelet.pid.reset();
    kubelet.host.clear();
    return {};
  }
  kubelet.flags = flags_of_args(config.kubelet_args);
  const std::string data =
      config.data_dir.empty() ? std::string(host.distribution->data_dir) : config.data_dir;
  // Newer releases put their own decisions into drop-ins.
  const std::string drop_ins = data + "/agent/etc/kubelet.conf.d";
  if (tree.has(drop_ins)) {
    kubelet.flags.try_emplace("--config-dir", drop_ins);
  } else {
    add_rancher_flags(kubelet.flags);
  }
  return {};
}

Result<void> read_args_file(const Tree& tree, const KubeletHost& host, ObservedKubelet& kubelet) {
  kubelet.settings_path = std::string(host.distribution->settings);
  for (std::string& file : option_values(host.arguments, "--kubelet-args-file")) {
    kubelet.settings_path = std::move(file);
  }
  PINFOLD_LET(const auto text, tree.read_exactly(kubelet.settings_path));
  // SNAP_DATA/args/kubelet
  std::string data = kubelet.settings_path;
  for (int i = 0; i < 2 && data.find('/') != std::string::npos; ++i) data.erase(data.rfind('/'));
  kubelet.flags =
      flags_of_words(words_of_file(text, {{"SNAP_DATA", data},
                                          {"SNAP_COMMON", std::string(host.distribution->data_dir)},
                                          {"SNAP", "/snap/microk8s/current"}}));
  return {};
}

void read_k0s(const KubeletHost& host, ObservedKubelet& kubelet) {
  std::string data(host.distribution->data_dir);
  for (std::string& value : option_values(host.arguments, "--data-dir")) data = std::move(value);
  kubelet.settings_path = data + "/kubelet-config.yaml";
  kubelet.flags = {{"--config", kubelet.settings_path}, {"--root-dir", data + "/kubelet"}};
  for (const std::string& extra : option_values(host.arguments, "--kubelet-extra-args")) {
    merge_flags(kubelet.flags, flags_of_args(split_words(extra)));
  }
}

}  // namespace

void observe_host(const Tree& tree, KubeletHost host, ObservedKubelet& kubelet) {
  if (host.arguments.empty()) {  // it hides them
    if (auto of_unit = host_of_unit(tree, *host.distribution, kubelet.unit_error)) {
      host.arguments = std::move(of_unit->arguments);
    }
  }
  Result<void> read;
  switch (host.distribution->source) {
    case FlagSource::kRancher:
      read = read_rancher_flags(tree, host, kubelet);
      break;
    case FlagSource::kArgsFile:
      read = read_args_file(tree, host, kubelet);
      break;
    case FlagSource::kK0s:
      read_k0s(host, kubelet);
      break;
  }
  if (read) return;
  kubelet.config_error = read.error().message;
  kubelet.config_error_file = kubelet.settings_path;
}

std::string unit_of_host(const Tree& tree, const KubeletHost& host) {
  const Distribution& distribution = *host.distribution;
  if (host.title == distribution.program) return units_of(tree, distribution).front();
  const bool is_second = host.title.ends_with("agent") || host.title.ends_with("controller");
  const std::string_view second = distribution.units[1];
  return std::string(is_second && !second.empty() ? second : distribution.units[0]);
}

std::optional<KubeletHost> host_by_files(const Tree& tree) {
  for (const Distribution& one : distributions()) {
    if (tree.has(std::string(one.settings)) || tree.has(std::string(one.settings) + ".d")) {
      return KubeletHost{&one, std::string(one.program), {}};
    }
    std::string ignored;  // observe_host reads it again
    if (auto host = host_of_unit(tree, one, ignored)) return host;
  }
  return std::nullopt;
}

}  // namespace pinfold::audit
