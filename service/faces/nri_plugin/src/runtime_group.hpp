#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/node_agent.hpp"

namespace pinfold::nri {

/// The group of a runtime and its shims. No plugin may confine it, so it is only watched.
class RuntimeGroup {
 public:
  /// Returns the absolute directory of a process's group. Errors: kNotFound.
  using Find = std::function<Result<std::string>(const agent::ObservedCgroups&, pid_t)>;

  RuntimeGroup(Find find, agent::LogSink log) : find_(std::move(find)), log_(std::move(log)) {}

  /// Checks whether processes of the group can run on exclusive CPUs, and warns when that begins.
  /// `runtime` is the process at the other end of the connection; without it nothing is known.
  void look(const agent::NodeAgent& agent, std::optional<pid_t> runtime);
  /// Returns the exclusive CPUs that the group could use at the last look.
  [[nodiscard]] const CpuSet& overlap() const { return overlap_; }

 private:
  void log(agent::LogLevel level, const std::string& message) const {
    if (log_) log_(level, message);
  }

  Find find_;
  agent::LogSink log_;
  CpuSet overlap_;
  std::string error_;  ///< the last error; each is logged once
};

}  // namespace pinfold::nri
