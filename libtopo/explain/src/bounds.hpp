#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "outcome.hpp"

namespace pinfold::explain_detail {

/// The OS id of a NUMA node, or one of the constants below.
using PlaceId = std::int32_t;
inline constexpr PlaceId kWholeNode = -1;
inline constexpr PlaceId kByRequests = -2;  ///< what the requests of pods leave

/// A resource at a place.
using Slot = std::pair<std::string, PlaceId>;
/// In thousandths of a unit; for memory in bytes.
using SlotAmounts = std::map<Slot, std::int64_t>;

/// Returns the most that becomes free when a pod goes. Memory on several NUMA nodes counts at each
/// of them, a device without a NUMA node at all of them.
[[nodiscard]] SlotAmounts freed_by(const Failure& failure, const PodUid& uid);

/// Necessary conditions for decide() to admit a pod, so that most sets of other pods need no
/// decision: each object of the pod has a place with enough of each resource.
class Bounds {
 public:
  explicit Bounds(const Failure& failure);

  /// The amounts that one pod frees, by slot number.
  using Freed = std::vector<std::int64_t>;
  [[nodiscard]] Freed project(const SlotAmounts& amounts) const;

  /// Returns whether decide() might admit the pod without these others.
  [[nodiscard]] bool may_fit(const std::vector<const Freed*>& gone) const;

  /// Returns the places to consider, those with the least missing first.
  [[nodiscard]] std::vector<PlaceId> places() const;
  /// Returns the freed part of what is needed, summed over all resources, at one place or at all.
  [[nodiscard]] double share_at(const Freed& freed, PlaceId place) const;
  [[nodiscard]] double share(const Freed& freed) const;
  /// Like share(), but only of what is missing. Zero if only the grouping of NUMA nodes is in the
  /// way.
  [[nodiscard]] double missing_share(const Freed& freed) const;

 private:
  struct Need {
    std::size_t slot = 0;
    std::int64_t amount = 0;
  };
  struct Place {
    PlaceId id = kWholeNode;
    std::vector<Need> needs;
  };
  /// The places of one object.
  using Demand = std::vector<Place>;

  void add_requests(const Failure& failure);
  void add(const Failure& failure, const PodView& pod, const Container* container, bool is_single);
  void add_need(Place& place, const std::string& resource, const Quantity& needed,
                const Quantity& free);

  std::map<Slot, std::size_t> slots_;
  std::vector<std::int64_t> free_;  // by slot number
  std::vector<Demand> demands_;
};

}  // namespace pinfold::explain_detail
