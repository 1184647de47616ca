#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

#include "pinfold/checkpoint/value_text.hpp"

namespace pinfold::checkpoint {

inline constexpr std::uint32_t kFnvOfNothing = 2166136261U;
/// Computes FNV-1a, 32 bit. `before`: the sum of the bytes before these.
[[nodiscard]] std::uint32_t fnv1a_32(std::string_view bytes, std::uint32_t before = kFnvOfNothing);

/// A part of dumps that is summed repeatedly, each time after different bytes.
///
/// How it works: sum := (sum XOR byte) * prime. The XOR changes only the lowest eight bits, by an
/// amount that depends only on these; in ASCII only the lowest seven. So for each value of the
/// lowest seven bits, the part as a whole multiplies the sum by a power of the prime and adds a
/// constant, which is remembered. Not thread-safe, not even when const.
class DumpPart {
 public:
  explicit DumpPart(std::string text);

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Returns fnv1a_32(text(), before).
  [[nodiscard]] std::uint32_t sum_after(std::uint32_t before) const;

 private:
  static constexpr std::size_t kLowest = 128;

  std::string text_;
  bool is_ascii_;
  std::uint32_t power_ = 1;
  mutable std::array<std::uint32_t, kLowest> added_{};
  mutable std::bitset<kLowest> is_known_;
};

/// Builds the text that the kubelet hashes: a Go value printed with the types of its fields:
///   (*state.T){Name:(string)x Map:(map[string]string)map[a:1 b:2]}
/// The caller walks the value; types are printed for fields only, not for elements. Has the same
/// functions as JsonWriter, so that one walk can write both.
class GoDump : public ValueText {
 public:
  static constexpr bool kIsJson = false;

  GoDump() : ValueText(' ') {}

  /// Writes "(type)" before a value that is not a field.
  void type(std::string_view name) {
    text_ += '(';
    text_ += name;
    text_ += ')';
  }

  void open_struct() { open("{"); }
  void close_struct() { close('}'); }
  void open_map() { open("map["); }
  void close_map() { close(']'); }
  void open_array() { open("["); }
  void close_array() { close(']'); }

  /// Begins a field of a struct; its value must follow. Only JsonWriter uses `json_name`.
  void field(std::string_view go_name, std::string_view /*json_name*/, std::string_view go_type) {
    key(go_name);
    if (!go_type.empty()) type(go_type);
  }
  /// Begins a key of a map; its value must follow.
  void key(std::string_view name) {
    separate();
    text_ += name;
    text_ += ':';
  }
  void key(std::int64_t number);
  /// Writes "<*>" before the value of a pointer.
  void pointer() { text_ += "<*>"; }

  /// Writes elements of a map, with the separator before each that is not the first.
  void part(const DumpPart& part) {
    skip_separator();
    sum_ = part.sum_after(sum());
    text_.clear();
  }

  void string(std::string_view value) { text_ += value; }
  /// Writes a nil map, slice or pointer.
  void null() { text_ += "<nil>"; }

  /// Returns the checksum.
  [[nodiscard]] std::uint32_t sum() const { return fnv1a_32(text_, sum_); }

 private:
  std::uint32_t sum_ = kFnvOfNothing;  ///< of what is before text_
};

/// Returns the checksum of a dump.
[[nodiscard]] inline std::uint32_t checksum(const GoDump& dump) { return dump.sum(); }

}  // namespace pinfold::checkpoint
