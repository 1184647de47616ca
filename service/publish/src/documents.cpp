#include "pinfold/publish/documents.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "pinfold/decide/stale.hpp"
#include "pinfold/kube/kind.hpp"
#include "pinfold/kube/observed_annotations.hpp"
#include "pinfold/predict/node_topology.hpp"

namespace pinfold::publish {
namespace {

using nlohmann::json;

Document topology_document(const Node& node, const NodeState& state, const NodeIdentity& identity) {
  json object = to_json(describe(node, state, identity.name));
  object["metadata"]["ownerReferences"] = {
      {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", identity.name}, {"uid", identity.uid}}};
  return {PublishedKind::kTopology,
          fmt::format("{}/{}?fieldManager={}", path_of(kube::Kind::kNodeTopologies), identity.name,
                      kFieldManager),
          object.dump()};
}

json annotations_of(const Node& node, const NodeState& state, const PodSpec& pod) {
  const ObservedPlacement placement = observed_placement(node, state, pod.uid);
  const bool is_guaranteed = qos_class(pod, node.gates()) == QosClass::kGuaranteed;
  json annotations = json::object();
  if (is_guaranteed || !placement.amounts.empty()) {
    annotations[std::string(kube::kObservedAnnotation)] = kube::observed_text(placement.amounts);
  }
  if (node.memory().is_static()) {
    annotations[std::string(kube::kMemoryGroupsAnnotation)] =
        kube::memory_groups_text(placement.memory);
  }
  return annotations;
}

std::optional<Document> placement_document(const Node& node, const NodeState& state,
                                           const PodSpec& pod) {
  json annotations = annotations_of(node, state, pod);
  if (annotations.empty()) return std::nullopt;
  const json patch = {
      {"metadata", {{"uid", pod.uid.value}, {"annotations", std::move(annotations)}}}};
  return Document{PublishedKind::kPlacement,
                  fmt::format("/api/v1/namespaces/{}/pods/{}?fieldManager={}", pod.namespace_name,
                              pod.name, kFieldManager),
                  patch.dump()};
}

}  // namespace

std::vector<Document> documents_of(const Node& node, const NodeState& state,
                                   const NodeIdentity& identity, Placements placements) {
  const NodeState fresh = release_stale(node, state);
  std::vector<Document> documents = {topology_document(node, fresh, identity)};
  if (placements == Placements::kOff) return documents;
  for (const ActivePod& pod : fresh.pods) {
    if (auto document = placement_document(node, fresh, pod.spec)) {
      documents.push_back(*std::move(document));
    }
  }
  return documents;
}

std::string name_of(const Document& document) {
  const std::string path = document.target.substr(0, document.target.find('?'));
  const std::string name = path.substr(path.rfind('/') + 1);
  if (document.kind == PublishedKind::kTopology) {
    return fmt::format("{} '{}'", to_string(kube::Kind::kNodeTopologies), name);
  }
  constexpr std::string_view kBefore = "/api/v1/namespaces/";
  const std::string rest = path.substr(kBefore.size());
  return fmt::format("pods '{}/{}'", rest.substr(0, rest.find('/')), name);
}

}  // namespace pinfold::publish
