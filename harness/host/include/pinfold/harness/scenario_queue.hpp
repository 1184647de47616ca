#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "pinfold/harness/scenario.hpp"

namespace pinfold::harness {

/// Hands scenarios out to workers that run in parallel: those that can share a guest to one worker,
/// one after the other, and to a second one when nothing else is left.
class ScenarioQueue {
 public:
  /// Groups are in the order of their first scenarios. `shares`: whether guests are shared at all.
  ScenarioQueue(const std::vector<const Scenario*>& scenarios, bool shares);

  struct Turn {
    std::size_t scenario = 0;  ///< its index
    bool is_last = false;      ///< of its group
  };
  /// A group for a worker: one that has no worker, or the longest. nullopt: all are handed out.
  [[nodiscard]] std::optional<std::size_t> take_group();
  /// The next scenario of a group; nullopt: all are handed out.
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
