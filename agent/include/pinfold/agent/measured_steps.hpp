#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "pinfold/agent/enforced_layout.hpp"

/// Measures what the steps of a plan cost each container.
namespace pinfold::agent {

/// The cost for one container, by the agent's clock.
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

/// Watches and times the steps of a plan.
class StepMeter {
 public:
  using Clock = std::chrono::steady_clock;
  using PagesOf = std::function<enforce::PagesByNode(const ContainerId&)>;
  /// Borrows `desired`. `pages` returns on which NUMA nodes the pages of a container are.
  StepMeter(const Desired& desired, std::function<Clock::time_point()> now, PagesOf pages)
      : desired_(desired), now_(std::move(now)), pages_(std::move(pages)) {}

  void watch(const enforce::Step& step, StepMoment moment);
  /// Returns the containers that were parked or got other NUMA nodes, by name. A container that is
  /// still parked because a step failed has no parked time.
  [[nodiscard]] std::vector<MeasuredContainer> results() const;

 private:
  void set_cpus(const enforce::Step& step);
  void set_mems(const enforce::Step& step, StepMoment moment);
  [[nodiscard]] MeasuredContainer& of(const ContainerId& id);

  const Desired& desired_;
  std::function<Clock::time_point()> now_;
  PagesOf pages_;
  std::map<ContainerId, Clock::time_point> parked_since_;
  Clock::time_point mems_begin_;
  enforce::PagesByNode pages_before_;
  std::map<ContainerId, MeasuredContainer> results_;
};

}  // namespace pinfold::agent
