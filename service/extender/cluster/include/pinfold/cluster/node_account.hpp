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
  /// When it was seen being bound; nullopt: before this program started to watch.
  std::optional<kube::Time> bound_at;
  /// As predicted when it was bound, or where the published amounts have decreased by its own
  /// since.
  std::optional<std::vector<ZoneAmount>> predicted;
  std::optional<std::vector<ZoneAmount>> observed;  ///< published by an exporter
  std::string warning;    ///< why what is published cannot be read; "" if it can
  bool consumes = true;   ///< requests something that its node reports by zone
  bool is_shown = false;  ///< the node's available amounts have since decreased by its own

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
/// How it works. If the placement of every pod was observed, the published amounts, which are late,
/// are not needed: the allocatable amounts minus the pods' placements are available. Otherwise
/// there are two estimates. One is the published amounts, minus the placements of young pods that
/// they do not show yet; it misses what was freed since. The other is the allocatable amounts minus
/// all placements, if all are known and only those of young pods are predicted; it misses what is
/// in use for reasons other than pods. The second one is the likely one. The smaller one is safe.
void account(Fleet& fleet, std::size_t node, const std::vector<const PodAccount*>& pods,
             kube::Time now, std::chrono::milliseconds exporter_delay,
             Estimate estimate = Estimate::kSafe);

/// Marks the young pods whose resources the newly published amounts of a node show: those by which
/// its total of available resources has decreased, in the order in which they were bound. If that
/// is one pod, corrects its prediction by the NUMA nodes on which they have decreased.
void mark_shown(const NodeTopology& before, const NodeTopology& after,
                const std::vector<PodAccount*>& pods);

}  // namespace pinfold::cluster
