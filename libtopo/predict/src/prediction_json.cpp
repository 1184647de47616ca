#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "pinfold/predict/bound_pods.hpp"
#include "pinfold/predict/pod_query.hpp"
#include "topology_names.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

json node_json(const Fleet& fleet, PodQuery& query, std::size_t node,
               const Prediction& prediction) {
  return {{"node", fleet.name(node)},
          {"outcome", to_string(prediction.outcome)},
          {"admits", prediction.admits()},
          {"score", prediction.score},
          {"policy", to_string(fleet.policy(node))},
          {"scope", to_string(fleet.scope(node))},
          {"why", query.explain(node)},
          {"placement", to_json(fleet, node, query.place(node))}};
}

}  // namespace

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

json predictions_json(const Fleet& fleet, const PodSpec& pod, PodQuery& query,
                      const std::vector<Prediction>& predictions) {
  json nodes = json::array();
  for (const std::size_t node : ranked(predictions)) {
    nodes.push_back(node_json(fleet, query, node, predictions[node]));
  }
  for (const UnreadTopology& unread : fleet.unread()) {
    nodes.push_back({{"node", unread.name},
                     {"outcome", "unknown"},
                     {"admits", false},
                     {"score", 0},
                     {"why", unread.why},
                     {"placement", json::object()}});
  }
  return {{"pod", pod.namespace_name + "/" + pod.name},
          {"uid", pod.uid.value},
          {"nodes", std::move(nodes)}};
}

}  // namespace pinfold
