#include "exclusive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "outcome.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/api/validation.hpp"
#include "reservations.hpp"
#include "summary.hpp"
#include "table.hpp"
#include "trials.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

/// Whether amounts that a container does not set may be filled in: any amount makes it Guaranteed.
enum class UnsetAmounts { kStay, kExample };
/// Whether a fraction of pod-level CPUs is rounded up, which the managers need to divide them.
enum class PodCpus { kAsSet, kWhole };

constexpr Quantity kWorkerMemory = Quantity::bytes(std::int64_t{1} << 30U);
constexpr Quantity kSidecarMemory = Quantity::bytes(std::int64_t{64} << 20U);
constexpr Quantity kSidecarCpu = Quantity::milli(100);
constexpr std::int64_t kMilliPerCpu = 1000;

/// Makes requests and limits of CPU and memory equal; false if an amount is missing. `examples`:
/// the amounts to fill in.
bool equalize(Resources& resources, const ResourceList& examples) {
  for (const std::string name : {"cpu", "memory"}) {
    const Quantity limit = amount_of(resources.limits, name);
    Quantity amount = limit.is_zero() ? amount_of(resources.requests, name) : limit;
    if (amount.is_zero()) amount = amount_of(examples, name);
    if (amount.is_zero()) return false;
    resources.requests[name] = amount;
    resources.limits[name] = amount;
  }
  return true;
}

/// Rounds the CPUs of a container or pod with more than one up to a whole number.
void round_up(Resources& resources) {
  const Quantity cpu = amount_of(resources.limits, "cpu");
  if (cpu.is_whole() || cpu.milli_value() < kMilliPerCpu) return;
  const Quantity whole = Quantity::of(cpu.value(), Quantity::Format::kDecimalSi);
  resources.requests["cpu"] = whole;
  resources.limits["cpu"] = whole;
}

/// Returns the larger of a container's request and limit of CPUs.
Quantity cpus_of(const Container& container) {
  return std::max(amount_of(container.resources.limits, "cpu"),
                  amount_of(container.resources.requests, "cpu"));
}

/// Returns the first application container if no container has a CPU, so that one can have some.
const Container* first_worker(const PodSpec& pod) {
  const auto has_cpu = [](const Container& container) {
    return cpus_of(container).milli_value() >= kMilliPerCpu;
  };
  if (std::any_of(pod.containers.begin(), pod.containers.end(), has_cpu)) return nullptr;
  const auto worker =
      std::find_if(pod.containers.begin(), pod.containers.end(), [](const Container& container) {
        return container.kind == ContainerKind::kApp && cpus_of(container).is_zero();
      });
  return worker == pod.containers.end() ? nullptr : &*worker;
}

/// Returns amounts for what a container of a pod does not set: one CPU, or what the pod as a whole
/// has left, for the first container if no other has any; little for the others.
ResourceList examples_for(const PodSpec& pod, const Container& container) {
  const bool is_worker = &container == first_worker(pod);
  ResourceList examples;
  examples["cpu"] = is_worker ? Quantity::of(1, Quantity::Format::kDecimalSi) : kSidecarCpu;
  const bool has_cpu = is_worker || cpus_of(container).milli_value() >= kMilliPerCpu;
  examples["memory"] = has_cpu ? kWorkerMemory : kSidecarMemory;
  if (!pod.resources || !is_worker) return examples;
  for (const char* const name : {"cpu", "memory"}) {
    Quantity left = amount_of(pod.resources->limits, name);
    for (const Container& other : pod.containers) {
      left -= amount_of(other.resources.limits, name);
    }
    if (left.sign() > 0) examples[name] = left;
  }
  return examples;
}

/// Returns the pod as it would have to be for most of its containers to get exclusive CPUs.
std::optional<PodSpec> made_guaranteed(const PodSpec& before, UnsetAmounts unset,
                                       PodCpus pod_cpus) {
  PodSpec pod = before;
  if (pod.resources) {
    if (!equalize(*pod.resources, {})) return std::nullopt;
    if (pod_cpus == PodCpus::kWhole) round_up(*pod.resources);
  }
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    Container& container = pod.containers[i];
    // Containers of a pod with pod-level resources need no amounts: only one is worth exclusive
    // CPUs.
    const bool fills = unset == UnsetAmounts::kExample &&
                       (!pod.resources || &before.containers[i] == first_worker(before));
    const bool is_equal = equalize(
        container.resources, fills ? examples_for(before, before.containers[i]) : ResourceList());
    if (!is_equal && !pod.resources) return std::nullopt;
    if (is_equal) round_up(container.resources);
  }
  return pod;
}

std::string written(const Quantity& amount) {
  return amount.is_zero() ? "none" : amount.to_string();
}

/// Adds what differs: "container c: memory request 1Gi -> 2Gi", or "container c: cpu 1500m -> 2
/// (requests and limits)" if both were equal before.
void add_differences(const std::string& object, const Resources& before, const Resources& after,
                     std::vector<std::string>& all) {
  for (const std::string name : {"cpu", "memory"}) {
    const auto add = [&](const char* what, const ResourceList& old, const ResourceList& now,
                         const char* where) {
      const Quantity from = amount_of(old, name);
      const Quantity to = amount_of(now, name);
      if (from == to) return;
      all.push_back(fmt::format("{}: {}{} {} -> {}{}", object, name, what, written(from),
                                written(to), where));
    };
    const Quantity limit = amount_of(before.limits, name);
    if (limit == amount_of(before.requests, name)) {
      add("", before.limits, after.limits,
          limit.is_zero() ? ", for example (requests and limits)" : " (requests and limits)");
    } else {
      add(" request", before.requests, after.requests, "");
      add(" limit", before.limits, after.limits, "");
    }
  }
}

std::vector<std::string> differences(const PodSpec& before, const PodSpec& after) {
  std::vector<std::string> all;
  if (before.resources) {
    add_differences("the pod as a whole", *before.resources, *after.resources, all);
  }
  for (std::size_t i = 0; i < before.containers.size(); ++i) {
    add_differences("container " + before.containers[i].name, before.containers[i].resources,
                    after.containers[i].resources, all);
  }
  return all;
}

/// Returns whether the CPU manager has exclusive CPUs for a container, if there are enough.
bool gets_exclusive_cpus(const Node& node, const PodSpec& pod, const Container& container) {
  return is_manageable(node.gates(), pod) && node.cpu().is_static() &&
         node.cpu().guaranteed_cpus(PodView(pod), container) > 0;
}

/// Searches for a change with which containers of a pod get exclusive CPUs.
class ExclusiveSearch {
 public:
  ExclusiveSearch(const Node& node, const NodeState& state, const PodSpec& pod)
      : node_(node), state_(state), pod_(pod) {}

  [[nodiscard]] ExclusiveAdvice run() {
    std::optional<PodSpec> last;
    for (const UnsetAmounts unset : {UnsetAmounts::kStay, UnsetAmounts::kExample}) {
      for (const PodCpus pod_cpus : {PodCpus::kAsSet, PodCpus::kWhole}) {
        const auto other = made_guaranteed(pod_, unset, pod_cpus);
        if (!other || other == last || !find_violations(*other).empty()) continue;
        last = other;
        auto remedies = found(*other);
        if (!remedies.empty()) return {std::move(remedies), std::move(notes_)};
      }
    }
    return {{}, std::move(notes_)};
  }

 private:
  [[nodiscard]] std::vector<Remedy> found(const PodSpec& other) {
    std::vector<Remedy> remedies;
    const auto add = [&](std::optional<Remedy> remedy) {
      if (remedy) remedies.push_back(*std::move(remedy));
    };
    if (!is_manageable(node_.gates(), other) || !node_.cpu().is_static()) {
      add(with_settings(other));
    } else if (other != pod_) {
      add(tried(node_, state_, other, ""));
      if (remedies.empty()) remedies = of_rejected(other);
    }
    return remedies;
  }

  /// Returns whether another pod has its containers in the same order.
  [[nodiscard]] bool has_same_order(const PodSpec& other) const {
    return std::equal(pod_.containers.begin(), pod_.containers.end(), other.containers.begin(),
                      other.containers.end(), [](const Container& one, const Container& two) {
                        return one.name == two.name;
                      });
  }

  /// Returns whether containers of another pod would get exclusive CPUs that they do not have now.
  [[nodiscard]] bool would_gain(const PodSpec& other) const {
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      if (gets_exclusive_cpus(node_, other, other.containers[i]) &&
          !gets_exclusive_cpus(node_, pod_, pod_.containers[i])) {
        return true;
      }
    }
    return false;
  }

  /// Returns the change to another pod, and `setting`, if that pod is admitted and its containers
  /// then have more exclusive CPUs. `condition`: ", if default/db is removed".
  [[nodiscard]] std::optional<Remedy> tried(const Node& node, const NodeState& state,
                                            const PodSpec& other, const std::string& setting,
                                            const std::string& condition = "") const {
    const Decision decision =
        decide(node, state, other, nullptr, nullptr, AdmissionChecks::kManagersAndRequests);
    const auto* const admitted = std::get_if<Admitted>(&decision);
    if (admitted == nullptr) return std::nullopt;
    const std::vector<std::string> gained = gains(node, other, admitted->next);
    if (gained.empty()) return std::nullopt;
    std::vector<std::string> changes = differences(pod_, other);
    if (!setting.empty()) changes.push_back(setting);
    return Remedy{Remedy::Kind::kRequest,
                  listed(changes) + condition + "; " + listed(gained),
                  other,
                  {},
                  std::nullopt};
  }

  /// Returns "container c then has 4 exclusive CPUs" for each container that gains them.
  [[nodiscard]] std::vector<std::string> gains(const Node& node, const PodSpec& other,
                                               const NodeState& next) const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      const Container& container = other.containers[i];
      const CpuSet* const has = next.cpu.assignments.find({other.uid, container.name});
      const bool is_gained = gets_exclusive_cpus(node, other, container) && has != nullptr &&
                             !gets_exclusive_cpus(node_, pod_, pod_.containers[i]);
      if (!is_gained) continue;
      all.push_back(fmt::format("container {} then has {} exclusive CPU{}", container.name,
                                has->size(), has->size() == 1 ? "" : "s"));
    }
    return all;
  }

  /// Tries the pod on a node whose CPU manager assigns exclusive CPUs, and that divides pod-level
  /// resources among containers if the pod has any.
  [[nodiscard]] std::optional<Remedy> with_settings(const PodSpec& other) const {
    if (!node_.providers().empty()) return std::nullopt;  // the providers belong to this node
    Setting setting{"", node_.config()};
    std::vector<std::string> changes;
    if (!node_.cpu().is_static()) add_static_policy(setting.config, changes);
    if (other.has_pod_level_resources()) {
      for (const char* const gate : {"PodLevelResources", "PodLevelResourceManagers"}) {
        const bool is_on = gate == std::string_view("PodLevelResources")
                               ? node_.gates().pod_level_resources
                               : node_.gates().pod_level_resource_managers;
        if (is_on) continue;
        setting.config.feature_gates[gate] = true;
        changes.push_back(fmt::format("featureGates: {} false -> true", gate));
      }
    }
    const auto node = Node::make(node_.machine(), setting.config);
    if (!node) return std::nullopt;
    setting.text = listed(changes);
    const auto state = under(*node, setting);
    if (!state) return std::nullopt;
    auto remedy = tried(*node, *state, other, setting.text);
    if (remedy) remedy->config = std::move(setting.config);
    return remedy;
  }

  /// Changes the policy of the CPU manager, which needs reserved CPUs: those that are reserved now,
  /// else the first core.
  void add_static_policy(Config& config, std::vector<std::string>& changes) const {
    changes.push_back(fmt::format("cpuManagerPolicy: {} -> static", config.cpu_manager_policy));
    config.cpu_manager_policy = "static";
    const auto& cores = node_.machine().cores();
    if (Node::make(node_.machine(), config) || cores.size() < 2) return;
    config.reserved_system_cpus = cores.front().cpus.to_string();
    changes.push_back(fmt::format("reservedSystemCPUs: none -> {}", config.reserved_system_cpus));
  }

  /// Returns the state of a node with another configuration, with every pod that runs now.
  [[nodiscard]] std::optional<NodeState> under(const Node& node, Setting& setting) const {
    NodeState state = state_;
    const bool keeps_policy = node_.cpu().is_static() == node.cpu().is_static();
    if (keeps_policy && node.cpu().start(state.cpu) && node.memory().start(state.memory)) {
      return state;
    }
    return reconfigured(node_, state_, node, setting);
  }

  /// Lowers requests of a pod that is rejected once it is Guaranteed, or removes pods in its way,
  /// and notes why it is rejected.
  [[nodiscard]] std::vector<Remedy> of_rejected(const PodSpec& other) {
    constexpr int kMostTrials = 500;
    std::vector<Remedy> remedies;
    const auto failure = find_failure(node_, state_, other, nullptr);
    if (!failure || !would_gain(other)) return remedies;
    if (notes_.empty()) {
      notes_.push_back(fmt::format("With {} it would be rejected, {}: {}{}",
                                   listed(differences(pod_, other)), failure->why.reason,
                                   summarize(*failure), holders_of_all(*failure)));
    }
    Trials trials(kMostTrials);
    for (const Remedy& smaller : request_changes(*failure, trials)) {
      if (!has_same_order(*smaller.pod)) continue;
      auto remedy = tried(node_, state_, *smaller.pod, "");
      if (!remedy) continue;
      remedies.push_back(*std::move(remedy));
      break;
    }
    for (Remedy& fewer : pods_in_the_way(*failure, trials)) {
      NodeState state = state_;
      for (const PodUid& uid : fewer.pods) state = remove_pod(node_, std::move(state), uid);
      auto remedy = tried(node_, state, other, "", ", if " + fewer.text);
      if (!remedy) continue;
      remedy->pods = std::move(fewer.pods);
      remedies.push_back(*std::move(remedy));
    }
    return remedies;
  }

  const Node& node_;
  const NodeState& state_;
  const PodSpec& pod_;
  std::vector<std::string> notes_;
};

}  // namespace

ExclusiveAdvice ways_to_exclusive_cpus(const Node& node, const NodeState& state,
                                       const PodSpec& pod) {
  return ExclusiveSearch(node, state, pod).run();
}

}  // namespace pinfold::explain_detail
