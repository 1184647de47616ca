#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "pinfold/predict/pod_query.hpp"
#include "topology_names.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

json node_json(const Fleet& fleet, PodQuery& query, std::size_t node, const Verdict& verdict) {
  return {{"node", fleet.name(node)},
          {"answer", to_string(verdict.answer)},
          {"admits", verdict.admits()},
          {"score", verdict.score},
          {"policy", to_string(fleet.policy(node))},
          {"scope", to_string(fleet.scope(node))},
          {"why", query.explain(node)},
          {"placement", to_json(fleet, node, query.place(node))}};
}

}  // namespace

std::vector<std::size_t> ranked(const std::vector<Verdict>& verdicts) {
  std::vector<std::size_t> nodes(verdicts.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  std::stable_sort(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) {
    const Verdict& x = verdicts[a];
    const Verdict& y = verdicts[b];
    return x.admits() != y.admits() ? x.admits() : x.score > y.score;
  });
  return nodes;
}

json answers_json(const Fleet& fleet, const PodSpec& pod, PodQuery& query,
                  const std::vector<Verdict>& verdicts) {
  json nodes = json::array();
  for (const std::size_t node : ranked(verdicts)) {
    nodes.push_back(node_json(fleet, query, node, verdicts[node]));
  }
  return {{"pod", pod.namespace_name + "/" + pod.name},
          {"uid", pod.uid.value},
          {"nodes", std::move(nodes)}};
}

}  // namespace pinfold
