#include "pinfold/types/amount_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>
#include <vector>

#include "pinfold/types/quantity.hpp"

namespace pinfold {
namespace {

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

/// A wrong amount: "1,5 gb" has the number "1.5" and the unit "gb".
struct WrittenAmount {
  std::string number;
  std::string unit;
};
WrittenAmount split_amount(std::string_view text) {
  WrittenAmount parts;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      parts.unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (parts.unit.empty() && (is_decimal_digit(c) || c == '.' || c == ',')) {
      parts.number += c;
    }
  }
  // A comma is a decimal point, or it separates thousands: then it is unclear what is meant.
  const std::size_t comma = parts.number.find(',');
  constexpr std::size_t kThousands = 3;
  if (comma != std::string::npos && parts.number.size() - comma - 1 != kThousands) {
    parts.number[comma] = '.';
  }
  return parts;
}

/// Returns "; did you mean 1G or 1Gi?" with those of the amounts that are right; "" if none is.
std::string suggestion(std::vector<std::string> amounts) {
  std::erase_if(amounts, [](const std::string& amount) { return !Quantity::parse(amount); });
  if (amounts.empty()) return "";
  std::string text = "; did you mean " + amounts.front();
  for (std::size_t i = 1; i < amounts.size(); ++i) text += " or " + amounts[i];
  return text + "?";
}

bool is_of(std::string_view word, std::string_view beginning) {
  return !word.empty() && beginning.starts_with(word);
}

std::string expected_cpus(std::string_view text) {
  constexpr const char* kExpected = "expected CPUs such as 2 or 500m";
  const auto [number, unit] = split_amount(text);
  std::vector<std::string> meant;
  const bool is_milli =
      unit.starts_with('m') && unit.find_first_not_of("milcpuores") == std::string::npos;
  const bool is_cpus = is_of(unit, "cpus") || is_of(unit, "cores") || is_of(unit, "vcpus");
  if (number.empty()) return kExpected;
  if (is_milli) meant.push_back(number + "m");
  if (unit.empty() || is_cpus) meant.push_back(number);
  return kExpected + suggestion(std::move(meant));
}

/// Returns "1G" and "1Gi" for "1 gb", only "1Gi" for "1gib".
std::vector<std::string> with_units(const WrittenAmount& amount) {
  constexpr std::string_view kUnits = "kmgtpe";
  if (amount.number.empty()) return {};
  if (amount.unit.empty()) return {amount.number};
  const char letter = amount.unit[0];
  if (kUnits.find(letter) == std::string_view::npos) return {};
  const char large = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  const bool is_binary = amount.unit.find('i') != std::string::npos;
  std::vector<std::string> meant;
  if (!is_binary) meant.push_back(fmt::format("{}{}", amount.number, letter == 'k' ? 'k' : large));
  meant.push_back(fmt::format("{}{}i", amount.number, large));
  return meant;
}

std::string with_suggestion(std::vector<std::string> meant, const char* otherwise) {
  const std::string suggested = suggestion(std::move(meant));
  if (suggested.empty()) return otherwise;
  return "expected an amount with a unit Ki Mi Gi Ti or k M G T" + suggested;
}

bool is_size(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-") ||
         (resource.ends_with(".available") && resource != "pid.available");
}

}  // namespace

std::string exact_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (bytes > kMost) return std::to_string(bytes);  // a counter that has wrapped around
  return Quantity::bytes(static_cast<std::int64_t>(bytes)).to_string();
}

std::string expected_quantity(std::string_view text) {
  const WrittenAmount amount = split_amount(text);
  if (amount.unit.empty()) return "expected an amount such as 2, 500m or 1Gi";
  return with_suggestion(with_units(amount), "expected an amount such as 2, 500m or 1Gi");
}

std::string expected_amount(std::string_view resource, std::string_view text) {
  if (resource == "cpu") return expected_cpus(text);
  if (!is_size(resource)) return expected_quantity(text);
  return with_suggestion(with_units(split_amount(text)), "expected bytes such as 512Mi or 1Gi");
}

}  // namespace pinfold
