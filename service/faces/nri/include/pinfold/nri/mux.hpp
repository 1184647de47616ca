#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// The protocol of NRI plugins; see docs/nri-protocol.md. Everything except plugin.hpp is pure:
/// bytes in, events out; events in, bytes out.
namespace pinfold::nri {

/// The connections that share a plugin's socket.
enum class ConnectionId : std::uint32_t {
  kPlugin = 1,   ///< the runtime calls the plugin
  kRuntime = 2,  ///< the plugin calls the runtime
};

/// One ttRPC message of the maximum size.
inline constexpr std::size_t kMaxMuxPayload = 10 + (4U << 20U);

/// Part of one connection's byte stream.
struct Chunk {
  std::uint32_t connection = 0;  ///< may be one that was never opened
  std::string_view bytes;        ///< a part of the input; never empty
};

/// Separates the connections. Buffers one header, never a payload.
class Demultiplexer {
 public:
  /// Takes one chunk from the front of `input`; nullopt if the input is used up. Errors:
  /// kInvalidArgument for a frame above kMaxMuxPayload; reading must then stop.
  [[nodiscard]] Result<std::optional<Chunk>> next(std::string_view& input);

 private:
  std::string header_;
  std::uint32_t connection_ = 0;
  std::size_t left_ = 0;  ///< of the payload
};

/// Appends `bytes` to `output` as frames.
void multiplex(ConnectionId connection, std::string_view bytes, std::string& output);

}  // namespace pinfold::nri
