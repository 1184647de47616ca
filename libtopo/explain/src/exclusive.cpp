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
#include "summary.hpp"
#include "table.hpp"
#include "trials.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

/// Whether memory that a container does not set may be filled in: any amount makes it Guaranteed.
enum class Memory { kAsSet, kExample };

constexpr Quantity kExampleMemory = Quantity::bytes(std::int64_t{1} << 30U);

/// Makes requests and limits of CPU and memory equal; false if an amount is missing.
bool equalize(Resources& resources, Memory memory) {
  for (const std::string name : {"cpu", "memory"}) {
    const Quantity limit = amount_of(resources.limits, name);
    Quantity amount = limit.is_zero() ? amount_of(resources.requests, name) : limit;
    if (amount.is_zero() && name == "memory" && memory == Memory::kExample) amount = kExampleMemory;
    if (amount.is_zero()) return false;
    resources.requests[name] = amount;
    resources.limits[name] = amount;
  }
  return true;
}

/// Rounds the CPUs of a container with more than one up to a whole number.
void round_up(Resources& resources) {
  const Quantity cpu = amount_of(resources.limits, "cpu");
  if (cpu.is_whole() || cpu.milli_value() < 1000) return;
  const Quantity whole = Quantity::of(cpu.value(), Quantity::Format::kDecimalSi);
  resources.requests["cpu"] = whole;
  resources.limits["cpu"] = whole;
}

/// Returns the pod as it would have to be for most of its containers to get exclusive CPUs.
std::optional<PodSpec> made_guaranteed(PodSpec pod, Memory memory) {
  if (pod.resources && !equalize(*pod.resources, Memory::kAsSet)) return std::nullopt;
  for (Container& container : pod.containers) {
    const bool is_equal = equalize(container.resources, memory);
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
  return is_manageable(node.gates(), pod) &&
         node.cpu().guaranteed_cpus(PodView(pod), container) > 0;
}

/// Searches for a change with which containers of a pod get exclusive CPUs.
class ExclusiveSearch {
 public:
  ExclusiveSearch(const Node& node, const NodeState& state, const PodSpec& pod)
      : node_(node), state_(state), pod_(pod) {}

  [[nodiscard]] ExclusiveAdvice run() {
    std::optional<PodSpec> last;
    for (const Memory memory : {Memory::kAsSet, Memory::kExample}) {
      const auto other = made_guaranteed(pod_, memory);
      if (!other || other == last || !find_violations(*other).empty()) continue;
      last = other;
      auto remedies = found(*other);
      if (!remedies.empty()) return {std::move(remedies), std::move(notes_)};
    }
    return {{}, std::move(notes_)};
  }

 private:
  [[nodiscard]] std::vector<Remedy> found(const PodSpec& other) {
    std::vector<Remedy> remedies;
    const auto add = [&](std::optional<Remedy> remedy) {
      if (remedy) remedies.push_back(*std::move(remedy));
    };
    if (!is_manageable(node_.gates(), other)) {
      add(with_feature_gate(other));
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

  /// Tries the pod on a node that divides pod-level resources among containers.
  [[nodiscard]] std::optional<Remedy> with_feature_gate(const PodSpec& other) const {
    if (!node_.providers().empty()) return std::nullopt;  // the providers belong to this node
    Config config = node_.config();
    config.feature_gates["PodLevelResourceManagers"] = true;
    const auto node = Node::make(node_.machine(), config);
    NodeState state = state_;
    if (!node || !node->cpu().start(state.cpu) || !node->memory().start(state.memory)) {
      return std::nullopt;
    }
    auto remedy =
        tried(*node, state, other, "featureGates: PodLevelResourceManagers false -> true");
    if (remedy) remedy->config = std::move(config);
    return remedy;
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
  return node.cpu().is_static() ? ExclusiveSearch(node, state, pod).run() : ExclusiveAdvice{};
}

}  // namespace pinfold::explain_detail
