#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pinfold/checkpoint/go_dump.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/types/container_id.hpp"

/// Writes parts of Go values to a GoDump or a JsonWriter. An optional is a value that can be nil in
/// Go: a map, a slice or a pointer.
namespace pinfold::checkpoint {

template <class T>
const T* get(const T& value) {
  return &value;
}
template <class T>
const T* get(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

/// Returns true for an empty field tagged "omitempty": it is omitted from the file, but not from
/// the dump.
template <class Out, class Container>
bool omitted(const Container& field) {
  const auto* const values = get(field);
  return Out::kIsJson && (values == nullptr || values->empty());
}

inline std::string_view key_text(std::string_view key) { return key; }
inline std::string_view key_text(const PodUid& pod) { return pod.value; }

template <class Out, class Map, class PutValue>
void put_map(Out& out, const Map& map, const PutValue& put_value) {
  const auto* const values = get(map);
  if (values == nullptr) return out.null();
  out.open_map();
  for (const auto& [key, value] : *values) {
    out.key(key_text(key));
    put_value(value);
  }
  out.close_map();
}

template <class Out, class Array, class PutValue>
void put_array(Out& out, const Array& array, const PutValue& put_value) {
  const auto* const values = get(array);
  if (values == nullptr) return out.null();
  out.open_array();
  for (const auto& value : *values) {
    out.element();
    put_value(value);
  }
  out.close_array();
}

template <class Out>
void put_checksum(Out& out, std::uint64_t checksum) {
  out.field("Checksum", "checksum", "checksum.Checksum");
  out.number(checksum);
}

/// Returns the checksum of a single string.
inline std::uint32_t string_checksum(std::string_view text) {
  GoDump dump;
  dump.type("string");
  dump.string(text);
  return checksum(dump);
}

/// Writes the two fields that CPU V4 and memory V3 added.
inline void put_data(JsonWriter& out, std::string_view data) {
  out.field("Data", "data", "string");
  out.string(data);
  out.field("DataChecksum", "dataChecksum", "checksum.Checksum");
  out.number(std::uint64_t{string_checksum(data)});
}

}  // namespace pinfold::checkpoint
