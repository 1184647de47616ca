#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/memory/memory_state.hpp"
#include "pinfold/place/memory_policy.hpp"
#include "requests.hpp"

namespace pinfold::memory {

/// The search for the NUMA nodes of one request: translates the state, by resource names and OS
/// ids, into the plain numbers of the policy. Its demands are in the order of the request's
/// resources.
class NodeSearch {
 public:
  /// Copies what it needs.
  NodeSearch(const Machine& machine, const MemoryState& state, const PodUid& pod,
             const Requests& requests);

  [[nodiscard]] const place::MemoryRule& rule() const { return *rule_; }

 private:
  std::vector<std::int32_t> assignments_;
  std::vector<NumaMask> groups_;
  std::vector<std::uint64_t> bytes_;  ///< free and allocatable bytes of each resource
  std::vector<place::MemoryDemand> demands_;
  std::vector<place::Leftover> leftovers_;
  std::optional<place::HeapArena> memory_;
  std::optional<place::MemoryRule> rule_;
};

/// Returns the mask of those OS ids that the machine has.
[[nodiscard]] NumaMask mask_of(const Machine& machine, const std::vector<std::int32_t>& ids);

}  // namespace pinfold::memory
