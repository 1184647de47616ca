#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "outcome.hpp"

/// Changes of a rejected pod's requests.
namespace pinfold::explain_detail {

/// Where an amount is set: in a container of the pod, or (nullopt) in its pod-level resources.
using Target = std::optional<std::size_t>;

struct RequestChange {
  Target target;
  std::string resource;
  Quantity from;
  Quantity to;  ///< zero: the request is removed
  bool loses_exclusive_cpus = false;
  bool keeps_limit = false;  ///< a limit that equals the request does not follow

  [[nodiscard]] bool raises() const { return to > from; }
  /// Returns the changed share of the amount. Losing exclusive CPUs counts as at least one CPU.
  [[nodiscard]] double size() const;
};

[[nodiscard]] const Resources& resources_of(const PodSpec& pod, const Target& target);
/// Returns the request for a resource there, zero if it is not set.
[[nodiscard]] Quantity requested(const PodSpec& pod, const Target& target,
                                 const std::string& resource);
/// Returns the pod with other requests. Limits that were equal follow, unless they are to stay.
[[nodiscard]] PodSpec changed(PodSpec pod, const std::vector<RequestChange>& changes);
/// Returns "container main: cpu 6 -> 4 (requests and limits)".
[[nodiscard]] std::string describe(const PodSpec& pod, const RequestChange& change);

/// Returns whether only whole numbers of the resource make a difference there, as for devices and
/// exclusive CPUs.
[[nodiscard]] bool counts_whole(const Failure& failure, const Target& target,
                                const std::string& resource);
/// Returns whether the pod has too little of a resource for its own containers.
[[nodiscard]] bool is_starved(const Failure& failure, const std::string& resource);
/// Rounds memory of 1Mi or more down to whole Mi, the notation of the rest of an explanation.
[[nodiscard]] Quantity rounded_down(const std::string& resource, const Quantity& amount);

/// Return the amounts to try in place of the present one, nearest first. Smaller ones: for a
/// resource that counts whole, every smaller number; for memory, the amounts below which something
/// else may become possible: what one or several NUMA nodes have free, with and without what other
/// containers of the pod take there; for huge pages that the machine does not have, only zero.
/// Larger ones: what the containers of the pod lack, whole cores, and under the policy restricted
/// what needs as many NUMA nodes as another resource.
[[nodiscard]] std::vector<Quantity> smaller_amounts(const Failure& failure, const Target& target,
                                                    const std::string& resource);
[[nodiscard]] std::vector<Quantity> larger_amounts(const Failure& failure, const Target& target,
                                                   const std::string& resource);

/// Returns the amounts of CPUs, nearest first, with which a container that now has exclusive ones
/// has none. For an init container or sidecar, which may do without them: all amounts just below a
/// whole number. For an application container only what helps: all that the requests of other pods
/// leave, if that is a fraction; and just below the present amount if `with_just_less`, or if its
/// CPUs are on fewer NUMA nodes than its other resources, which the policy restricted does not
/// allow.
[[nodiscard]] std::vector<Quantity> shared_amounts(const Failure& failure, const Target& target,
                                                   bool with_just_less);

}  // namespace pinfold::explain_detail
