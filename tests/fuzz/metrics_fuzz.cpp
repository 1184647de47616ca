#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/agent/metrics.hpp"

/// Metrics that were read can be written, and read back to the same metrics.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::agent;  // NOLINT(google-build-using-namespace)
  const auto metrics = decode_metrics({reinterpret_cast<const char*>(data), size});
  if (!metrics) return 0;
  const auto again = decode_metrics(encode_metrics(*metrics));
  if (!again || !(*again == *metrics)) std::abort();
  return 0;
}
