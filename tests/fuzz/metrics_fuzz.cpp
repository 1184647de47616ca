#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/agent/metrics.hpp"

/// What is read can be written, and reads back to the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::agent;  // NOLINT(google-build-using-namespace)
  const auto metrics = decode_metrics({reinterpret_cast<const char*>(data), size});
  if (!metrics) return 0;
  const auto again = decode_metrics(encode_metrics(*metrics));
  if (!again || !(*again == *metrics)) std::abort();
  return 0;
}
