#include "pinfold/predict/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "pinfold/fields/json.hpp"
#include "pinfold/text/field.hpp"
#include "topology_names.hpp"

namespace pinfold {

using fields::Fields;
using nlohmann::json;

std::vector<std::size_t> ranked(const std::vector<Prediction>& predictions) {
  std::vector<std::size_t> nodes(predictions.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  std::stable_sort(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) {
    const Prediction& x = predictions[a];
    const Prediction& y = predictions[b];
    return x.admits() != y.admits() ? x.admits() : x.score > y.score;
  });
  return nodes;
}

PodPredictions predictions_of(const Fleet& fleet, const PodSpec& pod, PodQuery& query,
                              const std::vector<Prediction>& predictions) {
  PodPredictions out{ref_of(pod), {}};
  for (const std::size_t node : ranked(predictions)) {
    const Prediction& prediction = predictions[node];
    out.nodes.push_back({fleet.name(node), std::string(to_string(prediction.outcome)),
                         std::string(to_string(query.group(node, prediction))), prediction.admits(),
                         prediction.score, std::string(to_string(fleet.policy(node))),
                         std::string(to_string(fleet.scope(node))), query.explain(node),
                         query.near_miss(node).lacks, amounts_of(fleet, node, query.place(node))});
  }
  for (const UnreadTopology& unread : fleet.unread()) {
    out.nodes.push_back({unread.name, "unknown", "unknown", false, 0, "", "", unread.why, "", {}});
  }
  return out;
}

void describe(Fields& fields, ZoneAmount& amount) {
  fields.type("ZoneAmount", "An amount of a resource on a zone of a node.");
  fields.member("zone", amount.zone, "\"node-0\".");
  fields.member("resource", amount.resource, "\"cpu\", \"memory\" ...");
  fields.member(
      "amount",
      fields::between(amount.amount, std::int64_t{0}, std::numeric_limits<std::int64_t>::max()),
      "In base units: thousandths of a CPU, bytes of memory, devices.");
}

void describe(Fields& fields, PlacedPod& placed) {
  fields.type("PlacedPod", "A pod and its node.");
  fields.member("pod", placed.pod, "");
  fields.member("node", placed.node, "Null: no node admits it.");
  fields.member("predicted", placed.predicted, "Where it is expected; null: unknown.");
  fields.member("observed", placed.observed, "Where an exporter observed it; null: unknown.");
  fields.may_lack("why", placed.why, "Why no node admits it; \"\": one does.");
}

void describe(Fields& fields, NodePrediction& prediction) {
  fields.type("NodePrediction", "Whether a node would admit the pod.");
  fields.member("node", prediction.node, "");
  fields.member("outcome", prediction.outcome,
                "\"fits\", \"unsure\", \"passes\", \"rejected\" or \"unknown\".");
  fields.member("group", prediction.group,
                "How the node is counted: \"aligned\", \"notAligned\", \"cannotAlign\", "
                "\"tooLittle\" in total, \"noZones\" or \"unknown\".");
  fields.member("admits", prediction.admits, "");
  fields.member("score", prediction.score, "0 to 100.");
  fields.member("policy", prediction.policy, "Of its topology manager; \"\": unknown.");
  fields.member("scope", prediction.scope, "Of its topology manager; \"\": unknown.");
  fields.member("why", prediction.why, "One sentence.");
  fields.member("lacks", prediction.lacks,
                "What the nearest zone lacks, or what all zones together have of a resource that "
                "they lack; \"\": nothing, or not about either.");
  fields.member("placement", prediction.placement, "Empty: nothing is aligned, or not known.");
}

void describe(Fields& fields, PodPredictions& predictions) {
  fields.type("PodPredictions", "Which nodes would admit a pod.");
  fields.member("pod", predictions.pod, "");
  fields.member("nodes", predictions.nodes, "The best first.");
}

json to_json(const Fleet& fleet, std::size_t node, const Placement& placement) {
  return fields::to_json(amounts_of(fleet, node, placement));
}

Result<Placement> placement_from_json(const Fleet& fleet, std::size_t node, const json& document) {
  PINFOLD_LET(const auto amounts,
              fields::read<std::vector<ZoneAmount>>(document, {.whole = "placement"}));
  return placement_of(fleet, node, amounts);
}

Result<BoundPod> bound_pod_from_json(const Fleet& fleet, const json& document) {
  PINFOLD_LET(const auto placed,
              fields::read<PlacedPod>(
                  document, {.whole = "pod", .unknown = fields::UnknownMembers::kIgnore}));
  if (!placed.node) return fail_field("node", json(), "expected a string");
  const auto number = fleet.find(*placed.node);
  if (!number) return fail_field("node", *placed.node, "expected the name of a node");
  BoundPod pod{placed.pod.uid, *number, {}};
  for (const auto& [key, amounts, placement] :
       {std::tuple("predicted", &placed.predicted, &pod.record.predicted),
        std::tuple("observed", &placed.observed, &pod.record.observed)}) {
    if (!*amounts) continue;
    PINFOLD_LET_WRAP(*placement, placement_of(fleet, pod.node, **amounts),
                     fmt::format("pod '{}': {}", pod.uid, key));
  }
  return pod;
}

}  // namespace pinfold
