#include "input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::tools {

Result<std::string> read_input(const std::string& path) {
  return path == "-" ? read_rest(STDIN_FILENO, "standard input") : read_file(path);
}

using nlohmann::json;

Result<PodSpec> read_pod(const json& document) {
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

std::set<std::string> device_resources(const PodSpec& pod) {
  std::set<std::string> resources;
  for (const Container& container : pod.containers) {
    for (const auto& [name, amount] : container.resources.requests) {
      const bool is_device = !is_native_resource(name) && name.find('/') != std::string::npos;
      if (is_device && !amount.is_zero()) resources.insert(name);
    }
  }
  return resources;
}

namespace {

bool is_list(const json& document) {
  if (!document.is_object()) return false;
  const auto kind = document.find("kind");
  return kind != document.end() && (*kind == "List" || *kind == "PodList");
}

/// Adds the pod of a document, or those of a list as `kubectl get pods -o yaml` prints it.
Result<void> add_pods(const json& document, std::vector<PodSpec>& pods) {
  if (!is_list(document)) {
    PINFOLD_LET(auto pod, read_pod(document));
    pods.push_back(std::move(pod));
    return {};
  }
  const json* const items = member(document, "items");
  if (items == nullptr) return {};
  if (!items->is_array()) return fail_field("items", *items, "expected a list");
  for (std::size_t i = 0; i < items->size(); ++i) {
    PINFOLD_LET_WRAP(auto pod, read_pod((*items)[i]), fmt::format("items[{}]", i));
    pods.push_back(std::move(pod));
  }
  return {};
}

}  // namespace

Result<std::vector<PodSpec>> read_pods(const std::vector<std::string>& files) {
  std::vector<PodSpec> pods;
  for (const std::string& file : files) {
    PINFOLD_LET(auto text, read_input(file));
    PINFOLD_LET_WRAP(auto documents, parse_documents(text), file);
    std::size_t number = 0;
    for (const json& document : documents) {
      ++number;
      PINFOLD_TRY_WRAP(add_pods(document, pods),
                       documents.size() == 1 ? file : fmt::format("{}, document {}", file, number));
    }
  }
  if (pods.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("no pod in {}: expected at least one", fmt::join(files, ", ")));
  }
  return pods;
}

}  // namespace pinfold::tools
