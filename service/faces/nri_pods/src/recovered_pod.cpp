#include "pinfold/nri_pods/recovered_pod.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::nri {

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::kAnnotation:
      return "annotation";
    case Origin::kShares:
      return "CPU shares";
    case Origin::kQuota:
      return "CFS quota";
    case Origin::kMemoryLimit:
      return "memory limit";
    case Origin::kHugePageLimits:
      return "huge page limits";
    case Origin::kOomScoreAdj:
      return "oom_score_adj";
    case Origin::kQosClass:
      return "QoS class";
  }
  return "";
}

const RecoveredContainer* RecoveredPod::find(std::string_view container_name) const {
  const auto found =
      std::find_if(containers.begin(), containers.end(),
                   [&](const RecoveredContainer& c) { return c.name == container_name; });
  return found == containers.end() ? nullptr : &*found;
}

PodUid unannounced_uid(const PodUid& pod, std::string_view container) {
  return PodUid(fmt::format("{}.{}", pod, container));
}

}  // namespace pinfold::nri
