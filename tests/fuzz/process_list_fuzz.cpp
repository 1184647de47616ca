#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/agent/process_list.hpp"
#include "pinfold/enforce/page_placement.hpp"

/// A list that was read can be written, and reads back to the same list; sums of pages are of valid
/// NUMA nodes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::agent;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ProcessList list = decode_processes(text);
  if (decode_processes(encode_processes(list)) != list) std::abort();
  for (const auto& [node, bytes] : pinfold::enforce::parse_numa_maps(text)) {
    if (node < 0) std::abort();
  }
  return 0;
}
