#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "pinfold/place/take_rules.hpp"

/// The kubelet's texts, for programs without a library for formatting.
namespace pinfold::place {

/// A text in the caller's memory: zero-terminated, and cut off where the memory ends. Domain: at
/// least one byte.
class Text {
 public:
  explicit Text(std::span<char> memory) : memory_(memory) { memory_[0] = '\0'; }

  Text& operator<<(std::string_view part);
  Text& operator<<(std::int64_t number);

  [[nodiscard]] std::string_view view() const { return {memory_.data(), size_}; }

 private:
  std::span<char> memory_;
  std::size_t size_ = 0;
};

/// How the kubelet wraps the texts of full-pcpus-only.
inline constexpr std::string_view kAlignmentReason = "SMTAlignmentError";
inline constexpr std::string_view kBeforeAlignment = "SMT Alignment Error: ";
/// Returns whether a failure is one of full-pcpus-only.
[[nodiscard]] constexpr bool is_alignment(const CpuFailure& failure) {
  return failure.kind == CpuFailure::Kind::kOddThreads ||
         failure.kind == CpuFailure::Kind::kTooFewCores;
}

/// Enough for every text of a failure.
inline constexpr std::size_t kLongestText = 192;
/// Appends the kubelet's text, unwrapped.
Text& operator<<(Text& text, const CpuFailure& failure);

}  // namespace pinfold::place
