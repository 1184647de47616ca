#include "plan_number.hpp"

#include <fmt/format.h>

#include <charconv>

#include "pinfold/text/field.hpp"

namespace pinfold::simulate {

Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && least <= value && value <= most) return value;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected {} to {}", printable(text), least, most));
}

}  // namespace pinfold::simulate
