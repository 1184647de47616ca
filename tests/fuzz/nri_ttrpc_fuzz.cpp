#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/nri/ttrpc.hpp"

namespace {

using namespace pinfold::nri::ttrpc;  // NOLINT(google-build-using-namespace)

void add(FrameReader& reader, std::string_view input, std::vector<Frame>& frames) {
  while (auto frame = reader.next(input)) frames.push_back(*std::move(frame));
  if (!input.empty()) std::abort();
}

/// A message that is written again reads as the same message.
template <class Message>
void check(const pinfold::Result<Message>& message,
           pinfold::Result<Message> (*decode)(std::string_view)) {
  if (!message) {
    if (message.error().code != pinfold::ErrorCode::kInvalidArgument) std::abort();
    return;
  }
  const auto again = decode(encode(*message));
  if (!again || !(*again == *message)) std::abort();
}

}  // namespace

/// Frames and the messages in them. The result does not depend on where the input is split.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FrameReader whole;
  std::vector<Frame> frames;
  add(whole, bytes, frames);
  FrameReader torn;
  std::vector<Frame> pieces;
  const std::size_t at = size == 0 ? 0 : data[size - 1] % size;
  add(torn, bytes.substr(0, at), pieces);
  add(torn, bytes.substr(at), pieces);
  if (pieces != frames) std::abort();
  for (const Frame& frame : frames) {
    if (frame.payload.size() > kMaxPayload) std::abort();
    check(decode_request(frame.payload), decode_request);
    check(decode_response(frame.payload), decode_response);
  }
  return 0;
}
