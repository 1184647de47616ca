#include <algorithm>
#include <string_view>

#include "trials.hpp"

namespace pinfold::explain_detail {
namespace {

constexpr std::size_t kMostSettings = 2;

struct Setting {
  std::string text;
  Config config;
};

/// The settings that make a node stricter, each without its effect, the least one first.
std::vector<Setting> looser(const Config& config) {
  std::vector<Setting> all;
  const auto add = [&](std::string text) -> Config& {
    return all.emplace_back(Setting{std::move(text), config}).config;
  };
  for (const auto& [name, value] : config.cpu_manager_policy_options) {
    // The CPUs that the shared pool has depend on strict-cpu-reservation: not while pods run.
    if (value != "true" || name == "strict-cpu-reservation") continue;
    const std::string effect =
        name == "full-pcpus-only" ? " (containers may then share cores)" : "";
    add("cpuManagerPolicyOptions: " + name + " true -> false" + effect)
        .cpu_manager_policy_options[name] = "false";
  }
  const bool is_container_scope =
      config.topology_manager_scope == to_string(TopologyScope::kContainer);
  const auto other =
      to_string(is_container_scope ? TopologyScope::kPod : TopologyScope::kContainer);
  add("topologyManagerScope: " + config.topology_manager_scope + " -> " + std::string(other) +
      (is_container_scope ? " (the containers are then aligned together)"
                          : " (each container is then aligned by itself)"))
      .topology_manager_scope = other;
  for (const TopologyPolicy policy :
       {TopologyPolicy::kRestricted, TopologyPolicy::kBestEffort, TopologyPolicy::kNone}) {
    const auto now = parse_topology_policy(config.topology_manager_policy);
    if (!now || *now <= policy) continue;  // the enumerators go from loose to strict
    const std::string_view effect = policy == TopologyPolicy::kRestricted
                                        ? " (it may then be on several NUMA nodes if it needs them)"
                                        : " (it may then be on several NUMA nodes)";
    Config& with = add("topologyManagerPolicy: " + config.topology_manager_policy + " -> " +
                       std::string(to_string(policy)) + std::string(effect));
    with.topology_manager_policy = to_string(policy);
    // An option of the policy before is no option of this one.
    with.topology_manager_policy_options.erase("prefer-most-allocated-numa-node");
  }
  if (config.gates().pod_level_resource_managers) {
    add("featureGates: PodLevelResourceManagers true -> false")
        .feature_gates["PodLevelResourceManagers"] = false;
  }
  return all;
}

/// The policy of a setting; only the strictest one that suffices is worth a line.
bool is_policy(const Setting& setting) {
  return setting.text.starts_with("topologyManagerPolicy:");
}

}  // namespace

std::vector<Remedy> setting_changes(const Failure& failure, Trials& trials) {
  std::vector<Remedy> remedies;
  if (!failure.node.providers().empty()) return remedies;  // they belong to this node
  bool has_policy = false;
  for (Setting& setting : looser(failure.node.config())) {
    if (remedies.size() == kMostSettings) break;
    if (is_policy(setting) && has_policy) continue;
    auto node = Node::make(failure.node.machine(), setting.config);
    if (!node) continue;
    NodeState state = failure.state;
    // A node that would not start with the state that it has is no help.
    if (!node->cpu().start(state.cpu) || !node->memory().start(state.memory)) continue;
    if (!trials.admits(*node, std::move(state), failure.pod)) continue;
    has_policy = has_policy || is_policy(setting);
    remedies.push_back({Remedy::Kind::kSetting,
                        std::move(setting.text),
                        std::nullopt,
                        {},
                        std::move(setting.config)});
  }
  return remedies;
}

}  // namespace pinfold::explain_detail
