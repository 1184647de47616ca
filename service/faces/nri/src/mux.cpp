#include "pinfold/nri/mux.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "big_endian.hpp"

namespace pinfold::nri {
namespace {

constexpr std::size_t kMuxHeader = 8;

}  // namespace

Result<std::optional<Chunk>> Demultiplexer::next(std::string_view& input) {
  while (left_ == 0) {
    if (!fill(header_, kMuxHeader, input)) return std::nullopt;
    connection_ = read_u32(header_, 0);
    left_ = read_u32(header_, 4);
    header_.clear();
    if (left_ > kMaxMuxPayload) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("multiplexer: a frame of connection {} has {} bytes, at most {} are "
                              "allowed",
                              connection_, left_, kMaxMuxPayload));
    }
  }
  if (input.empty()) return std::nullopt;
  const Chunk chunk{connection_, input.substr(0, left_)};
  input.remove_prefix(chunk.bytes.size());
  left_ -= chunk.bytes.size();
  return chunk;
}

void multiplex(ConnectionId connection, std::string_view bytes, std::string& output) {
  while (!bytes.empty()) {
    const std::string_view payload = bytes.substr(0, kMaxMuxPayload);
    append_u32(static_cast<std::uint32_t>(connection), output);
    append_u32(static_cast<std::uint32_t>(payload.size()), output);
    output += payload;
    bytes.remove_prefix(payload.size());
  }
}

}  // namespace pinfold::nri
