#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// The protocol of NRI plugins: docs/nri-protocol.md. All of it except plugin.hpp is pure: bytes
/// in, events out; events in, bytes out.
namespace pinfold::nri {

/// The connections that share the socket of a plugin.
enum class ConnectionId : std::uint32_t {
  kPlugin = 1,   ///< the runtime calls the plugin
  kRuntime = 2,  ///< the plugin calls the runtime
};

/// One message of ttRPC of the greatest size.
inline constexpr std::size_t kMaxMuxPayload = 10 + (4U << 20U);

/// A part of one connection's byte stream.
struct Chunk {
  std::uint32_t connection = 0;  ///< also one that nobody opened
  std::string_view bytes;        ///< a part of the input; never empty
};

/// Separates the connections. Holds one header, never a payload.
class Demultiplexer {
 public:
  /// Takes one chunk from the front of `input`. nullopt: the input is used up; go on with what
  /// comes next. Errors: kInvalidArgument for a frame above kMaxMuxPayload; nothing can be read
  /// after it.
  [[nodiscard]] Result<std::optional<Chunk>> next(std::string_view& input);

 private:
  std::string header_;
  std::uint32_t connection_ = 0;
  std::size_t left_ = 0;  ///< of the payload
};

/// Appends frames with `bytes` to `output`.
void multiplex(ConnectionId connection, std::string_view bytes, std::string& output);

}  // namespace pinfold::nri
