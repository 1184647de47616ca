#include "pinfold/types/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <ostream>

namespace pinfold {
namespace {

using Int128 = Quantity::Int128;
using Format = Quantity::Format;

constexpr std::int64_t kNanoPerUnit = 1'000'000'000;
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr Int128 kBinaryLimit = Int128{kInt64Max} * kNanoPerUnit;
/// The cap on decimal amounts, 10^28 units. Kubernetes has none.
constexpr Int128 kLimit = Int128{kNanoPerUnit} * kNanoPerUnit * kNanoPerUnit * kNanoPerUnit * 10;

constexpr std::string_view kDigits = "0123456789";

/// A suffix and its factor, 10^decimal * 2^binary.
struct Suffix {
  std::string_view text;
  std::int64_t decimal = 0;
  int binary = 0;
  Format format = Format::kDecimalSi;
};

constexpr std::array<Suffix, 10> kDecimalSuffixes = {
    Suffix{"n", -9}, Suffix{"u", -6}, Suffix{"m", -3}, Suffix{"", 0},   Suffix{"k", 3},
    Suffix{"M", 6},  Suffix{"G", 9},  Suffix{"T", 12}, Suffix{"P", 15}, Suffix{"E", 18}};
constexpr std::array<Suffix, 6> kBinarySuffixes = {
    Suffix{"Ki", 0, 10, Format::kBinarySi}, Suffix{"Mi", 0, 20, Format::kBinarySi},
    Suffix{"Gi", 0, 30, Format::kBinarySi}, Suffix{"Ti", 0, 40, Format::kBinarySi},
    Suffix{"Pi", 0, 50, Format::kBinarySi}, Suffix{"Ei", 0, 60, Format::kBinarySi}};

/// The parts of a quantity's text: [sign] whole [. fraction] [suffix].
struct QuantityParts {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  std::string_view suffix;
};

std::string_view take_while(std::string_view& text, std::string_view set) {
  const auto length = std::min(text.find_first_not_of(set), text.size());
  const auto taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

Result<QuantityParts> split(std::string_view text) {
  QuantityParts parts;
  const bool empty = text.empty();
  if (!empty && (text[0] == '-' || text[0] == '+')) {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  parts.whole = take_while(text, kDigits);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    parts.fraction = take_while(text, kDigits);
  }
  const std::string_view suffix = text;
  take_while(text, "eEinumkKMGTP");
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  take_while(text, kDigits);
  if (empty || !text.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "quantities must match the regular expression "
                "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  parts.suffix = suffix;
  return parts;
}

Result<Suffix> find_suffix(std::string_view text) {
  for (const Suffix& known : kDecimalSuffixes) {
    if (known.text == text) return known;
  }
  for (const Suffix& known : kBinarySuffixes) {
    if (known.text == text) return known;
  }
  if (text.size() > 1 && (text[0] == 'e' || text[0] == 'E')) {
    std::string_view digits = text.substr(1);
    if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
    Suffix exponent{text, 0, 0, Format::kDecimalExponent};
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, exponent.decimal);
    if (error == std::errc{} && stop == end) return exponent;
  }
  return fail(ErrorCode::kInvalidArgument, "unable to parse quantity's suffix");
}

/// Returns a * factor + digit, capped at kLimit.
constexpr Int128 shift_in(Int128 a, int factor, int digit) {
  return a >= kLimit / factor ? kLimit : a * factor + digit;
}

/// A decimal fraction times 2^binary: its whole part, and whether there is a remainder.
struct Scaled {
  std::uint64_t whole = 0;
  bool rest = false;
};
Scaled scale_fraction(std::string_view digits, std::size_t leading_zeros, int binary) {
  Scaled result;
  if (binary == 0) {
    result.rest = digits.find_first_not_of('0') != std::string_view::npos;
    return result;
  }
  const auto step = [&](std::uint64_t digit) {
    result.whole += digit << binary;  // below 10 * 2^60
    result.rest = result.rest || result.whole % 10 != 0;
    result.whole /= 10;
  };
  for (auto it = digits.rbegin(); it != digits.rend(); ++it) {
    step(static_cast<std::uint64_t>(*it - '0'));
  }
  for (; leading_zeros > 0; --leading_zeros) step(0);
  return result;
}

/// Returns `digits` * 10^exponent * 2^binary, rounded up to a whole number and capped at kLimit.
Int128 round_up(std::string_view digits, std::int64_t exponent, int binary) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return 0;
  std::string_view whole = digits;
  Scaled fraction;
  if (exponent < 0) {
    const auto places = static_cast<std::uint64_t>(-exponent);
    const auto split_at = digits.size() - std::min<std::uint64_t>(digits.size(), places);
    whole = digits.substr(0, split_at);
    const auto tail = digits.substr(split_at);
    fraction = scale_fraction(tail, places - tail.size(), binary);
  }
  Int128 amount = 0;
  for (const char c : whole) amount = shift_in(amount, 10, c - '0');
  for (; exponent > 0 && amount < kLimit; --exponent) amount = shift_in(amount, 10, 0);
  for (int i = 0; i < binary; ++i) amount = shift_in(amount, 2, 0);
  return std::min<Int128>(amount + fraction.whole + (fraction.rest ? 1 : 0), kLimit);
}

/// Returns a / unit, rounded away from zero and capped to int64.
std::int64_t divide_up(Int128 a, std::int64_t unit) {
  const Int128 magnitude = ((a < 0 ? -a : a) + unit - 1) / unit;
  const Int128 limited = std::min<Int128>(magnitude, kInt64Max);
  return static_cast<std::int64_t>(a < 0 ? -limited : limited);
}

Int128 limit(Int128 a) { return std::clamp(a, -kLimit, kLimit); }

std::string print_decimal(Int128 nano, Format format) {
  std::size_t steps = 0;  // factors of 1000, starting from nano
  for (; nano % 1000 == 0; nano /= 1000) ++steps;
  if (format == Format::kDecimalExponent) {
    const int exponent = static_cast<int>(steps) * 3 - 9;
    return exponent == 0 ? fmt::format("{}", nano) : fmt::format("{}e{}", nano, exponent);
  }
  for (; steps >= kDecimalSuffixes.size(); --steps) nano *= 1000;  // E is the largest suffix
  return fmt::format("{}{}", nano, kDecimalSuffixes[steps].text);
}

std::string print_binary(Int128 whole) {
  std::size_t steps = 0;
  for (; whole % 1024 == 0 && steps < kBinarySuffixes.size(); whole /= 1024) ++steps;
  return fmt::format("{}{}", whole, steps == 0 ? "" : kBinarySuffixes[steps - 1].text);
}

/// Returns whether Kubernetes stores a quantity with this spelling as an integer and a scale >= 0.
/// It counts digits to be sure that the amount fits.
/// Source: k8s.io/apimachinery v0.36 pkg/api/resource/quantity.go ParseQuantity.
bool is_kept_as_integer(const QuantityParts& parts, const Suffix& suffix, bool is_zero) {
  std::string_view whole = parts.whole;
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  const auto digits = static_cast<int>(std::max<std::size_t>(whole.size(), 1));
  if (suffix.format == Format::kBinarySi) {
    return parts.fraction.empty() && digits + suffix.binary * 3 / 10 + 1 <= 15;
  }
  return digits + static_cast<int>(parts.fraction.size()) <= 18 &&
         (is_zero || suffix.decimal >= static_cast<std::int64_t>(parts.fraction.size()));
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  PINFOLD_LET(const auto parts, split(text));
  PINFOLD_LET(const auto suffix, find_suffix(parts.suffix));

  // Reads the digits as one number and moves the point into the exponent. Exponents are clamped:
  // more than 10^6 beyond the number of digits, they no longer change the result.
  std::string digits;
  digits.reserve(parts.whole.size() + parts.fraction.size());
  digits.append(parts.whole).append(parts.fraction);
  const auto places = static_cast<std::int64_t>(parts.fraction.size());
  const auto far = static_cast<std::int64_t>(digits.size()) + 1'000'000;
  const auto exponent = std::clamp(suffix.decimal, -far, far) - places + 9;
  Int128 nano = round_up(digits, exponent, suffix.binary);
  Format format = suffix.format;
  if (format == Format::kBinarySi) {
    nano = std::min(nano, kBinaryLimit);
    if (nano > 0 && nano < kNano) format = Format::kDecimalSi;
  }
  return Quantity(parts.negative ? -nano : nano, format,
                  is_kept_as_integer(parts, suffix, nano == 0));
}

std::string Quantity::to_string() const {
  if (nano_ == 0) return "0";
  constexpr Int128 kKilo = Int128{1024} * kNano;
  // Small and fractional amounts have no exact binary form.
  if (format_ == Format::kBinarySi && is_whole() && (nano_ <= -kKilo || nano_ >= kKilo)) {
    return print_binary(nano_ / kNano);
  }
  return print_decimal(nano_, format_ == Format::kBinarySi ? Format::kDecimalSi : format_);
}

Quantity Quantity::canonical() const { return parse(to_string()).value_or(*this); }

std::int64_t Quantity::value() const { return divide_up(nano_, kNano); }

std::int64_t Quantity::milli_value() const { return divide_up(nano_, kNano / 1000); }

Quantity& Quantity::operator+=(const Quantity& other) {
  is_integer_ = (is_integer_ || is_zero()) && (other.is_integer_ || other.is_zero());
  if (is_zero()) format_ = other.format_;
  nano_ = limit(nano_ + other.nano_);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (is_zero()) format_ = other.format_;
  nano_ = limit(nano_ - other.nano_);
  return *this;
}

std::ostream& operator<<(std::ostream& out, const Quantity& quantity) {
  return out << quantity.to_string();
}

}  // namespace pinfold
