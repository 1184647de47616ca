#include "pinfold/explain/fields.hpp"

#include <array>
#include <utility>

#include "pinfold/api/fields.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/fields/json.hpp"
#include "pinfold/reconfigure/fields.hpp"

namespace pinfold {
namespace {

using fields::Fields;

/// A part of a resource, with the unit of its amounts.
template <class Part>
struct PartOf {
  std::string resource;
  Part part;
};
using HolderOf = PartOf<Holder>;
using PlaceOf = PartOf<OccupiedPlace>;

template <class Part>
std::vector<PartOf<Part>> parts_of(const std::string& resource, const std::vector<Part>& parts) {
  std::vector<PartOf<Part>> out;
  out.reserve(parts.size());
  for (const Part& part : parts) out.push_back({resource, part});
  return out;
}

template <class Part>
std::vector<Part> take_parts(std::vector<PartOf<Part>> parts) {
  std::vector<Part> out;
  out.reserve(parts.size());
  for (PartOf<Part>& part : parts) out.push_back(std::move(part.part));
  return out;
}

void describe(Fields& fields, HolderOf& of) {
  Holder& holder = of.part;
  fields.type("Holder", "What a container, or a pod as a whole, holds of a resource.");
  fields.member("pod", holder.pod, "");
  fields.member("container", holder.container, "Its name; \"\": the pod as a whole.");
  describe_amount(fields, "amount", of.resource, holder.amount, "What it holds, in base units.");
  fields.member("numaNodes", holder.spread_over,
                "The NUMA nodes over which the amount is spread, if there are several.");
  fields.member("earlier", holder.is_earlier,
                "It is the explained pod: its containers that were served before this one.");
}

void describe(Fields& fields, PlaceOf& of) {
  OccupiedPlace& place = of.part;
  fields.type("OccupiedPlace", "How much of a resource a part of the machine has.");
  fields.member("numaNodes", place.numa_nodes, "Empty: none, or the whole machine.");
  describe_amount(fields, "freeAmount", of.resource, place.free, "In base units.");
  describe_amount(fields, "reservedAmount", of.resource, place.reserved,
                  "For the system, in base units.");
  describe_amount(fields, "heldAmount", of.resource, place.held, "In base units.");
  describe_amount(fields, "offlineAmount", of.resource, place.offline,
                  "Offline CPUs that would be free, in base units.");
  auto holders = parts_of(of.resource, place.holders);
  fields.member("holders", holders, "Who holds it, the largest amounts first.");
  if (fields.reads()) place.holders = take_parts(std::move(holders));
}

/// A remedy with the names of the pods that it is about.
struct NamedRemedy {
  Remedy remedy;
  std::vector<PodRef> pods;
  std::vector<PlannedMove> moves;
};

NamedRemedy named(const Explanation& explanation, const Remedy& remedy) {
  NamedRemedy out{remedy, {}, {}};
  for (const PodUid& uid : remedy.pods) out.pods.push_back(ref_of(explanation.names, uid));
  for (const PlannedContainer& move : remedy.moves) {
    out.moves.push_back({{ref_of(explanation.names, move.id.pod), move.id.name}, move});
  }
  return out;
}

void describe(Fields& fields, NamedRemedy& named) {
  Remedy& remedy = named.remedy;
  fields.type("Remedy", "A change that gets the pod admitted.");
  fields.member("kind", remedy.kind,
                "What has to change first. The other members present change with it.");
  fields.member("text", remedy.text, "For people.");
  fields.member("manifest", remedy.pod,
                "The pod, or with kind \"resize\" the running one, with other requests.");
  fields.member("pods", named.pods, "Pods to remove.");
  fields.member("moves", named.moves, "Containers that move; 'pinfold defragment' moves them.");
  fields.member("config", remedy.config, "The node's configuration with another setting.");
  fields.member("online", remedy.online,
                "CPUs that must be back online before it helps; \"\": none.");
}

void take_remedies(std::vector<NamedRemedy> remedies, Explanation& explanation) {
  const auto note = [&](const PodRef& pod) {
    if (!pod.name.empty()) explanation.names.insert_or_assign(pod.uid, pod);
  };
  explanation.remedies.clear();
  for (NamedRemedy& named : remedies) {
    Remedy& remedy = explanation.remedies.emplace_back(std::move(named.remedy));
    for (const PodRef& pod : named.pods) {
      note(pod);
      remedy.pods.push_back(pod.uid);
    }
    for (PlannedMove& move : named.moves) {
      note(move.container.pod);
      move.planned.id = id_of(move.container);
      remedy.moves.push_back(std::move(move.planned));
    }
  }
}

}  // namespace

std::span<const Remedy::Kind> enumerators(Remedy::Kind /*type*/) {
  static constexpr std::array kAll = {Remedy::Kind::kRequest, Remedy::Kind::kMoves,
                                      Remedy::Kind::kResize,  Remedy::Kind::kPods,
                                      Remedy::Kind::kSetting, Remedy::Kind::kOnline};
  return kAll;
}

void describe(Fields& fields, OccupiedResource& resource) {
  fields.type("OccupiedResource", "A resource that the pod needs more of than is free.");
  fields.member("resource", resource.resource, "\"cpu\", \"memory\", \"example.com/gpu\" ...");
  describe_amount(fields, "neededAmount", resource.resource, resource.needed, "In base units.");
  auto places = parts_of(resource.resource, resource.places);
  fields.member("places", places, "");
  if (fields.reads()) resource.places = take_parts(std::move(places));
}

void describe(Fields& fields, ContainerExplanation& container) {
  fields.type("ExplainedContainer", "A container and why it has its resources.");
  describe(fields, container.resources);
  fields.member("whyCpus", container.cpus, "Which CPUs, and why.");
  fields.member("whyQuota", container.quota, "Which CFS quota, and why.");
}

void describe(Fields& fields, Explanation& explanation) {
  fields.type("ExplainedPod", "A decision about a pod, and its reasons.");
  PodRef pod = ref_of(explanation.pod);
  describe(fields, pod);
  if (fields.reads()) {
    explanation.pod.uid = pod.uid;
    explanation.pod.namespace_name = pod.namespace_name;
    explanation.pod.name = pod.name;
  }
  fields.computed("admitted", !explanation.rejection, "");
  fields.member("rejection", explanation.rejection, "null: the pod is admitted.");
  fields.member("summary", explanation.summary,
                "What the pod gets; or what it needs, what is missing, and where.");
  fields.member("notes", explanation.notes,
                "Known bugs of the kubelet that took effect, and other remarks.");
  fields.member("trace", explanation.trace, "The facts of the decision, in order.");
  fields.member("containers", explanation.containers, "Of an admitted pod.");
  fields.member("resources", explanation.table,
                "Of a rejected pod: the resources at the step that failed.");
  std::vector<NamedRemedy> remedies;
  for (const Remedy& remedy : explanation.remedies) {
    remedies.push_back(named(explanation, remedy));
  }
  fields.member(
      "remedies", remedies,
      "What would make a rejected pod fit, or give containers of an admitted one exclusive CPUs.");
  if (fields.reads()) take_remedies(std::move(remedies), explanation);
  fields.member("limit", explanation.limit,
                "Why it would not fit even without any other pod; \"\": it would.");
  fields.member("mayBeMoves", explanation.may_be_moves,
                "The search for moves of other pods' containers found none, and ended early.");
}

nlohmann::json to_json(const Explanation& explanation) { return fields::to_json(explanation); }

}  // namespace pinfold
