#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oci.hpp"

/// The state that a container runtime passes to a hook. Every resulting request names a container
/// of its pod.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto state = tools::parse_hook_state(text);
  if (!state || !tools::concerns_pinfold(*state)) return 0;
  const auto request = tools::read_request(*state, [&](const std::string& path) {
    return Result<std::string>(path);  // a Pod instead of a file name
  });
  if (request && request->pod.find(request->container) == nullptr) std::abort();
  return 0;
}
