#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/harness/kept_guest.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto guest = pinfold::harness::parse_kept_guest(
      std::string_view(reinterpret_cast<const char*>(data), size));
  if (guest ? guest->command.empty() : guest.error().message.empty()) std::abort();
  return 0;
}
