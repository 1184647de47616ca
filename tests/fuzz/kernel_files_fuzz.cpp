#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pinfold/discover/kernel_files.hpp"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto id = pinfold::parse_id(text)) check(pinfold::parse_id(std::to_string(*id)) == *id);
  if (const auto count = pinfold::parse_count(text)) {
    check(pinfold::parse_count(std::to_string(*count)) == *count);
  }
  if (const auto cpus = pinfold::parse_cpu_list(text)) {
    check(pinfold::parse_cpu_list(cpus->to_string()) == *cpus);
  }
  if (const auto cpus = pinfold::parse_cpu_mask(text)) {
    // Leading zero words change nothing.
    check(pinfold::parse_cpu_mask("00000000," + std::string(text)) == *cpus);
  }
  if (const auto row = pinfold::parse_distances(text)) {
    std::string printed;
    for (const std::uint32_t distance : *row) printed += std::to_string(distance) + " ";
    check(pinfold::parse_distances(printed) == *row);
  }
  if (const auto bytes = pinfold::parse_mem_total(text)) check(*bytes % 1024 == 0);
  return 0;
}
