#include "pinfold/decide/acting_quirks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace pinfold {
namespace {

/// The result of a decision, as far as a quirk can change it.
struct DecisionOutcome {
  std::string rejection;  ///< empty: admitted
  std::vector<ContainerResources> containers;
  std::string start_error;  ///< of a kubelet that starts afterwards; "" if it started before, too

  friend bool operator==(const DecisionOutcome&, const DecisionOutcome&) = default;
};

struct Decided {
  DecisionOutcome outcome;
  NodeState next;
};

/// Returns why a kubelet does not start from a state; "": it does.
std::string start_error(const Node& node, const NodeState& state) {
  NodeState copy = state;
  if (const auto started = node.cpu().start(copy.cpu); !started) return started.error().message;
  const auto started = node.memory().start(copy.memory);
  return started ? "" : started.error().message;
}

Decided outcome_of(const Node& node, const NodeState& state, const PodSpec& pod) {
  Decision decision =
      decide(node, state, pod, nullptr, nullptr, AdmissionChecks::kManagersAndRequests);
  if (auto* const rejected = std::get_if<Rejected>(&decision)) {
    return {{rejected->why.reason + rejected->why.message, {}, ""}, std::move(rejected->next)};
  }
  NodeState& next = std::get<Admitted>(decision).next;
  auto containers = all_container_resources(node, next, *next.find(pod.uid));
  std::string error = start_error(node, state).empty() ? start_error(node, next) : "";
  return {{"", std::move(containers), std::move(error)}, std::move(next)};
}

/// Passes the calls to a provider of another node.
class BorrowedProvider final : public HintProvider {
 public:
  explicit BorrowedProvider(const HintProvider& lender) : lender_(lender) {}

  [[nodiscard]] std::string name() const override { return lender_.name(); }
  [[nodiscard]] ResourceHints container_hints(const std::string& state, const PodSpec& pod,
                                              const Container& container) const override {
    return lender_.container_hints(state, pod, container);
  }
  [[nodiscard]] ResourceHints pod_hints(const std::string& state,
                                        const PodSpec& pod) const override {
    return lender_.pod_hints(state, pod);
  }
  [[nodiscard]] Admission allocate(std::string& state, const PodSpec& pod,
                                   const Container& container,
                                   const TopologyHint& affinity) const override {
    return lender_.allocate(state, pod, container, affinity);
  }
  void release(std::string& state, const ContainerId& container) const override {
    lender_.release(state, container);
  }

 private:
  const HintProvider& lender_;
};

Node::Providers borrow(const Node::Providers& lenders) {
  Node::Providers borrowed;
  for (const auto& one : lenders) borrowed.push_back(std::make_unique<BorrowedProvider>(*one));
  return borrowed;
}

/// Returns the outcome under a profile without a quirk; nullopt if the node would not start.
std::optional<DecisionOutcome> without(const Node& node, const Quirk* quirk, Profile profile,
                                       const NodeState& state, const PodSpec& pod) {
  Config config = node.config();
  config.profile = profile;
  config.without_quirk = quirk;
  const auto other = Node::make(node.machine(), std::move(config), borrow(node.providers()));
  if (!other) return std::nullopt;
  return outcome_of(*other, state, pod).outcome;
}

/// Returns what follows from a decision for an operator.
std::vector<std::string> consequences(const Node& node, const Decided& decided,
                                      const PodSpec& pod) {
  std::vector<std::string> all;
  const NodeState& after = decided.next;
  for (const Container& container : pod.containers) {
    const CpuSet* const cpus = after.cpu.assignments.find({pod.uid, container.name});
    if (cpus == nullptr) continue;
    if (const CpuSet reserved = *cpus & node.cpu().reserved(); !reserved.empty()) {
      all.push_back(fmt::format("container {} has the reserved CPU{} {}", container.name,
                                reserved.size() == 1 ? "" : "s", reserved.to_string()));
    }
    const int count = node.cpu().guaranteed_cpus(pod, container);
    if (static_cast<int>(cpus->size()) < count) {
      all.push_back(
          fmt::format("container {} gets {} of {} CPUs", container.name, cpus->size(), count));
    }
  }
  if (const std::string& error = decided.outcome.start_error; !error.empty()) {
    all.push_back("the kubelet then fails to restart: " + error);
  }
  return all;
}

}  // namespace

std::vector<std::string> acting_quirks(const Node& node, const NodeState& state,
                                       const PodSpec& pod) {
  std::vector<std::string> sentences;
  if (node.quirks() == Quirks{}) return sentences;
  const Decided with = outcome_of(node, state, pod);
  if (without(node, nullptr, Profile::kFixed, state, pod) == with.outcome) return sentences;
  const Profile profile = node.config().profile;
  for (const Quirk& quirk : quirk_table()) {
    if (!(node.quirks().*quirk.member)) continue;
    const auto outcome = without(node, &quirk, profile, state, pod);
    if (outcome == with.outcome) continue;
    std::string kubelet(to_string(profile));
    std::replace(kubelet.begin(), kubelet.end(), '-', ' ');
    std::string text =
        fmt::format("A known bug of {} applies: {} (quirk {}{}{})", kubelet, quirk.what, quirk.name,
                    quirk.issue.empty() ? "" : ", ", quirk.issue);
    for (const std::string& consequence : consequences(node, with, pod)) {
      text += "; " + consequence;
    }
    if (!outcome) text += "; without it this kubelet would not start with its configuration";
    sentences.push_back(std::move(text));
  }
  return sentences;
}

}  // namespace pinfold
