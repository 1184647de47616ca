#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/verbs/comparison.hpp"
#include "pinfold/verbs/hooked.hpp"
#include "pinfold/verbs/reconfigure.hpp"

namespace pinfold::verbs {

struct Done {};  ///< success, without further data
/// Answers to the pods of Admit or PreviewAdmit and, if requested, one trace per pod.
struct Admissions {
  std::vector<agent::AdmitOutcome> outcomes;
  std::vector<Trace> traces;
  std::vector<agent::DecidedPod> pods = {};  ///< as desired, if requested
  std::vector<std::string> warnings = {};    ///< of the request
};
/// The pods of a node as desired: see agent::decided_pods.
struct PodList {
  std::vector<agent::DecidedPod> pods;
};
/// State of the service, and the other sockets that it serves.
struct ServiceReport {
  std::chrono::milliseconds busy{0};  ///< time since the current request began
  bool is_following = true;           ///< no `nri`, or a runtime is connected or was until recently
  std::string pod_resources_socket;   ///< empty if PodResources is not served
  std::string pod_resources_reason;   ///< why it is not served, or not where a kubelet serves it

  friend bool operator==(const ServiceReport&, const ServiceReport&) = default;
};
/// Where exporters read PodResources.
struct PodResourcesSocket {
  std::string socket;  ///< "": it is not served
  std::string reason;  ///< see ServiceReport
};
/// Returns nullopt if the service neither serves PodResources nor has a reason to report.
[[nodiscard]] std::optional<PodResourcesSocket> pod_resources_of(const ServiceReport& report);
/// Empty if the hook's request was carried out.
using HookOutcome = std::optional<Refusal>;

using Answer = std::variant<Done, Admissions, agent::ChangeOutcome, HookOutcome,
                            agent::ReconcileReport, Comparison, ServiceReport, Reconfigured,
                            agent::NodeStatus, PodList, agent::ResizeOutcome, PreparedContainer>;

}  // namespace pinfold::verbs
