#include "pinfold/checkpoint/go_dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pinfold::checkpoint {

namespace {

constexpr std::uint32_t kFnvPrime = 16777619U;

}  // namespace

std::uint32_t fnv1a_32(std::string_view bytes, std::uint32_t before) {
  std::uint32_t sum = before;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * kFnvPrime;
  return sum;
}

DumpPart::DumpPart(std::string text)
    : text_(std::move(text)), is_ascii_(std::none_of(text_.begin(), text_.end(), [](char c) {
        return static_cast<unsigned char>(c) >= kLowest;
      })) {
  std::uint32_t square = kFnvPrime;
  for (std::size_t left = text_.size(); left > 0; left /= 2, square *= square) {
    if (left % 2 == 1) power_ *= square;
  }
}

std::uint32_t DumpPart::sum_after(std::uint32_t before) const {
  if (!is_ascii_) return fnv1a_32(text_, before);
  const std::uint32_t scaled = before * power_;
  const std::size_t lowest = before % kLowest;
  if (!is_known_[lowest]) {
    added_[lowest] = fnv1a_32(text_, before) - scaled;
    is_known_.set(lowest);
  }
  return scaled + added_[lowest];
}

void GoDump::key(std::int64_t number) { key(fmt::format_int(number).c_str()); }

}  // namespace pinfold::checkpoint
