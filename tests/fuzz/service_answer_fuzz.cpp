#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/socket/protocol.hpp"

/// The answer of a service to a command. An answer that is written again reads as the same answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto hello = service::decode_hello(line)) {
    const std::string written = service::encode(*hello);
    const auto again = service::decode_hello(written);
    if (!again || service::encode(*again) != written) std::abort();
  }
  const auto answer = service::decode_answer(line);
  const std::string written = service::encode(answer);  // an error too
  if (service::encode(service::decode_answer(written)) != written) std::abort();
  return 0;
}
