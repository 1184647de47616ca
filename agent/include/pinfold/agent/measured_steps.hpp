#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <vector>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/measured_container.hpp"

/// Measures what the steps of a plan cost each container.
namespace pinfold::agent {

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
