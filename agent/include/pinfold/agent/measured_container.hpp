#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "pinfold/types/container_id.hpp"

namespace pinfold::agent {

/// What the steps of a plan cost one container, by the agent's clock.
struct MeasuredContainer {
  ContainerId id;
  /// Time spent on temporary CPUs while its CPUs were swapped.
  std::optional<std::chrono::nanoseconds> parked;
  /// Time that the kernel took to change its NUMA nodes, including moving its pages.
  std::optional<std::chrono::nanoseconds> moving_pages;
  /// Bytes of its processes that moved to another NUMA node.
  std::uint64_t bytes_moved = 0;

  friend bool operator==(const MeasuredContainer&, const MeasuredContainer&) = default;
};

}  // namespace pinfold::agent
