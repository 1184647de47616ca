#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace pinfold::agent {

/// The values are part of the C ABI.
enum class LogLevel : std::int32_t {
  kDebug = 0,    ///< each step in the kernel
  kInfo = 1,     ///< admissions and removals
  kWarning = 2,  ///< what was odd: drift, missing controllers, unknown fields
  kError = 3,    ///< what was decided and could not be done
};

/// Takes what an agent has to say; empty: nobody listens. Must not call the agent.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

}  // namespace pinfold::agent
