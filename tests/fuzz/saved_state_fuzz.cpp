#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/harness/saved_state.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::harness;
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  const auto ignore = [](const SavedPage& page) {
    if (!page.bytes.empty() && page.bytes.size() != kPageBytes) std::abort();
    return pinfold::Result<void>();
  };
  const auto state = split_saved_state(stream, ignore);
  if (!state) return 0;
  // The rest is itself a saved machine, without a page of a node.
  const auto again = split_saved_state(
      state->stream, [](const SavedPage&) -> pinfold::Result<void> { std::abort(); });
  if (!again || again->stream != state->stream) std::abort();
  return 0;
}
