#include "pinfold/checkpoint/go_dump.hpp"

#include <fmt/format.h>

namespace pinfold::checkpoint {

std::uint32_t fnv1a_32(std::string_view bytes) {
  std::uint32_t hash = 2166136261U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

void GoDump::key(std::int64_t number) { key(fmt::format_int(number).c_str()); }

}  // namespace pinfold::checkpoint
