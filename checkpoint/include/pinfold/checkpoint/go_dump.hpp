#pragma once

#include <cstdint>
#include <string_view>

#include "pinfold/checkpoint/value_text.hpp"

namespace pinfold::checkpoint {

/// Computes FNV-1a, 32 bit.
[[nodiscard]] std::uint32_t fnv1a_32(std::string_view bytes);

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

  void string(std::string_view value) { text_ += value; }
  /// Writes a nil map, slice or pointer.
  void null() { text_ += "<nil>"; }
};

/// Returns the checksum of a dump.
[[nodiscard]] inline std::uint32_t checksum(const GoDump& dump) { return fnv1a_32(dump.text()); }

}  // namespace pinfold::checkpoint
