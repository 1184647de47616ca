#include "pinfold/api/pod_documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "pinfold/api/validation.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

bool is_list(const nlohmann::json& document) {
  if (!document.is_object()) return false;
  const auto kind = document.find("kind");
  return kind != document.end() && (*kind == "List" || *kind == "PodList");
}

/// Adds the pod of a document, or those of a list as `kubectl get pods -o yaml` prints it.
Result<void> add_pods(const nlohmann::json& document, std::vector<PodSpec>& pods) {
  if (!is_list(document)) {
    PINFOLD_LET(auto pod, read_pod(document));
    pods.push_back(std::move(pod));
    return {};
  }
  const nlohmann::json* const items = member(document, "items");
  if (items == nullptr) return {};
  if (!items->is_array()) return fail_field("items", *items, "expected a list");
  for (std::size_t i = 0; i < items->size(); ++i) {
    PINFOLD_LET_WRAP(auto pod, read_pod((*items)[i]), fmt::format("items[{}]", i));
    pods.push_back(std::move(pod));
  }
  return {};
}

}  // namespace

Result<PodSpec> read_pod(const nlohmann::json& document) {
  constexpr std::array<std::string_view, 8> kWorkloads = {
      "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet",
      "Job",        "CronJob",   "PodTemplate", "ReplicationController"};
  const auto kind = document.is_object() ? document.find("kind") : document.end();
  const bool is_workload = kind != document.end() && std::find(kWorkloads.begin(), kWorkloads.end(),
                                                               *kind) != kWorkloads.end();
  if (is_workload) {
    return fail_field("kind", *kind,
                      "expected 'Pod': pass a pod that it has created ('kubectl get pod NAME -o "
                      "yaml'), or its pod template with kind: Pod and a name");
  }
  PINFOLD_LET(auto pod, pod_from_json(document));
  PINFOLD_TRY(check_pod_fields(document));
  apply_defaults(pod);
  return pod;
}

Result<std::vector<PodSpec>> read_pods(std::string_view yaml_or_json, std::string_view name) {
  PINFOLD_LET_WRAP(const auto documents, parse_documents(yaml_or_json), name);
  std::vector<PodSpec> pods;
  std::size_t number = 0;
  for (const nlohmann::json& document : documents) {
    ++number;
    PINFOLD_TRY_WRAP(add_pods(document, pods), documents.size() == 1
                                                   ? std::string(name)
                                                   : fmt::format("{}, document {}", name, number));
  }
  return pods;
}

Result<void> validate_all(const std::vector<PodSpec>& pods) {
  std::vector<std::string> messages;
  for (const PodSpec& pod : pods) {
    if (auto valid = validate(pod); !valid) messages.push_back(std::move(valid).error().message);
  }
  if (messages.empty()) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}", fmt::join(messages, "; ")));
}

}  // namespace pinfold
