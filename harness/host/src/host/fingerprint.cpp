#include "pinfold/harness/fingerprint.hpp"

#include <fmt/format.h>

namespace pinfold::harness {

void Fingerprint::mix(std::string_view bytes) {
  constexpr Word kPrime = (Word{1} << 88) | 0x13b;
  Word hash = hash_;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  hash_ = hash;
}

Fingerprint& Fingerprint::add(std::string_view bytes) {
  mix(fmt::format("{}:", bytes.size()));
  mix(bytes);
  return *this;
}

std::string Fingerprint::to_string() const {
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(hash_ >> 64),
                     static_cast<std::uint64_t>(hash_));
}

}  // namespace pinfold::harness
