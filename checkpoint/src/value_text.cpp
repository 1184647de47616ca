#include "pinfold/checkpoint/value_text.hpp"

#include <fmt/format.h>

namespace pinfold::checkpoint {

void ValueText::number(std::uint64_t value) {
  const fmt::format_int digits(value);
  text_.append(digits.data(), digits.size());
}

void ValueText::number(std::int64_t value) {
  const fmt::format_int digits(value);
  text_.append(digits.data(), digits.size());
}

}  // namespace pinfold::checkpoint
