#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "pinfold/agent/node_agent.hpp"

namespace pinfold::nri {

/// The group that a runtime and its shims run in: no plugin may confine it, so it is only looked
/// at.
class RuntimeGroup {
 public:
  /// The absolute directory of the group that a process is in. Errors: kNotFound.
  using Find = std::function<Result<std::string>(const agent::EnforcedLayout&, pid_t)>;

  RuntimeGroup(Find find, agent::LogSink log) : find_(std::move(find)), log_(std::move(log)) {}

  /// Whether processes there can run on exclusive CPUs; a warning when that begins. `runtime`: the
  /// process at the other end; none: nothing is known.
  void look(const agent::NodeAgent& agent, std::optional<pid_t> runtime);
  /// The exclusive CPUs that the last look has found.
  [[nodiscard]] const CpuSet& overlap() const { return overlap_; }

 private:
  void log(agent::LogLevel level, const std::string& message) const {
    if (log_) log_(level, message);
  }

  Find find_;
  agent::LogSink log_;
  CpuSet overlap_;
  std::string error_;  ///< the last, which is logged once
};

}  // namespace pinfold::nri
