#include "pinfold/api/pod_documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "pinfold/api/quiet_note.hpp"
#include "pinfold/api/validation.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"
#include "pod_json.hpp"

namespace pinfold {
namespace {

bool is_list(const nlohmann::json& document) {
  if (!document.is_object()) return false;
  const auto kind = document.find("kind");
  return kind != document.end() && kind->is_string() &&
         kind->get_ref<const std::string&>().ends_with("List");
}

/// True for an object of another project whose pod template is where a Deployment has its own, such
/// as Argo's Rollout and OpenShift's DeploymentConfig.
bool is_like_deployment(const nlohmann::json& document) {
  const nlohmann::json* found = &document;
  for (const char* const key : {"spec", "template", "spec", "containers"}) {
    found = found != nullptr && found->is_object() ? member(*found, key) : nullptr;
  }
  return found != nullptr && found->is_array();
}

bool is_workload(const nlohmann::json& document) {
  constexpr std::array<std::string_view, 8> kWorkloads = {
      "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet",
      "Job",        "CronJob",   "PodTemplate", "ReplicationController"};
  const std::string kind = text_of(document, "kind");
  if (kind.empty() || kind == "Pod") return false;
  return std::find(kWorkloads.begin(), kWorkloads.end(), kind) != kWorkloads.end() ||
         is_like_deployment(document);
}

/// Builds a Pod from a workload's template. Domain: a workload.
Result<nlohmann::json> pod_of_template(const nlohmann::json& workload) {
  const std::string kind = text_of(workload, "kind");
  std::vector<std::string_view> path = {"spec", "template"};
  if (kind == "PodTemplate") path = {"template"};
  if (kind == "CronJob") path = {"spec", "jobTemplate", "spec", "template"};
  const nlohmann::json* found = &workload;
  for (const std::string_view key : path) {
    found = found->is_object() ? member(*found, key) : nullptr;
    if (found != nullptr) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} {}: no {}: expected a pod template", kind, name_of(workload),
                            fmt::join(path, ".")));
  }
  if (!found->is_object()) {
    return fail_field(fmt::format("{}", fmt::join(path, ".")), *found, "expected a pod template");
  }
  nlohmann::json pod = *found;
  pod["kind"] = "Pod";
  pod["apiVersion"] = "v1";
  nlohmann::json& metadata = pod["metadata"];
  if (!metadata.is_object()) metadata = nlohmann::json::object();
  const nlohmann::json* const own = member(workload, "metadata");
  for (const char* const key : {"name", "namespace"}) {
    const nlohmann::json* const value =
        own != nullptr && own->is_object() ? member(*own, key) : nullptr;
    if (value != nullptr) metadata[key] = *value;
  }
  return pod;
}

/// True for an object of a kind whose pods are not known, such as a Service. One with containers is
/// a pod whose kind is misspelt.
bool is_foreign(const nlohmann::json& document) {
  const std::string kind = text_of(document, "kind");
  if (kind.empty() || kind == "Pod" || is_workload(document)) return false;
  const nlohmann::json* const spec = member(document, "spec");
  return spec == nullptr || !spec->is_object() || !spec->contains("containers");
}

/// Returns the kind of the items of a list such as a DeploymentList; "" for a List.
std::string kind_of_items(const nlohmann::json& list) {
  std::string kind = text_of(list, "kind");
  kind.resize(kind.size() - std::string_view("List").size());
  return kind;
}

/// Returns the metadata of a document; an empty object if it has none.
nlohmann::json metadata_of(const nlohmann::json& document) {
  const nlohmann::json* const metadata =
      document.is_object() ? member(document, "metadata") : nullptr;
  return metadata != nullptr && metadata->is_object() ? *metadata : nlohmann::json::object();
}

/// Returns the key of an object of this kind and name in the namespace of `metadata`.
std::string key_in(const nlohmann::json& metadata, const std::string& kind,
                   const std::string& name) {
  const std::string space = text_of(metadata, "namespace");
  return fmt::format("{} {}/{}", printable(kind.empty() ? "Pod" : kind),
                     printable(space.empty() ? "default" : space), printable(name));
}

std::string key_of(const nlohmann::json& document) {
  const nlohmann::json metadata = metadata_of(document);
  return key_in(metadata, text_of(document, "kind"), text_of(metadata, "name"));
}

/// Returns the keys of the objects that ownerReferences name; an owner is in the same namespace.
std::vector<std::string> owners_of(const nlohmann::json& document) {
  std::vector<std::string> keys;
  const nlohmann::json metadata = metadata_of(document);
  const nlohmann::json* const owners = member(metadata, "ownerReferences");
  if (owners == nullptr || !owners->is_array()) return keys;
  for (const nlohmann::json& owner : *owners) {
    keys.push_back(key_in(metadata, text_of(owner, "kind"), text_of(owner, "name")));
  }
  return keys;
}

/// Returns " (of 3 replicas)"; "" for a workload of one pod, or that does not say how many it has.
std::string of_replicas(const nlohmann::json& document) {
  const nlohmann::json* const spec = member(document, "spec");
  const nlohmann::json* const replicas = spec == nullptr ? nullptr : member(*spec, "replicas");
  const bool is_number = replicas != nullptr && replicas->is_number_integer();
  if (!is_number || replicas->get<std::int64_t>() <= 1) return "";
  return fmt::format(" (of {} replicas)", replicas->get<std::int64_t>());
}

Result<void> wrapped(Result<void> result, const std::string& place) {
  if (result || place.empty()) return result;
  return fail(std::move(result).error().wrap(place));
}

}  // namespace

Result<nlohmann::json> as_pod(nlohmann::json document) {
  if (text_of(document, "kind") == "Status" && document.contains("message")) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("an error of the API server: {}",
                                                         printable(text_of(document, "message"))));
  }
  const bool is_manifest = !document.is_object() || document.contains("kind") ||
                           document.contains("metadata") || document.contains("spec");
  if (!is_manifest) {
    return fail(
        ErrorCode::kInvalidArgument,
        "does not look like a manifest: expected kind, metadata and spec: pass the output of "
        "'kubectl get pod NAME -o yaml'");
  }
  if (!is_workload(document)) return document;
  return pod_of_template(document);
}

std::string template_note(const nlohmann::json& document) {
  if (!is_workload(document)) return "";
  return fmt::format("{} {}: its pod template is read as one pod{}", text_of(document, "kind"),
                     name_of(document), of_replicas(document));
}

Result<PodSpec> read_pod(const nlohmann::json& document, UnknownFields unknown) {
  PINFOLD_LET(const auto as_written, as_pod(document));
  PINFOLD_LET(auto pod, pod_from_json(as_written));
  if (unknown == UnknownFields::kRefuse) PINFOLD_TRY(check_pod_fields(as_written));
  apply_defaults(pod);
  return pod;
}

std::string rejection_reason(const nlohmann::json& pod) {
  if (final_phase(pod) != "Failed") return "";
  const nlohmann::json& status = *member(pod, "status");
  for (const char* const ran : {"containerStatuses", "initContainerStatuses"}) {
    const nlohmann::json* const containers = member(status, ran);
    if (containers != nullptr && !containers->empty()) return "";
  }
  std::string reason = text_of(status, "reason");
  constexpr std::array<std::string_view, 6> kOfOthers = {
      "DeadlineExceeded", "Evicted", "NodeLost", "Preempting", "Shutdown", "Terminated"};
  const bool is_of_others =
      std::find(kOfOthers.begin(), kOfOthers.end(), reason) != kOfOthers.end();
  return is_of_others ? "" : reason;
}

Result<PodSpec> parse_pod(std::string_view yaml_or_json) {
  PINFOLD_LET(const auto document, parse_document(yaml_or_json));
  return pod_from_json(document);
}

Result<void> PodCollector::add(const nlohmann::json& document, const std::string& place) {
  if (!is_list(document)) return wrapped(add_pod(document, place), place);
  const nlohmann::json* const items = member(document, "items");
  if (items == nullptr) return {};
  if (!items->is_array()) return wrapped(fail_field("items", *items, "expected a list"), place);
  const std::string kind = kind_of_items(document);
  const std::string before = place.empty() ? "" : place + ": ";
  is_in_list_ = true;
  for (std::size_t i = 0; i < items->size(); ++i) {
    PINFOLD_TRY(add_item((*items)[i], kind, fmt::format("{}items[{}]", before, i)));
  }
  is_in_list_ = false;
  return {};
}

Result<void> PodCollector::add_text(std::string_view yaml_or_json, std::string_view name) {
  PINFOLD_LET_WRAP(const auto documents, parse_documents(yaml_or_json), name);
  std::size_t number = 0;
  for (const nlohmann::json& document : documents) {
    ++number;
    PINFOLD_TRY(add(document, documents.size() == 1
                                  ? std::string(name)
                                  : fmt::format("{}, document {}", name, number)));
  }
  ++text_;
  return {};
}

std::set<std::string> PodCollector::owners_of_pods() const {
  std::set<std::string> found;
  std::vector<std::string> rest;
  std::multimap<std::string_view, const Object*> by_key;
  for (const Object& object : objects_) {
    by_key.emplace(object.key, &object);
    if (!object.template_note.empty()) continue;
    rest.insert(rest.end(), object.owners.begin(), object.owners.end());
  }
  while (!rest.empty()) {
    const std::string key = std::move(rest.back());
    rest.pop_back();
    if (!found.insert(key).second) continue;
    const auto [begin, end] = by_key.equal_range(key);
    for (auto at = begin; at != end; ++at) {
      rest.insert(rest.end(), at->second->owners.begin(), at->second->owners.end());
    }
  }
  return found;
}

/// A Deployment, its ReplicaSets and their pods, as `kubectl get all` prints them, are the same
/// pods.
void PodCollector::choose_pods() {
  const std::set<std::string> with_pods = owners_of_pods();
  std::set<std::string> keys;
  for (const Object& object : objects_) keys.insert(object.key);
  for (Object& object : objects_) {
    const bool is_owned = std::any_of(object.owners.begin(), object.owners.end(),
                                      [&](const std::string& key) { return keys.contains(key); });
    if (object.template_note.empty()) {
      if (object.pod) choose(object);
    } else if (with_pods.contains(object.key)) {
      out_.notes.push_back(object.key + ": its pods are in the input: skipped");
    } else if (is_owned) {
      out_.notes.push_back(object.key + ": its owner is in the input: skipped");
    } else {
      out_.notes.push_back(std::move(object.template_note));
      choose(object);
    }
  }
}

void PodCollector::choose(Object& object) {
  out_.pods.push_back(*std::move(object.pod));
  out_.texts.push_back(object.text);
}

Result<PodDocuments> PodCollector::finish() && {
  choose_pods();
  if (out_.pods.empty() && foreign_ && out_.notes.size() == foreign_count_) {
    return fail(*std::move(foreign_));
  }
  std::map<PodUid, const PodSpec*> by_uid;
  for (const PodSpec& pod : out_.pods) {
    const auto [other, is_new] = by_uid.emplace(pod.uid, &pod);
    const bool is_copy = !is_new && (other->second->name != pod.name ||
                                     other->second->namespace_name != pod.namespace_name);
    if (!is_copy) continue;
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("pods {}/{} and {}/{} have the same metadata.uid '{}': expected "
                    "different ones: remove that of the copy",
                    printable(other->second->namespace_name), printable(other->second->name),
                    printable(pod.namespace_name), printable(pod.name), printable(pod.uid.value)));
  }
  if (nodes_.size() > 1) {
    out_.notes.push_back(fmt::format("the pods are of {} nodes ({}): all are read", nodes_.size(),
                                     fmt::join(nodes_, ", ")));
  }
  return Result<PodDocuments>(std::move(out_));
}

/// Adds an item of a list; `kind` is that of an item without one.
Result<void> PodCollector::add_item(const nlohmann::json& item, const std::string& kind,
                                    const std::string& place) {
  if (kind.empty() || !item.is_object() || item.contains("kind")) return add(item, place);
  nlohmann::json typed = item;
  typed["kind"] = kind;
  return add(typed, place);
}

/// Adds a pod that a kubelet has rejected as if it were new.
Result<void> PodCollector::add_rejected(nlohmann::json document, const std::string& place) {
  out_.notes.push_back(fmt::format("pod {} was rejected ({}): it is decided again",
                                   name_of(document), printable(rejection_reason(document))));
  document.erase("status");
  return add_pod(document, place);
}

/// Adds a document's pod; skips a finished one, and anything that is not a pod.
Result<void> PodCollector::add_pod(const nlohmann::json& document, const std::string& place) {
  if (is_foreign(document)) {
    skip(document, place);
    return {};
  }
  if (rejected_ == RejectedPods::kDecide && !is_in_list_ && !rejection_reason(document).empty()) {
    return add_rejected(document, place);
  }
  Object object{key_of(document), owners_of(document), template_note(document), {}, text_};
  if (const std::string phase = final_phase(document); !phase.empty()) {
    object.template_note.clear();
    objects_.push_back(std::move(object));
    out_.notes.push_back(
        fmt::format("pod {} has finished ({}): skipped", name_of(document), phase));
    return {};
  }
  PINFOLD_LET(object.pod, read_pod(document, unknown_));
  objects_.push_back(std::move(object));
  if (const nlohmann::json* const spec = member(document, "spec")) {
    if (std::string node = text_of(*spec, "nodeName"); !node.empty()) {
      nodes_.insert(printable(node));
    }
  }
  return {};
}

void PodCollector::skip(const nlohmann::json& document, const std::string& place) {
  const auto pod = read_pod(document, unknown_);
  if (!foreign_ && !pod) {
    foreign_ = pod.error();
    if (!place.empty()) foreign_ = Error(pod.error()).wrap(place);
  }
  ++foreign_count_;
  out_.notes.push_back(fmt::format("{} {} is neither a pod nor a known workload: skipped",
                                   printable(text_of(document, "kind")), name_of(document)));
}

std::string quiet_note(std::string_view pod) {
  return fmt::format(
      "pod {}: its annotation {} has no effect: only the service's NRI plugin reads it; the "
      "setting 'quiet' of the service applies",
      printable(pod), kQuietAnnotation);
}

std::vector<std::string> quiet_notes(const nlohmann::json& document) {
  std::vector<std::string> notes;
  const auto add = [&](const nlohmann::json& one) {
    const auto pod = as_pod(one);
    const nlohmann::json metadata = pod ? metadata_of(*pod) : nlohmann::json::object();
    const nlohmann::json* const annotations = member(metadata, "annotations");
    if (annotations == nullptr || !annotations->is_object()) return;
    if (annotations->contains(kQuietAnnotation)) notes.push_back(quiet_note(name_of(*pod)));
  };
  if (!is_list(document)) {
    add(document);
    return notes;
  }
  const nlohmann::json* const items = member(document, "items");
  if (items == nullptr || !items->is_array()) return notes;
  for (const nlohmann::json& item : *items) add(item);
  return notes;
}

std::vector<std::string> quiet_notes_in(std::string_view yaml_or_json) {
  std::vector<std::string> notes;
  if (yaml_or_json.find(kQuietAnnotation) == std::string_view::npos) return notes;
  const auto documents = parse_documents(yaml_or_json);
  if (!documents) return notes;
  for (const nlohmann::json& document : *documents) {
    for (std::string& note : quiet_notes(document)) notes.push_back(std::move(note));
  }
  return notes;
}

Result<PodDocuments> read_pods(std::string_view yaml_or_json, std::string_view name) {
  PodCollector collector(UnknownFields::kRefuse);
  PINFOLD_TRY(collector.add_text(yaml_or_json, name));
  return std::move(collector).finish();
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
