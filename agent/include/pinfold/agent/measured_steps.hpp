#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "pinfold/agent/enforced_layout.hpp"

/// What the steps of a plan cost each container while they were applied.
namespace pinfold::agent {

/// What one container saw of it, by the clock of the agent.
struct MeasuredContainer {
  ContainerId id;
  /// So long it ran on CPUs of which it keeps none: its CPUs were exchanged.
  std::optional<std::chrono::nanoseconds> parked;
  /// So long the kernel took to give it other NUMA nodes; its pages are moved in that time.
  std::optional<std::chrono::nanoseconds> moving_pages;
  /// Bytes of its processes that are on another NUMA node since.
  std::uint64_t bytes_moved = 0;

  friend bool operator==(const MeasuredContainer&, const MeasuredContainer&) = default;
};

/// Watches the steps of a plan.
class StepMeter {
 public:
  using Clock = std::chrono::steady_clock;
  using PagesOf = std::function<enforce::PagesByNode(const ContainerId&)>;
  /// Borrows `desired`. `pages`: where the pages of a container are.
  StepMeter(const Desired& desired, std::function<Clock::time_point()> now, PagesOf pages)
      : desired_(desired), now_(std::move(now)), pages_(std::move(pages)) {}

  void watch(const enforce::Step& step, StepMoment moment);
  /// The containers that were parked or got other NUMA nodes, by name. A container that is still
  /// parked, because a step failed, has no time.
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
