#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/reconfigure/reconfigure.hpp"
#include "reservations.hpp"
#include "trials.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

constexpr std::size_t kMostSettings = 2;
/// Three fields add up to what is reserved; only an operator knows which of them is too large.
constexpr std::size_t kMostReservations = 3;

constexpr const char* kReadAgain =
    "; apply it with 'pinfold reconfigure', as a kubelet that is only restarted may refuse the "
    "present files";

void add_without_options(const Config& config, std::vector<Setting>& all) {
  for (const auto& [name, value] : config.cpu_manager_policy_options) {
    // strict-cpu-reservation determines the CPUs of the shared pool, so it cannot change while pods
    // run.
    if (value != "true" || name == "strict-cpu-reservation") continue;
    Setting& setting = all.emplace_back(
        Setting{fmt::format("cpuManagerPolicyOptions: {} true -> false{}", name,
                            name == "full-pcpus-only" ? " (containers may then share cores)" : ""),
                config});
    setting.config.cpu_manager_policy_options[name] = "false";
  }
}

void add_other_scope(const Config& config, std::vector<Setting>& all) {
  const bool is_container = config.topology_manager_scope == to_string(TopologyScope::kContainer);
  const auto other = to_string(is_container ? TopologyScope::kPod : TopologyScope::kContainer);
  Setting& setting = all.emplace_back(Setting{
      fmt::format("topologyManagerScope: {} -> {} ({})", config.topology_manager_scope, other,
                  is_container ? "the containers are then aligned together"
                               : "each container is then aligned separately"),
      config});
  setting.config.topology_manager_scope = other;
}

void add_looser_policies(const Config& config, std::vector<Setting>& all) {
  const auto now = parse_topology_policy(config.topology_manager_policy);
  const bool is_pod = config.topology_manager_scope == to_string(TopologyScope::kPod);
  for (const TopologyPolicy policy :
       {TopologyPolicy::kRestricted, TopologyPolicy::kBestEffort, TopologyPolicy::kNone}) {
    if (!now || *now <= policy) continue;  // the enumerators go from loose to strict
    Setting& setting = all.emplace_back(Setting{
        fmt::format("topologyManagerPolicy: {} -> {} ({} may then span {})",
                    config.topology_manager_policy, to_string(policy),
                    is_pod ? "the pod" : "a container",
                    policy == TopologyPolicy::kRestricted ? "several NUMA nodes if it needs to"
                    : *now == TopologyPolicy::kRestricted ? "more NUMA nodes than it needs"
                                                          : "several NUMA nodes"),
        config});
    setting.config.topology_manager_policy = to_string(policy);
    // An option of the old policy is not an option of this one.
    setting.config.topology_manager_policy_options.erase("prefer-most-allocated-numa-node");
  }
}

/// Returns configurations in which one strict setting is changed, the smallest change first.
std::vector<Setting> other_settings(const Failure& failure) {
  const Config& config = failure.node.config();
  std::vector<Setting> all;
  if (failure.why.reason == kOutOfPods) all.push_back(more_pods(failure));
  add_without_options(config, all);
  add_other_scope(config, all);
  add_looser_policies(config, all);
  if (config.gates().pod_level_resource_managers) {
    Setting& setting =
        all.emplace_back(Setting{"featureGates: PodLevelResourceManagers true -> false (no "
                                 "container of a pod with pod-level resources has exclusive CPUs "
                                 "then)",
                                 config});
    setting.config.feature_gates["PodLevelResourceManagers"] = false;
  }
  return all;
}

/// Returns "topologyManagerPolicy: restricted ": of several values, only the first that suffices is
/// named. Other values of reservedMemory begin with different NUMA nodes.
std::string value_now(const Setting& setting) {
  const std::string_view memory = "reservedMemory:";
  if (setting.text.starts_with(memory)) return std::string(memory);
  return setting.text.substr(0, setting.text.find("->"));
}

/// Returns the present state as a node with another configuration starts with it; nullopt if it
/// does not start.
std::optional<NodeState> started(const Failure& failure, const Node& node) {
  NodeState state = failure.state;
  if (node.cpu().start(state.cpu) && node.memory().start(state.memory)) return state;
  return std::nullopt;
}

/// Returns whether a kubelet with the other gate may not read the files that have the present
/// state.
bool has_other_files(const Failure& failure, const Node& node) {
  const bool is_other =
      failure.node.gates().pod_level_resource_managers != node.gates().pod_level_resource_managers;
  const NodeState& state = failure.state;
  return is_other && (!state.cpu.assignments.empty() || !state.memory.assignments.empty());
}

/// Tries settings in turn until there are enough remedies.
class SettingSearch {
 public:
  SettingSearch(const Failure& failure, Trials& trials) : failure_(failure), trials_(trials) {}

  void add(std::vector<Setting> settings, std::size_t most) {
    for (Setting& setting : settings) {
      if (remedies_.size() >= most) return;
      if (changed_.contains(value_now(setting)) || !fits(setting)) continue;
      changed_.insert(value_now(setting));
      remedies_.push_back({Remedy::Kind::kSetting,
                           std::move(setting.text),
                           std::nullopt,
                           {},
                           std::move(setting.config)});
    }
  }

  [[nodiscard]] std::vector<Remedy> take() && { return std::move(remedies_); }

 private:
  [[nodiscard]] bool fits(Setting& setting) {
    const auto node = Node::make(failure_.node.machine(), setting.config);
    if (!node) return false;
    if (const auto state = started(failure_, *node)) {
      if (!trials_.admits(*node, *state, failure_.pod)) return false;
      if (has_other_files(failure_, *node)) setting.text += kReadAgain;
      return true;
    }
    auto next = reconfigured(failure_.node, failure_.state, *node, setting);
    return next && trials_.admits(*node, *std::move(next), failure_.pod);
  }

  const Failure& failure_;
  Trials& trials_;
  std::set<std::string> changed_;
  std::vector<Remedy> remedies_;
};

/// Allows as many pods as needed, and changes the requests of this one.
std::vector<Remedy> more_and_smaller(const Failure& failure, Trials& trials) {
  Setting setting = more_pods(failure);
  const auto node = Node::make(failure.node.machine(), setting.config);
  if (!node) return {};
  const auto next = find_failure(*node, failure.state, failure.pod, nullptr);
  if (!next) return {};
  std::vector<Remedy> smaller = request_changes(*next, trials);
  if (smaller.empty()) return {};
  Remedy remedy = std::move(smaller.front());
  remedy.kind = Remedy::Kind::kSetting;
  remedy.text = setting.text + " and " + remedy.text;
  remedy.config = std::move(setting.config);
  return {std::move(remedy)};
}

}  // namespace

std::optional<NodeState> reconfigured(const Node& from, const NodeState& state, const Node& to,
                                      Setting& setting) {
  PlanOptions options;
  options.steps = kMoveSteps;
  options.checks = AdmissionChecks::kManagersAndRequests;
  auto plan = plan_reconfiguration(from, state, to, options);
  const bool keeps_all = plan && plan->evicted.empty() && plan->cost.pods_against_rules == 0 &&
                         plan->short_of_requests.empty();
  if (!keeps_all) return std::nullopt;
  setting.text +=
      "; apply it with 'pinfold reconfigure', as a restart would refuse the present state";
  return std::move(plan->next);
}

Setting more_pods(const Failure& failure) {
  const Config& config = failure.node.config();
  const std::int64_t needed = other_pods(failure) + 1;
  const auto cpus = static_cast<std::int64_t>(failure.node.machine().cpus().size());
  Setting setting{"", config};
  std::vector<std::string> changes;
  if (config.max_pods && *config.max_pods < needed) {
    changes.push_back(fmt::format("maxPods: {} -> {}", *config.max_pods, needed));
    setting.config.max_pods = static_cast<std::int32_t>(needed);
  }
  if (config.pods_per_core > 0 && config.pods_per_core * cpus < needed) {
    const std::int64_t each = (needed + cpus - 1) / cpus;
    changes.push_back(fmt::format("podsPerCore: {} -> {}", config.pods_per_core, each));
    setting.config.pods_per_core = static_cast<std::int32_t>(each);
  }
  setting.text = listed(changes);
  return setting;
}

std::vector<Remedy> setting_changes(const Failure& failure, Trials& trials) {
  if (!failure.node.providers().empty()) return {};  // the providers belong to this node
  SettingSearch search(failure, trials);
  search.add(other_reservations(failure), kMostReservations);
  search.add(other_settings(failure), kMostSettings);
  std::vector<Remedy> remedies = std::move(search).take();
  if (remedies.empty() && failure.why.reason == kOutOfPods)
    return more_and_smaller(failure, trials);
  return remedies;
}

}  // namespace pinfold::explain_detail
