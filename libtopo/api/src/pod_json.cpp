#include "pod_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "pinfold/api/pod.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/words.hpp"
#include "pinfold/types/amount_text.hpp"
#include "pinfold/types/named.hpp"
#include "schema.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxPathPart = 253;
constexpr std::size_t kMaxLabel = 63;
constexpr const char* kConfigSource = "kubernetes.io/config.source";
constexpr const char* kNodeCritical = "system-node-critical";
constexpr std::int32_t kSystemCriticalPriority = 2'000'000'000;
constexpr std::string_view kLabelRule =
    "expected 1 to 63 lower-case letters, digits and '-', the first and last not '-'";

bool is_lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

bool is_dns_label(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabel && is_lower_alnum(text.front()) &&
         is_lower_alnum(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return is_lower_alnum(c) || c == '-';
         });
}

/// The API server's rule is narrower than what is safe.
bool is_part_of_name(std::string_view text) {
  return is_safe_name(text) && is_alnum(text.back()) && text.find('+') == std::string_view::npos;
}

/// True for "name" or "prefix/name". The size of huge pages must be a quantity because it is used
/// in a file name.
bool is_resource_name(std::string_view text) {
  if (is_huge_page_resource(text)) {
    const auto size = Quantity::parse(text.substr(kHugePagesPrefix.size()));
    return size && size->sign() > 0 && size->is_whole() && is_part_of_name(text);
  }
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return is_part_of_name(text);
  return is_part_of_name(text.substr(0, slash)) && is_part_of_name(text.substr(slash + 1));
}

/// Returns a member that must be an object; nullptr if it is absent.
Result<const json*> object_member(const json& parent, std::string_view path, std::string_view key) {
  const json* value = member(parent, key);
  if (value != nullptr && !value->is_object()) {
    return fail_field(join(path, key), *value, "expected an object");
  }
  return value;
}

Result<ResourceList> read_list(const json& resources, const std::string& path,
                               std::string_view key) {
  ResourceList list;
  PINFOLD_LET(const auto object, object_member(resources, path, key));
  if (object == nullptr) return list;
  for (const auto& [name, value] : object->items()) {
    const std::string field = fmt::format("{}.{}.{}", path, key, name);
    if (!is_resource_name(name)) return fail_field(field, value, "expected a resource name");
    if (!value.is_string() && !value.is_number()) {
      return fail_field(field, value, "expected a quantity");
    }
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const auto quantity = Quantity::parse(trimmed(text));
    if (!quantity) return fail_field(field, value, expected_amount(name, text));
    if (quantity->sign() < 0) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("{}.{}[{}]: Invalid value: \"{}\": must be greater than or equal to 0", path,
                      key, name, quantity->to_string()));
    }
    list.emplace(name, *quantity);
  }
  return list;
}

/// Reads parent.resources; nullopt if it is absent.
Result<std::optional<Resources>> read_resources(const json& parent, const std::string& path) {
  PINFOLD_LET(const auto object, object_member(parent, path, "resources"));
  if (object == nullptr) return std::nullopt;
  Resources resources;
  const std::string field = join(path, "resources");
  PINFOLD_LET(auto requests, read_list(*object, field, "requests"));
  PINFOLD_LET(auto limits, read_list(*object, field, "limits"));
  return Resources{std::move(requests), std::move(limits)};
}

/// Reads a string member that must be a safe name; `otherwise` if it is absent.
Result<std::string> read_name(const json& metadata, std::string_view key,
                              const std::string& otherwise) {
  const std::string field = join("metadata", key);
  const json* value = member(metadata, key);
  if (value != nullptr && !value->is_string()) {
    return fail_field(field, *value, "expected a string in quotes");
  }
  const std::string name = value != nullptr ? value->get<std::string>() : otherwise;
  if (!is_safe_name(name)) {
    return fail_field(field, name,
                      fmt::format("expected 1 to {} letters, digits, '.', '_', '-' and '+', the "
                                  "first a letter or digit",
                                  kMaxPathPart));
  }
  return name;
}

Result<void> read_metadata(const json& document, PodSpec& pod) {
  PINFOLD_LET(const auto metadata, object_member(document, "", "metadata"));
  if (metadata == nullptr || member(*metadata, "name") == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "metadata.name: missing: expected the pod's name");
  }
  PINFOLD_LET(auto name, read_name(*metadata, "name", ""));
  PINFOLD_LET(auto space, read_name(*metadata, "namespace", "default"));
  if (!is_dns_label(space)) {
    return fail_field("metadata.namespace", space, kLabelRule);
  }
  PINFOLD_LET(auto uid, read_name(*metadata, "uid", space + "_" + name));
  pod.name = std::move(name);
  pod.namespace_name = std::move(space);
  pod.uid = PodUid(std::move(uid));
  return {};
}

Result<Container> read_container(const json& value, const std::string& path, bool init) {
  if (!value.is_object()) return fail_field(path, value, "expected an object");
  Container container;
  const json* name = member(value, "name");
  if (name == nullptr || !name->is_string() || !is_dns_label(name->get<std::string>())) {
    return fail_field(path + ".name", name == nullptr ? json() : *name, kLabelRule);
  }
  container.name = name->get<std::string>();
  if (init) {
    const json* policy = member(value, "restartPolicy");
    if (policy != nullptr && !policy->is_string()) {
      return fail_field(path + ".restartPolicy", *policy, "expected a string");
    }
    const bool always = policy != nullptr && *policy == "Always";
    container.kind = always ? ContainerKind::kSidecar : ContainerKind::kInit;
  }
  PINFOLD_LET(auto resources, read_resources(value, path));
  if (resources) container.resources = std::move(*resources);
  return container;
}

/// Limits the number of containers. More than this do not fit into an object of the API server, 1.5
/// MiB.
Result<void> check_count(const json& spec) {
  constexpr std::size_t kMost = 10'000;
  for (const char* const key : {"initContainers", "containers"}) {
    const json* const list = member(spec, key);
    if (list == nullptr || list->size() <= kMost) continue;
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("spec.{}: {} containers, expected at most {}", key, list->size(), kMost));
  }
  return {};
}

/// Reads a list of containers. `names` are those of the containers read so far.
Result<void> read_containers(const json& spec, std::string_view key, bool init, PodSpec& pod,
                             std::set<std::string>& names) {
  const json* list = member(spec, key);
  const std::string path = join("spec", key);
  if (list == nullptr) return {};
  if (!list->is_array()) return fail_field(path, *list, "expected a list");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string field = fmt::format("{}[{}]", path, i);
    PINFOLD_LET(auto container, read_container((*list)[i], field, init));
    if (!names.insert(container.name).second) {
      return fail_field(field + ".name", container.name, "expected a unique name");
    }
    pod.containers.push_back(std::move(container));
  }
  return {};
}

Result<void> expect_text(const json& document, std::string_view key, std::string_view text) {
  const json* value = member(document, key);
  if (value == nullptr || *value == text) return {};
  return fail_field(key, *value, fmt::format("expected '{}'", text));
}

/// Checks that it is a Pod. For an object of another kind, the error says what to pass; one with
/// containers is a pod whose kind is misspelt.
Result<void> check_kind(const json& document) {
  const std::string kind = text_of(document, "kind");
  const json* const spec = member(document, "spec");
  const bool has_containers = spec != nullptr && spec->is_object() && spec->contains("containers");
  if (kind.empty() || kind == "Pod" || has_containers) {
    PINFOLD_TRY(expect_text(document, "apiVersion", "v1"));
    return expect_text(document, "kind", "Pod");
  }
  const std::string version = text_of(document, "apiVersion");
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} {}{}: expected a Pod: pass one of its pods, as 'kubectl get pod NAME "
                          "-o yaml' prints it",
                          printable(kind), name_of(document),
                          version.empty() ? "" : fmt::format(" ({})", printable(version))));
}

/// Returns the priority of a class that every cluster has; 0 for others.
/// Source: kubernetes v1.36.2, pkg/apis/scheduling/types.go and helpers.go SystemPriorityClasses.
std::int32_t priority_of_class(const json& name) {
  if (name == kNodeCritical) return kSystemCriticalPriority + 1000;
  return name == "system-cluster-critical" ? kSystemCriticalPriority : 0;
}

/// Reads spec.priority and spec.priorityClassName.
Result<PodPriority> read_priority(const json& spec) {
  const json* const name = member(spec, "priorityClassName");
  if (name != nullptr && !name->is_string()) {
    return fail_field("spec.priorityClassName", *name, "expected a string");
  }
  const json* const priority = member(spec, "priority");
  if (priority == nullptr) return PodPriority{name == nullptr ? 0 : priority_of_class(*name)};
  const std::string_view expected = expectation(*priority, FieldType::kInt32);
  if (!expected.empty()) return fail_field("spec.priority", *priority, expected);
  return PodPriority{priority->get<std::int32_t>()};
}

/// Reads whether a pod is static and node-critical, and gives a mirror pod the UID of its static
/// pod, which the kubelet uses for it. Domain: document.metadata is an object.
/// Source: kubelet v1.36.2, pkg/kubelet/types/pod_update.go IsNodeCriticalPod.
Result<void> read_criticality(const json& document, const json& spec, PodSpec& pod) {
  PINFOLD_LET(const auto annotations,
              object_member(*member(document, "metadata"), "metadata", "annotations"));
  const auto annotation = [&](const char* name) {
    return annotations == nullptr ? nullptr : member(*annotations, name);
  };
  const json* const mirror = annotation("kubernetes.io/config.mirror");
  if (mirror != nullptr) {
    PINFOLD_LET(auto uid, read_name(*annotations, "kubernetes.io/config.hash", pod.uid.value));
    pod.uid = PodUid(std::move(uid));
  }
  const json* const source = annotation(kConfigSource);
  pod.is_static = source != nullptr && *source != "api";
  PINFOLD_LET(pod.priority, read_priority(spec));
  const json* const name = member(spec, "priorityClassName");
  const bool has_priority =
      member(spec, "priority") != nullptr && pod.priority.value >= kSystemCriticalPriority;
  pod.is_node_critical = name != nullptr && *name == kNodeCritical &&
                         (pod.is_static || mirror != nullptr || has_priority);
  return {};
}

json to_json(const ResourceList& list) {
  json out = json::object();
  for (const auto& [name, quantity] : list) out[name] = quantity.to_string();
  return out;
}

json to_json(const Resources& resources) {
  json out = json::object();
  if (!resources.requests.empty()) out["requests"] = to_json(resources.requests);
  if (!resources.limits.empty()) out["limits"] = to_json(resources.limits);
  return out;
}

}  // namespace

bool is_safe_name(std::string_view name) {
  const auto is_safe = [](char c) {
    return is_alnum(c) || c == '.' || c == '_' || c == '-' || c == '+';
  };
  return !name.empty() && name.size() <= kMaxPathPart && is_alnum(name.front()) &&
         std::all_of(name.begin(), name.end(), is_safe);
}

Result<void> check_pod_fields(const json& document) {
  constexpr std::size_t kMost = 5;  // in one message
  if (!document.is_object()) return fail_field("pod", document, "expected an object");
  PINFOLD_LET(auto unknown, check_fields(document, kPodFields));
  if (unknown.empty()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}", fmt::join(first_named(std::move(unknown), kMost, "more"), "; ")));
}

std::string text_of(const json& object, std::string_view key) {
  const json* const value = object.is_object() ? member(object, key) : nullptr;
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::string name_of(const json& object) {
  const json* const metadata = member(object, "metadata");
  if (metadata == nullptr) return "''";
  const std::string space = text_of(*metadata, "namespace");
  return fmt::format("'{}/{}'", printable(space.empty() ? "default" : space),
                     printable(text_of(*metadata, "name")));
}

std::string final_phase(const json& pod) {
  const json* const status = pod.is_object() ? member(pod, "status") : nullptr;
  const std::string phase = status == nullptr ? "" : text_of(*status, "phase");
  return phase == "Succeeded" || phase == "Failed" ? phase : "";
}

Result<PodSpec> pod_from_json(const json& document) {
  const std::string phase = final_phase(document);
  if (phase.empty()) return pod_of_any_phase(document);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("pod {} has finished ({}): expected a running or pending pod",
                          name_of(document), phase));
}

Result<PodSpec> pod_of_any_phase(const json& document) {
  if (!document.is_object()) return fail_field("pod", document, "expected an object");
  PodSpec pod;
  PINFOLD_TRY(check_kind(document));
  PINFOLD_TRY(read_metadata(document, pod));
  PINFOLD_LET(const auto spec, object_member(document, "", "spec"));
  if (spec == nullptr || member(*spec, "containers") == nullptr ||
      member(*spec, "containers")->empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "spec.containers: missing: expected at least one container");
  }
  PINFOLD_TRY(check_count(*spec));
  std::set<std::string> names;
  PINFOLD_TRY(read_containers(*spec, "initContainers", true, pod, names));
  PINFOLD_TRY(read_containers(*spec, "containers", false, pod, names));
  PINFOLD_LET(pod.resources, read_resources(*spec, "spec"));
  PINFOLD_LET(pod.overhead, read_list(*spec, "spec", "overhead"));
  PINFOLD_TRY(read_criticality(document, *spec, pod));
  return pod;
}

json to_json(const PodSpec& pod) {
  json init = json::array();
  json apps = json::array();
  for (const Container& container : pod.containers) {
    json out = {{"name", container.name}};
    if (container.resources != Resources{}) out["resources"] = to_json(container.resources);
    if (container.kind == ContainerKind::kSidecar) out["restartPolicy"] = "Always";
    (container.kind == ContainerKind::kApp ? apps : init).push_back(std::move(out));
  }
  json spec = {{"containers", std::move(apps)}};
  if (!init.empty()) spec["initContainers"] = std::move(init);
  if (pod.resources) spec["resources"] = to_json(*pod.resources);
  if (!pod.overhead.empty()) spec["overhead"] = to_json(pod.overhead);
  std::int32_t priority = pod.priority.value;
  if (pod.is_node_critical) {
    spec["priorityClassName"] = kNodeCritical;
    priority = std::max(priority, kSystemCriticalPriority);
  }
  if (priority != 0) spec["priority"] = priority;
  json metadata = {{"name", pod.name}, {"namespace", pod.namespace_name}, {"uid", pod.uid.value}};
  if (pod.is_static) metadata["annotations"][kConfigSource] = "file";
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)}};
}

}  // namespace pinfold
