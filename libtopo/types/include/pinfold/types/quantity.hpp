#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// A Kubernetes resource quantity ("250m", "2Gi", "1e3"), exact to 10^-9 as in Kubernetes. Parsing
/// rounds away from zero to 10^-9 and caps amounts with a binary suffix at +-(2^63 - 1), as
/// Kubernetes does. Other amounts are capped at +-10^28.
/// DIFFERENCE: always prints the canonical form, where Kubernetes may keep the original spelling
/// ("1.500"), and caps amounts that do not fit an int64, where Kubernetes returns 0 or wraps
/// around.
/// Source: k8s.io/apimachinery pkg/api/resource, observed through kubelet v1.36.2.
class Quantity {
 public:
  __extension__ using Int128 = __int128;
  /// The notation for printing; taken from the suffix that was parsed.
  enum class Format : std::uint8_t { kDecimalSi, kBinarySi, kDecimalExponent };

  constexpr Quantity() = default;
  [[nodiscard]] static constexpr Quantity of(std::int64_t value, Format format) {
    return Quantity(Int128{value} * kNano, format);
  }
  [[nodiscard]] static constexpr Quantity bytes(std::int64_t value) {
    return of(value, Format::kBinarySi);
  }
  [[nodiscard]] static constexpr Quantity milli(std::int64_t value) {
    return Quantity(Int128{value} * (kNano / 1000), Format::kDecimalSi);
  }

  /// Parses Kubernetes' notation. Errors: kInvalidArgument with Kubernetes' text ("quantities must
  /// match the regular expression ...", "unable to parse quantity's suffix").
  [[nodiscard]] static Result<Quantity> parse(std::string_view text);
  /// Prints Kubernetes' canonical form: "1500m", "2Gi".
  [[nodiscard]] std::string to_string() const;

  /// Rounds up to a whole number, like Quantity.Value(); capped to the range of int64.
  [[nodiscard]] std::int64_t value() const;
  /// Rounds up to thousandths, like Quantity.MilliValue(); capped to the range of int64.
  [[nodiscard]] std::int64_t milli_value() const;
  [[nodiscard]] constexpr bool is_whole() const { return nano_ % kNano == 0; }
  /// Returns false where Quantity.AsInt64() fails: for amounts that are fractional or exceed an
  /// int64, and for whole ones written with a point ("1.5Gi"), a negative exponent ("1000m") or too
  /// many digits ("1Pi").
  [[nodiscard]] constexpr bool as_int64_succeeds() const { return is_integer_ && is_whole(); }
  /// Returns the amount as the API server passes it on, in canonical spelling.
  [[nodiscard]] Quantity canonical() const;
  [[nodiscard]] constexpr bool is_zero() const { return nano_ == 0; }
  /// Returns -1, 0 or 1.
  [[nodiscard]] constexpr int sign() const { return nano_ == 0 ? 0 : (nano_ < 0 ? -1 : 1); }
  [[nodiscard]] constexpr Int128 nano() const { return nano_; }
  [[nodiscard]] constexpr Format format() const { return format_; }

  /// Keeps the format of *this, or takes the other's if *this is zero, like Quantity.Add.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }

  /// Compares amounts: "1000m" equals "1".
  friend constexpr bool operator==(const Quantity& a, const Quantity& b) {
    return a.nano_ == b.nano_;
  }
  friend constexpr std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.nano_ < b.nano_   ? std::strong_ordering::less
           : a.nano_ > b.nano_ ? std::strong_ordering::greater
                               : std::strong_ordering::equal;
  }

 private:
  static constexpr std::int64_t kNano = 1'000'000'000;
  constexpr Quantity(Int128 nano, Format format, bool is_integer = true)
      : nano_(nano), format_(format), is_integer_(is_integer) {}

  Int128 nano_ = 0;
  Format format_ = Format::kDecimalSi;
  bool is_integer_ = true;  ///< Kubernetes stores it as an integer and a scale, not as big.Int
};

std::ostream& operator<<(std::ostream& out, const Quantity& quantity);

/// Returns what to write instead of a text that Quantity::parse() refuses, in plainer words than
/// Kubernetes': "expected an amount such as 2, 500m or 1Gi"; for "1 gb" also "1G or 1Gi".
[[nodiscard]] std::string expected_quantity(std::string_view text);

}  // namespace pinfold
