#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/text/go_duration.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto duration = pinfold::go::parse_duration({reinterpret_cast<const char*>(data), size});
  if (!duration) return 0;
  const auto again = pinfold::go::parse_duration(pinfold::go::duration_to_string(*duration));
  if (!again || *again != *duration) std::abort();
  return 0;
}
