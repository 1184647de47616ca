#include "pinfold/predict/pod_query.hpp"
#include "pinfold/scheduling/answers.hpp"

namespace pinfold::scheduling {

std::vector<HostPriority> prioritize(cluster::ClusterView& view, const ExtenderArgs& args,
                                     ScoringStrategy strategy, kube::Time now) {
  constexpr int kPredictionPerExtenderPoint = 10;  // 100 and 10 are the highest scores
  PodQuery query(view.fleet(now), args.pod);
  std::vector<HostPriority> priorities;
  priorities.reserve(args.nodes.size());
  for (const std::string& name : args.nodes) {
    const auto node = view.number_of(name);
    const int score = node ? query.predict(*node, strategy).score : 0;
    priorities.push_back({name, score / kPredictionPerExtenderPoint});
  }
  return priorities;
}

}  // namespace pinfold::scheduling
