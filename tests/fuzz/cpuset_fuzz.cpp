#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/types/cpuset.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto set = pinfold::CpuSet::parse({reinterpret_cast<const char*>(data), size});
  if (!set) return 0;
  const auto again = pinfold::CpuSet::parse(set->to_string());
  if (!again || *again != *set) std::abort();
  return 0;
}
