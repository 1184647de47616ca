#include "pinfold/nri_pods/recovered_pod.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::nri {

std::string_view to_string(ValueOrigin origin) {
  switch (origin) {
    case ValueOrigin::kAnnotation:
      return "annotation";
    case ValueOrigin::kShares:
      return "CPU shares";
    case ValueOrigin::kQuota:
      return "CFS quota";
    case ValueOrigin::kMemoryLimit:
      return "memory limit";
    case ValueOrigin::kHugePageLimits:
      return "huge page limits";
    case ValueOrigin::kOomScoreAdj:
      return "oom_score_adj";
    case ValueOrigin::kQosClass:
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
