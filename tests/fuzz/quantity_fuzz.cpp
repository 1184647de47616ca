#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/types/quantity.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto quantity = pinfold::Quantity::parse({reinterpret_cast<const char*>(data), size});
  if (!quantity) return 0;
  const auto again = pinfold::Quantity::parse(quantity->to_string());
  if (!again || *again != *quantity) std::abort();
  if ((quantity->value() < 0) != (quantity->sign() < 0)) std::abort();
  if (*quantity - *quantity != pinfold::Quantity{}) std::abort();
  return 0;
}
