#include "pinfold/text/go_duration.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>

#include "pinfold/text/go_text.hpp"

namespace pinfold::go {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMaxMagnitude = std::uint64_t{1} << 63U;

struct DurationUnit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

constexpr std::array<DurationUnit, 8> kUnits = {{{"ns", 1},
                                                 {"us", 1000},
                                                 {"\u00b5s", 1000},
                                                 {"\u03bcs", 1000},
                                                 {"ms", 1'000'000},
                                                 {"s", kSecond},
                                                 {"m", 60 * kSecond},
                                                 {"h", 3600 * kSecond}}};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::uint64_t> unit_of(std::string_view name) {
  for (const DurationUnit& unit : kUnits) {
    if (unit.name == name) return unit.nanoseconds;
  }
  return std::nullopt;
}

// The number in "<number><unit>".
struct DurationNumber {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;  // numerator over `scale`
  std::uint64_t scale = 1;
};

// Cuts a number off the front of `rest`; nullopt if it is invalid.
std::optional<DurationNumber> take_number(std::string_view& rest) {
  DurationNumber part;
  std::size_t digits = 0;
  for (; !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1), ++digits) {
    if (part.whole > kMaxMagnitude / 10) return std::nullopt;
    part.whole = part.whole * 10 + static_cast<std::uint64_t>(rest[0] - '0');
  }
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    for (; !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1), ++digits) {
      if (part.scale >= kMaxMagnitude / 100) continue;  // below a nanosecond
      part.fraction = part.fraction * 10 + static_cast<std::uint64_t>(rest[0] - '0');
      part.scale *= 10;
    }
  }
  if (digits == 0) return std::nullopt;
  return part;
}

}  // namespace

Result<std::int64_t> parse_duration(std::string_view text) {
  const auto invalid = [&](std::string_view what) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("time: {} {}", what, quote(text)));
  };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return 0;
  if (rest.empty()) return invalid("invalid duration");
  std::uint64_t total = 0;
  while (!rest.empty()) {
    const auto part = take_number(rest);
    if (!part) return invalid("invalid duration");
    std::size_t length = 0;
    while (length < rest.size() && rest[length] != '.' && !is_digit(rest[length])) ++length;
    if (length == 0) return invalid("missing unit in duration");
    const std::string_view name = rest.substr(0, length);
    rest.remove_prefix(length);
    const auto unit = unit_of(name);
    if (!unit) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("time: unknown unit {} in duration {}", quote(name), quote(text)));
    }
    if (part->whole > kMaxMagnitude / *unit) return invalid("invalid duration");
    const auto fraction =
        static_cast<std::uint64_t>(static_cast<double>(part->fraction) *
                                   (static_cast<double>(*unit) / static_cast<double>(part->scale)));
    const std::uint64_t value = part->whole * *unit + fraction;
    if (value > kMaxMagnitude || total + value > kMaxMagnitude) return invalid("invalid duration");
    total += value;
  }
  if (negative) return static_cast<std::int64_t>(~total + 1);
  if (total >= kMaxMagnitude) return invalid("invalid duration");
  return static_cast<std::int64_t>(total);
}

std::string duration_to_string(std::int64_t nanoseconds) {
  if (nanoseconds == 0) return "0s";
  const bool negative = nanoseconds < 0;
  const auto magnitude = negative ? ~static_cast<std::uint64_t>(nanoseconds) + 1
                                  : static_cast<std::uint64_t>(nanoseconds);
  // Formats value / unit without trailing zeros.
  const auto decimal = [](std::uint64_t value, std::uint64_t unit) {
    std::string out = std::to_string(value / unit);
    if (value % unit == 0) return out;
    std::string fraction = std::to_string(unit + value % unit).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return out + '.' + fraction;
  };
  std::string out = negative ? "-" : "";
  if (magnitude < 1000) return out + std::to_string(magnitude) + "ns";
  if (magnitude < 1'000'000) return out + decimal(magnitude, 1000) + "\u00b5s";
  if (magnitude < kSecond) return out + decimal(magnitude, 1'000'000) + "ms";
  const std::uint64_t hours = magnitude / (3600 * kSecond);
  const std::uint64_t minutes = magnitude / (60 * kSecond) % 60;
  if (hours > 0) out += std::to_string(hours) + "h";
  if (hours > 0 || minutes > 0) out += std::to_string(minutes) + "m";
  return out + decimal(magnitude % (60 * kSecond), kSecond) + "s";
}

}  // namespace pinfold::go
