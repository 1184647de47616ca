#include "pinfold/text/field.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace pinfold {

using nlohmann::json;

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  for (const char c : text.substr(0, most)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > most ? out + "..." : out;
}

std::string show(const json& value) {
  if (const auto* text = value.get_ptr<const std::string*>()) {
    return fmt::format("'{}'", printable(*text));
  }
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return printable(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

tl::unexpected<Error> fail_field(std::string_view path, const json& value,
                                 std::string_view expectation) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {}: {}", printable(path), show(value), expectation));
}

const json* member(const json& object, std::string_view key) {
  const auto found = object.find(std::string(key));
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string join(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

Result<std::string> scalar_text(std::string_view path, const json& value) {
  if (const auto* text = value.get_ptr<const std::string*>()) return *text;
  if (value.is_number() || value.is_boolean()) return value.dump();
  return fail_field(path, value, "expected a string");
}

}  // namespace pinfold
