#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/api/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = pinfold::parse_config({reinterpret_cast<const char*>(data), size});
  if (!parsed) return 0;
  const auto again = pinfold::config_from_json(to_json(parsed->config));
  if (!again || again->config != parsed->config || !again->warnings.empty()) std::abort();
  return 0;
}
