#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pinfold {

/// Where a server listens.
struct HostPort {
  std::string host;                   ///< "0.0.0.0" if none is named; "localhost" is "127.0.0.1"
  std::optional<std::uint16_t> port;  ///< nullopt: not a number up to 65535
};

/// Splits "HOST:PORT", "[IPV6]:PORT", ":PORT" or "PORT".
[[nodiscard]] HostPort split_host_port(std::string_view address);

}  // namespace pinfold
