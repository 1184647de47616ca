#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "pinfold/harness/scenario.hpp"

namespace pinfold::harness {

/// Hands scenarios out to workers that run in parallel. Scenarios that can share a guest form a
/// group, which one worker runs one after the other; other workers join only when there is nothing
/// else left.
class ScenarioQueue {
 public:
  /// Groups are in the order of their first scenarios. `shares`: false if guests are never shared.
  ScenarioQueue(const std::vector<const Scenario*>& scenarios, bool shares);

  struct Turn {
    std::size_t scenario = 0;  ///< its index
    bool is_last = false;      ///< the last one of its group
  };
  /// Returns a group for a worker: one without a worker, or else the one with the most scenarios
  /// left. nullopt: all scenarios are handed out.
  [[nodiscard]] std::optional<std::size_t> take_group();
  /// Returns the next scenario of a group; nullopt: all are handed out.
  [[nodiscard]] std::optional<Turn> next(std::size_t group);

 private:
  struct Group {
    std::deque<std::size_t> waiting;
    bool has_worker = false;
  };

  std::mutex mutex_;
  std::vector<Group> groups_;
};

}  // namespace pinfold::harness
