#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/socket/protocol.hpp"

/// The answer of a service to a command. An answer that is written again reads as the same answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto hello = socket::decode_hello(line)) {
    const std::string written = socket::encode(*hello);
    const auto again = socket::decode_hello(written);
    if (!again || socket::encode(*again) != written) std::abort();
  }
  const auto answer = socket::decode_answer(line);
  const std::string written = socket::encode(answer);  // an error too
  if (socket::encode(socket::decode_answer(written)) != written) std::abort();
  return 0;
}
