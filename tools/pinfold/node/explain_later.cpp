#include "node/explain_later.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pinfold::tools {
namespace {

/// Decides about a pod as `explain` does. Returns the reason for a rejection, which leaves the
/// state unchanged; nullopt if the pod is admitted.
std::optional<std::string> admit_into(const Node& node, NodeState& state, const PodSpec& pod) {
  Decision decision =
      decide(node, state, pod, nullptr, nullptr, AdmissionChecks::kManagersAndRequests);
  if (auto* const admitted = std::get_if<Admitted>(&decision)) {
    state = std::move(admitted->next);
    return std::nullopt;
  }
  return std::get<Rejected>(decision).why.reason;
}

}  // namespace

void name_later_rejections(const Node& node, const NodeState& before,
                           std::span<const PodSpec> admitted_later, Explanation& explanation) {
  for (Remedy& remedy : explanation.remedies) {
    const bool is_tried = remedy.online.empty() && (remedy.kind == Remedy::Kind::kRequest ||
                                                    remedy.kind == Remedy::Kind::kPods);
    if (!is_tried) continue;
    NodeState state = before;
    for (const PodUid& uid : remedy.pods) state = remove_pod(node, std::move(state), uid);
    if (admit_into(node, state, remedy.pod.value_or(explanation.pod))) continue;
    for (const PodSpec& pod : admitted_later) {
      const auto reason = admit_into(node, state, pod);
      if (!reason) continue;
      remedy.text += fmt::format("; {}/{} of the same call is then rejected ({})",
                                 pod.namespace_name, pod.name, *reason);
    }
  }
}

void name_pods_of_call(std::span<const PodSpec> admitted_before, Explanation& explanation) {
  const auto is_of_call = [&](const PodUid& uid) {
    return std::any_of(admitted_before.begin(), admitted_before.end(),
                       [&](const PodSpec& pod) { return pod.uid == uid; });
  };
  constexpr std::string_view kRecreated = " removed and recreated after";
  constexpr std::string_view kRemoved = " removed";
  for (Remedy& remedy : explanation.remedies) {
    const bool is_all = std::all_of(remedy.pods.begin(), remedy.pods.end(), is_of_call);
    if (remedy.kind != Remedy::Kind::kPods || !is_all) continue;
    if (const auto at = remedy.text.find(kRecreated); at != std::string::npos) {
      remedy.text.replace(at, kRecreated.size(), " admitted after");
    } else if (const auto verb = remedy.text.find(kRemoved); verb != std::string::npos) {
      remedy.text.replace(verb, kRemoved.size(), " not admitted before it");
    }
  }
}

}  // namespace pinfold::tools
