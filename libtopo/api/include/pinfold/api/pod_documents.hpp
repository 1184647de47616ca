#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"

/// Pods as users write them.
namespace pinfold {

/// A document as a Pod: that of the pod template for a Deployment, DaemonSet, StatefulSet,
/// ReplicaSet, ReplicationController, Job, CronJob or PodTemplate, with the workload's name and
/// namespace; else the document itself.
/// Errors: kInvalidArgument for a workload without a template, and for a pod that has finished.
[[nodiscard]] Result<nlohmann::json> as_pod(nlohmann::json document);
/// A Pod that a user wrote, see as_pod, checked as kubectl does, with the API server's defaults.
/// Errors: kInvalidArgument, for an unknown field too (see check_pod_fields).
[[nodiscard]] Result<PodSpec> read_pod(const nlohmann::json& document);

struct PodDocuments {
  std::vector<PodSpec> pods;
  /// What was skipped (pods that have finished: a kubelet gives them nothing) or taken for a pod.
  std::vector<std::string> notes;
};
/// The same for one or several documents, each a Pod, a workload or a list of them as `kubectl get
/// -o yaml` prints it. `name`: what errors call the text.
/// Errors: kInvalidArgument with the document's number.
[[nodiscard]] Result<PodDocuments> read_pods(std::string_view yaml_or_json, std::string_view name);
/// Errors: kInvalidArgument with the violations of all pods (see pinfold/api/validation.hpp).
[[nodiscard]] Result<void> validate_all(const std::vector<PodSpec>& pods);

}  // namespace pinfold
