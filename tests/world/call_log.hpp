#pragma once

#include <memory>
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
  /// The service has ended, without an answer to what was not yet answered, and started again.
  void restart();
  void read(const agent::AgentState& state);

  /// See find_contradiction().
  [[nodiscard]] std::string judge() const;

 private:
  void add(LoggedRequest request, LoggedAnswer answer);

  std::shared_ptr<const Node> node_;
  agent::AgentState first_;
  std::vector<LoggedCall> calls_;
  std::size_t answered_ = 0;  ///< all calls before it have returned
  std::uint64_t time_ = 0;
  int clients_ = 0;
};

}  // namespace pinfold::world
