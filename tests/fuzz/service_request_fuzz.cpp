#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/socket/protocol.hpp"

/// A request from a client to the service. A request that is written again reads as the same
/// request, and an error is the client's fault.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  (void)socket::decode_hello_request(line);
  const auto call = socket::decode_call(line);
  if (!call) {
    if (call.error().code != ErrorCode::kInvalidArgument) std::abort();
    return 0;
  }
  const std::string written = socket::encode(*call);
  const auto again = socket::decode_call(written);
  if (!again || socket::encode(*again) != written) std::abort();
  return 0;
}
