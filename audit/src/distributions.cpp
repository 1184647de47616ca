#include "pinfold/audit/distributions.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace pinfold::audit {
namespace {

using nlohmann::json;

constexpr std::array<Distribution, 4> kDistributions = {
    Distribution{"k3s",
                 {"server", "agent"},
                 FlagSource::kRancher,
                 true,
                 "/etc/rancher/k3s/config.yaml",
                 "/var/lib/rancher/k3s",
                 {"k3s", "k3s-agent"}},
    Distribution{"rke2",
                 {"server", "agent"},
                 FlagSource::kRancher,
                 false,
                 "/etc/rancher/rke2/config.yaml",
                 "/var/lib/rancher/rke2",
                 {"rke2-server", "rke2-agent"}},
    Distribution{"k0s",
                 {"worker", "controller"},
                 FlagSource::kK0s,
                 false,
                 "/var/lib/k0s/kubelet-config.yaml",
                 "/var/lib/k0s",
                 {"k0sworker", "k0scontroller"}},
    Distribution{"kubelite",
                 {},
                 FlagSource::kArgsFile,
                 true,
                 "/var/snap/microk8s/current/args/kubelet",
                 "/var/snap/microk8s/common",
                 {"snap.microk8s.daemon-kubelite", ""}},
};

bool has_option(const std::vector<std::string>& arguments, const std::string& name) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& one) {
    return one == name || one == name + "=true" || one == name.substr(1);
  });
}

/// Returns the texts of kubelet-arg. Like k3s, converts other values to texts; no kubelet has a
/// flag of such a name.
std::vector<std::string> strings_of(const json& value) {
  std::vector<std::string> strings;
  for (const json& one : value.is_array() ? value : json::array({value})) {
    if (one.is_null()) continue;
    strings.push_back(one.is_string() ? one.get<std::string>() : one.dump());
  }
  return strings;
}

void append(std::vector<std::string>& list, std::vector<std::string> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

}  // namespace

const std::array<Distribution, 4>& distributions() { return kDistributions; }

std::optional<KubeletHost> kubelet_host(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  std::vector<std::string> all = words;
  std::erase(all, "");
  if (all.size() == 1) all = split_words(all[0]);  // a title that the program has set itself
  if (all.empty()) return std::nullopt;
  const std::string_view program = base_name(all[0]);
  for (const Distribution& one : kDistributions) {
    if (program != one.program) continue;
    const bool needs_command = !one.commands[0].empty();
    if (needs_command && (all.size() < 2 || std::find(one.commands.begin(), one.commands.end(),
                                                      all[1]) == one.commands.end())) {
      return std::nullopt;
    }
    const std::size_t first = needs_command ? 2 : 1;
    KubeletHost host{
        &one, std::string(program), {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()}};
    if (needs_command) host.title += " " + all[1];
    const bool is_control_plane_only = one.source == FlagSource::kK0s && all[1] == "controller" &&
                                       !has_option(host.arguments, "--enable-worker") &&
                                       !has_option(host.arguments, "--single");
    if (is_control_plane_only) return std::nullopt;
    return host;
  }
  return std::nullopt;
}

void merge_rancher(RancherConfig& config, const json& document) {
  if (!document.is_object()) return;
  for (const auto& [key, value] : document.items()) {
    if (key == "kubelet-arg") config.kubelet_args = strings_of(value);
    if (key == "data-dir" && value.is_string()) config.data_dir = value.get<std::string>();
    if (key == "disable-agent" && value.is_boolean()) config.has_kubelet = !value.get<bool>();
  }
  const auto more = document.find("kubelet-arg+");
  if (more != document.end()) append(config.kubelet_args, strings_of(*more));
}

void merge_rancher(RancherConfig& config, const std::vector<std::string>& arguments) {
  append(config.kubelet_args, option_values(arguments, "--kubelet-arg"));
  for (const char* const name : {"--data-dir", "-d"}) {
    for (std::string& value : option_values(arguments, name)) config.data_dir = std::move(value);
  }
  if (has_option(arguments, "--disable-agent")) config.has_kubelet = false;
}

}  // namespace pinfold::audit
