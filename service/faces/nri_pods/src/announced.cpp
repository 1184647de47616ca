#include "announced.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "annotation.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/api/validation.hpp"
#include "pinfold/nri_pods/recovered_pod.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::nri {
namespace {

using nlohmann::json;

json pod_document(const api::PodSandbox& sandbox, json spec) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", sandbox.name()}, {"namespace", sandbox.namespace_()}, {"uid", sandbox.uid()}}},
          {"spec", std::move(spec)}};
}

/// Returns the object of an annotation; null if the pod does not have it.
Result<json> read_object(const api::PodSandbox& sandbox, std::string_view name) {
  PINFOLD_LET(auto value, read_annotation(sandbox, name));
  if (!value.is_null() && !value.is_object()) {
    return fail_field("value", value, "expected an object");
  }
  return value;
}

Result<PodSpec> read_spec(const api::PodSandbox& sandbox, json spec) {
  PINFOLD_LET(auto pod, read_pod(pod_document(sandbox, std::move(spec))));
  PINFOLD_TRY(validate(pod));
  return pod;
}

/// Adds the containers of one member of kAnnotatorAnnotation.
Result<void> add_annotated(const api::PodSandbox& sandbox, const json& value, std::string_view key,
                           AnnotatedContainers& all) {
  const json* const list = member(value, key);
  if (list == nullptr) return {};
  if (!list->is_object()) return fail_field(key, *list, "expected an object");
  for (const auto& [name, resources] : list->items()) {
    const std::string path = join(key, printable(name));
    PINFOLD_LET_WRAP(
        auto pod,
        read_spec(sandbox,
                  {{"containers", json::array({{{"name", name}, {"resources", resources}}})}}),
        path);
    pod.containers.front().kind = key == "containers" ? ContainerKind::kApp : ContainerKind::kInit;
    if (!all.emplace(name, std::move(pod.containers.front())).second) {
      return fail_field(path, name, "expected a unique name");
    }
  }
  return {};
}

}  // namespace

Result<PodSpec> pod_of(const api::PodSandbox& sandbox, std::span<const api::Container> containers) {
  json names = json::array();
  for (const api::Container& container : containers) names.push_back({{"name", container.name()}});
  const bool is_empty = names.empty();
  if (is_empty) names.push_back({{"name", "none"}});  // a Pod needs a container
  PINFOLD_LET(auto pod, pod_from_json(pod_document(sandbox, {{"containers", std::move(names)}})));
  if (is_empty) pod.containers.clear();
  for (const Container& container : pod.containers) {
    if (is_safe_name(unannounced_uid(pod.uid, container.name).value)) continue;
    return fail_field("metadata.uid", pod.uid.value, "expected a shorter UID");
  }
  return pod;
}

Result<std::optional<PodSpec>> announced_pod(const api::PodSandbox& sandbox) {
  PINFOLD_LET(auto spec, read_object(sandbox, kResourcesAnnotation));
  if (spec.is_null()) return std::nullopt;
  PINFOLD_LET(auto pod, read_spec(sandbox, std::move(spec)));
  return pod;
}

Result<AnnotatedContainers> annotated_containers(const api::PodSandbox& sandbox) {
  AnnotatedContainers all;
  PINFOLD_LET(const auto value, read_object(sandbox, kAnnotatorAnnotation));
  if (value.is_null()) return all;
  for (const auto& [key, list] : value.items()) {
    if (key == "containers" || key == "initContainers") continue;
    return fail_field(key, list, "expected 'containers' or 'initContainers'");
  }
  PINFOLD_TRY(add_annotated(sandbox, value, "containers", all));
  PINFOLD_TRY(add_annotated(sandbox, value, "initContainers", all));
  return all;
}

}  // namespace pinfold::nri
