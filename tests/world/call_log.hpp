#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linear.hpp"

namespace pinfold::world {

/// What clients of a service see, from one change of its node to the next.
class CallLog {
 public:
  /// Of this node, whose state is known.
  void begin(std::shared_ptr<const Node> node, agent::AgentState state);
  /// A client asks. Returns the number of its call; requests that change no decision have none.
  [[nodiscard]] std::optional<std::size_t> invoke(const service::Action& request);
  void answer(std::size_t call, const Result<service::Answer>& answer);
  /// A runtime has asked for something that comes to these requests, one after the other.
  /// `is_granted`: its last admission and its starts are done, as the runtime was told; everything
  /// else may be.
  void ask(const std::vector<service::Action>& steps, bool is_granted,
           const LoggedPlaces& places = {});
  void begin_round() { round_ = time_++; }
  /// What containers of a runtime have left behind went at some time in this round; see Ended.
  void end(std::vector<ContainerId> ids);
  /// The service has ended, without an answer to what was not yet answered, and started again.
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
  std::size_t answered_ = 0;  ///< all calls before it have returned
  std::uint64_t time_ = 0;
  std::uint64_t round_ = 0;  ///< when it has begun
  int clients_ = 0;
};

}  // namespace pinfold::world
