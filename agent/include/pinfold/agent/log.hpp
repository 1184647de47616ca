#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace pinfold::agent {

/// The values are part of the C ABI.
enum class LogLevel : std::int32_t {
  kDebug = 0,    ///< each step in the kernel
  kInfo = 1,     ///< admissions and removals
  kWarning = 2,  ///< drift, missing controllers, unknown fields, side files
  kError = 3,    ///< a decision that could not be applied
};

/// Receives the messages of an agent; empty: no log. Must not call the agent.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

}  // namespace pinfold::agent
