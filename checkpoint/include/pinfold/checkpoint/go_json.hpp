#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/checkpoint/value_text.hpp"

/// JSON with the bytes, rules and error texts of Go's encoding/json. A general JSON library cannot
/// replace it: Go accepts invalid UTF-8 and lone surrogates, matches keys case-insensitively,
/// merges the maps of duplicate keys, and its error texts are part of the kubelet's messages.
namespace pinfold::checkpoint {

/// Writes the output of json.Marshal: compact, with <, >, & escaped. Same functions as GoDump.
class JsonWriter : public ValueText {
 public:
  static constexpr bool kIsJson = true;

  JsonWriter() : ValueText(',') {}

  void type(std::string_view /*name*/) {}

  void open_struct() { open("{"); }
  void close_struct() { close('}'); }
  void open_map() { open("{"); }
  void close_map() { close('}'); }
  void open_array() { open("["); }
  void close_array() { close(']'); }

  void field(std::string_view /*go_name*/, std::string_view json_name,
             std::string_view /*go_type*/) {
    key(json_name);
  }
  void key(std::string_view name) {
    separate();
    string(name);
    text_ += ':';
  }
  void key(std::int64_t number);
  void pointer() {}

  void string(std::string_view value);
  void null() { text_ += "null"; }
};

/// Returns the first syntax error in a text in Go's words, for example "unexpected end of JSON
/// input"; nullopt if the text is one JSON value with at most 10000 levels.
[[nodiscard]] std::optional<std::string> json_syntax_error(std::string_view text);

/// Reads values of a known structure from a text without syntax errors. Like Go, it does not stop
/// at a value of the wrong type but records the first one (`error`) and reads on. Skipped values
/// need no memory, and nothing recurses.
class JsonReader {
 public:
  /// Domain: json_syntax_error(text) is nullopt; `text` outlives the reader.
  explicit JsonReader(std::string_view text) : text_(text) {}

  /// Returns "json: cannot unmarshal string into Go struct field T.a.b of type int", or "".
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Consumes a null if it is next; returns true if it was.
  bool null();
  /// Read the next value; `out` is unchanged for a null and for a value of another type.
  void read(std::string& out, std::string_view go_type = "string");
  void read(std::uint64_t& out, std::string_view go_type = "uint64");
  void read(std::int64_t& out, std::string_view go_type = "int");
  void skip();
  /// Skips the next value and returns its text.
  [[nodiscard]] std::string_view raw();

  /// Returns true if Go accepts `key` for the field `name`.
  [[nodiscard]] static bool same_field(std::string_view key, std::string_view name);

  /// Reads the next value with a separate reader, as Go does for a type with UnmarshalJSON. The
  /// caller's errors name the struct and the fields around the value.
  [[nodiscard]] JsonReader nested();

  /// One field of a struct: calls `read` with the reader at its value.
  template <class Fn>
  struct Field {
    std::string_view name;
    Fn read;
    std::string_view embedded = {};  ///< the embedded struct with the field; "": none
  };
  template <class Fn>
  Field(std::string_view, Fn) -> Field<Fn>;

  /// Reads an object as a struct: keys match case-insensitively, unknown ones are skipped.
  /// `go_type` is "package.Type".
  template <class... Fns>
  void structure(std::string_view go_type, const Field<Fns>&... fields) {
    if (null() || !enter('{', go_type)) return;
    std::string key;
    while (next_key(key)) {
      const bool known = (read_field(go_type, key, fields) || ...);
      if (!known) skip();
    }
  }

  /// Reads an object as a map: calls element(key) with the reader at the value. A null must have
  /// been consumed before. Returns false if the value is not an object.
  template <class Fn>
  bool map(std::string_view go_type, const Fn& element) {
    if (!enter('{', go_type)) return false;
    std::string key;
    while (next_key(key)) element(key);
    return true;
  }

  /// Reads an array: calls element() with the reader at each value. Otherwise like map.
  template <class Fn>
  bool array(std::string_view go_type, const Fn& element) {
    if (!enter('[', go_type)) return false;
    while (next_element()) element();
    return true;
  }

  /// Records "cannot unmarshal WHAT into ... of type GO_TYPE" unless there was an earlier error.
  void mismatch(std::string_view what, std::string_view go_type);

 private:
  template <class Fn>
  bool read_field(std::string_view go_type, std::string_view key, const Field<Fn>& field) {
    if (!same_field(key, field.name)) return false;
    const std::string_view outer = struct_;
    const std::size_t depth = path_.size();
    if (!is_nested_) struct_ = go_type.substr(go_type.find('.') + 1);
    if (!field.embedded.empty()) path_.push_back(field.embedded);
    path_.push_back(field.name);
    field.read();
    path_.resize(depth);
    struct_ = outer;
    return true;
  }

  /// Skips white space and returns the next character.
  char peek();
  bool enter(char bracket, std::string_view go_type);
  bool next_key(std::string& key);
  bool next_element();
  void wrong_type(std::string_view go_type);
  [[nodiscard]] std::string_view number_token();
  std::string unquote();
  void skip_string();

  std::string_view text_;
  std::size_t pos_ = 0;
  std::string error_;
  std::string_view struct_;             ///< the innermost Go struct
  std::vector<std::string_view> path_;  ///< fields, from the outermost struct
  bool is_nested_ = false;              ///< see nested()
};

}  // namespace pinfold::checkpoint
