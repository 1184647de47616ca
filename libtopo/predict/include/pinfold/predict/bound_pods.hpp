#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/predict/fleet.hpp"
#include "pinfold/predict/placement.hpp"
#include "pinfold/types/pod_ref.hpp"

namespace pinfold {

/// What is known about a pod's placement. Unknown placements are never guessed.
struct PlacementRecord {
  std::optional<Placement> predicted;  ///< what the scheduler expected when it bound the pod
  std::optional<Placement> observed;   ///< what an exporter read from the kubelet

  /// Returns the observed placement, else the predicted one; nullptr if neither is known.
  [[nodiscard]] const Placement* known() const;
};

/// A pod that the scheduler sees on a node, whether bound, running or being deleted. It occupies
/// what its record says.
struct BoundPod {
  PodUid uid;
  std::size_t node = 0;
  PlacementRecord record;
};

/// A share with the names of its zone and resource, for output.
struct ZoneAmount {
  std::string zone;
  std::string resource;
  std::int64_t amount = 0;  ///< in base units

  friend bool operator==(const ZoneAmount&, const ZoneAmount&) = default;
};
/// Names the shares of a placement.
[[nodiscard]] std::vector<ZoneAmount> amounts_of(const Fleet& fleet, std::size_t node,
                                                 const Placement& placement);
/// Finds named shares; ignores resources that the node does not report by zone.
/// Errors: kInvalidArgument for a zone that the node does not have.
[[nodiscard]] Result<Placement> placement_of(const Fleet& fleet, std::size_t node,
                                             const std::vector<ZoneAmount>& amounts);

/// A pod and its node, as `pinfold predict --cycle -o json` prints it: docs/predict.md.
struct PlacedPod {
  PodRef pod;
  std::optional<std::string> node;  ///< nullopt: nowhere
  std::optional<std::vector<ZoneAmount>> predicted;
  std::optional<std::vector<ZoneAmount>> observed;
  std::string why;  ///< why it has no node; "": it has one
};

/// Sets what is available on every node to what is allocatable minus the known placements of
/// `pods`. The result does not depend on the delay of exporters.
void reconstruct(Fleet& fleet, const std::vector<BoundPod>& pods);

}  // namespace pinfold
