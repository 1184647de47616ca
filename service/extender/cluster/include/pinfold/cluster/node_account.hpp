#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/kube/list_watch.hpp"
#include "pinfold/kube/watched_pod.hpp"
#include "pinfold/predict/fleet.hpp"

namespace pinfold::cluster {

/// A pod that is bound to a node.
struct PodAccount {
  PodSpec spec;
  std::string node;
  /// When it was seen being bound; nullopt: before this program has looked.
  std::optional<kube::Time> bound_at;
  /// When it was bound; or where the published amounts have decreased by the pod's since then.
  std::optional<std::vector<ZoneAmount>> predicted;
  std::optional<std::vector<ZoneAmount>> observed;  ///< published by an exporter
  std::string warning;    ///< why what is published cannot be read; "" if it can
  bool consumes = true;   ///< requests something that its node reports by zone
  bool is_shown = false;  ///< what the node has available has decreased by its resources since

  /// Returns the observed placement, else the predicted one; nullptr if neither is known.
  [[nodiscard]] const std::vector<ZoneAmount>* known() const;
  /// Whether it was bound less than `exporter_delay` ago.
  [[nodiscard]] bool is_young(kube::Time now, std::chrono::milliseconds exporter_delay) const {
    return bound_at && now - *bound_at < exporter_delay;
  }
};

/// Which of two estimates counts.
enum class Estimate {
  kLikely,  ///< to predict where a kubelet places a pod that was bound
  kSafe,    ///< to decide whether a node passes
};

/// Computes what is available on a node whose published amounts are in `fleet`.
///
/// How it works. If the place of every pod was observed, the published amounts are not needed, late
/// as they are: what is allocatable minus the pods' placements is available. Else there are two
/// estimates. One is what is published, minus the placements of young pods that it does not show
/// yet; it misses what was freed since. The other is what is allocatable minus all placements, if
/// all are known, and only those of young pods predicted; it misses what is in use for another
/// reason than a pod. The second one is the likely one. The smaller one is safe.
void account(Fleet& fleet, std::size_t node, const std::vector<const PodAccount*>& pods,
             kube::Time now, std::chrono::milliseconds exporter_delay,
             Estimate estimate = Estimate::kSafe);

/// Marks the young pods whose resources the newly published amounts of a node show: those by which
/// its total of available resources has decreased, in the order in which they were bound. If that
/// is one pod, corrects its prediction by the NUMA nodes on which they have decreased.
void mark_shown(const NodeTopology& before, const NodeTopology& after,
                const std::vector<PodAccount*>& pods);

}  // namespace pinfold::cluster
