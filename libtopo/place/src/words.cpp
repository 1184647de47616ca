#include "pinfold/place/words.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace pinfold::place {

Text& Text::operator<<(std::string_view part) {
  const std::size_t size = std::min(part.size(), memory_.size() - 1 - size_);
  std::copy_n(part.begin(), size, memory_.begin() + static_cast<std::ptrdiff_t>(size_));
  size_ += size;
  memory_[size_] = '\0';
  return *this;
}

Text& Text::operator<<(std::int64_t number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

Text& operator<<(Text& text, const CpuFailure& failure) {
  switch (failure.kind) {
    case CpuFailure::Kind::kNotEnough:
      return text << "not enough cpus available to satisfy request: requested=" << failure.requested
                  << ", available=" << failure.available;
    case CpuFailure::Kind::kAccounting:
      return text << "accounting error, not enough CPUs allocated, remaining: "
                  << failure.available;
    case CpuFailure::Kind::kOddThreads:
      return text << "requested " << failure.requested
                  << " cpus not multiple cpus per core = " << failure.per_core;
    case CpuFailure::Kind::kTooFewCores:
      return text << "not enough free physical CPUs: available physical CPUs = "
                  << failure.available << ", requested CPUs = " << failure.requested
                  << ", CPUs per core = " << failure.per_core;
    case CpuFailure::Kind::kFailed:
      break;
  }
  return text << "failed to allocate cpus";
}

}  // namespace pinfold::place
