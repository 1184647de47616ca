#include "family.hpp"
#include "pinfold/metrics/families.hpp"

namespace pinfold::metrics {

std::vector<prometheus::MetricFamily> publish_families(const publish::PublishCounters& counted) {
  return {
      counter_family("pinfold_publish_failures_total",
                     "Requests that the API server did not answer, or could not serve at the time.",
                     counted.failures),
      gauge_family("pinfold_publish_foreign",
                   "1 if another exporter writes the NodeResourceTopology of this node.",
                   counted.is_foreign ? 1 : 0),
      gauge_family("pinfold_publish_pending", "Objects that are not yet written.",
                   static_cast<double>(counted.pending)),
      counter_family("pinfold_publish_placements_total", "Placements of pods that were written.",
                     counted.placements),
      counter_family("pinfold_publish_rejections_total",
                     "Objects that the API server has rejected.", counted.rejections),
      counter_family("pinfold_publish_topologies_total",
                     "NodeResourceTopology objects that were written.", counted.topologies)};
}

}  // namespace pinfold::metrics
