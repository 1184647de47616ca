#include "pinfold/predict/pod_query.hpp"
#include "pinfold/scheduling/answers.hpp"

namespace pinfold::scheduling {

std::vector<HostPriority> prioritize(cluster::ClusterView& view, const ExtenderArgs& args,
                                     ScoringStrategy strategy, kube::Time now) {
  constexpr int kPredictionPerExtenderPoint = 10;  // 100 and 10 are the highest scores
  Fleet& fleet = view.fleet(now);
  view.in_flight().credit(fleet, args.pod.uid);
  PodQuery query(fleet, args.pod);
  std::vector<HostPriority> priorities;
  priorities.reserve(args.nodes.size());
  for (const std::string& name : args.nodes) {
    const auto node = view.number_of(name);
    const int score = node ? query.predict(*node, strategy).score : 0;
    priorities.push_back({name, score / kPredictionPerExtenderPoint});
  }
  view.in_flight().charge(fleet, args.pod.uid);
  return priorities;
}

}  // namespace pinfold::scheduling
