#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "pinfold/memory/memory_drift.hpp"

/// /proc/iomem: the kernel's size is absent or possible.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = pinfold::kernel_image_size({reinterpret_cast<const char*>(data), size});
  if (bytes && (*bytes == 0 || *bytes > std::uint64_t{1} << 40U)) std::abort();
  return 0;
}
