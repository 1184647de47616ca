#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linear.hpp"

namespace pinfold::world {

/// Logs what clients of a service observe between two changes of its node.
class CallLog {
 public:
  /// Begins a log with this node in a known state.
  void begin(std::shared_ptr<const Node> node, agent::AgentState state);
  /// Logs a client's request. Returns the number of its call; requests that change no decision have
  /// none.
  [[nodiscard]] std::optional<std::size_t> invoke(const verbs::Action& request);
  void answer(std::size_t call, const Result<verbs::Answer>& answer);
  /// Logs a runtime's call, which amounts to these requests, one after the other. `is_granted`: the
  /// runtime was told that its last admission and its starts are done; everything else may or may
  /// not be done.
  void ask(const std::vector<verbs::Action>& steps, bool is_granted,
           const LoggedPlaces& places = {});
  void begin_round() { round_ = time_++; }
  /// Logs that the leftovers of ended containers disappeared at some time in this round; see Ended.
  void end(std::vector<ContainerId> ids);
  /// Logs a restart of the service; calls without an answer will not get one.
  void restart();
  void read(const agent::AgentState& state);

  /// See find_contradiction().
  [[nodiscard]] std::string judge() const;

 private:
  void add(LoggedRequest request, std::optional<LoggedAnswer> answer,
           const LoggedPlaces& places = {});

  std::shared_ptr<const Node> node_;
  agent::AgentState first_;
  std::vector<LoggedCall> calls_;
  std::size_t answered_ = 0;  ///< all calls before this one have returned
  std::uint64_t time_ = 0;
  std::uint64_t round_ = 0;  ///< the time at which it began
  int clients_ = 0;
};

}  // namespace pinfold::world
