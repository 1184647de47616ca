#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "pinfold/extender/extender_settings.hpp"
#include "pinfold/fields/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;
  const auto settings =
      extender::parse_extender_settings({reinterpret_cast<const char*>(data), size});
  if (!settings) return 0;
  const auto again = fields::read<extender::ExtenderSettings>(fields::to_json(*settings));
  if (!again || *again != *settings) std::abort();
  return 0;
}
