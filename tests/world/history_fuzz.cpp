#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "history.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::world;
  const auto history = parse_history({reinterpret_cast<const char*>(data), size});
  if (!history) return 0;
  const auto again = parse_history(to_string(*history));
  if (!again || *again != *history) std::abort();
  return 0;
}
