#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"

/// Reads Pods as users write them.
namespace pinfold {

/// Returns a document as a Pod: for a Deployment, DaemonSet, StatefulSet, ReplicaSet,
/// ReplicationController, Job, CronJob or PodTemplate the pod template with the workload's name and
/// namespace, else the document itself.
/// Errors: kInvalidArgument for a workload without a template, for a pod that has finished, and for
/// an object that does not look like a manifest.
[[nodiscard]] Result<nlohmann::json> as_pod(nlohmann::json document);
/// Reads a Pod that a user wrote (see as_pod), checks it as kubectl does, and applies the API
/// server's defaults. Errors: kInvalidArgument, also for an unknown field (see check_pod_fields).
[[nodiscard]] Result<PodSpec> read_pod(const nlohmann::json& document);

struct PodDocuments {
  std::vector<PodSpec> pods;
  /// What was skipped (finished pods, to which a kubelet gives nothing; objects of unknown kinds),
  /// read as a pod, or read though it is of another node.
  std::vector<std::string> notes;
};
/// Like read_pod, for one or several documents, each a Pod, a workload or a list of them as printed
/// by `kubectl get -o yaml`. `name` is the name of the text in errors.
/// Errors: kInvalidArgument with the document's number.
[[nodiscard]] Result<PodDocuments> read_pods(std::string_view yaml_or_json, std::string_view name);
/// Validates all pods. Errors: kInvalidArgument with all violations (see
/// pinfold/api/validation.hpp).
[[nodiscard]] Result<void> validate_all(const std::vector<PodSpec>& pods);

}  // namespace pinfold
