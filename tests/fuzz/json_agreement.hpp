#pragma once

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pinfold/checkpoint/go_json.hpp"

/// What Pinfold's JSON reader, which follows Go's, and nlohmann's must agree on.
namespace pinfold::fuzz {

/// Go accepts invalid UTF-8, lone surrogates and numbers beyond a double; it accepts no byte-order
/// mark.
inline void check_syntax(std::string_view bytes) {
  if (bytes.find('\0') != std::string_view::npos) return;  // end of input for nlohmann
  const bool ours = !checkpoint::json_syntax_error(bytes);
  const bool plain = nlohmann::json::accept(bytes);
  const bool has_mark = bytes.starts_with("\xef\xbb\xbf");
  if (plain && !ours && !has_mark && bytes.size() < 10000) std::abort();
  const bool ascii = std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= 0; });
  const bool exotic = bytes.find("\\u") != std::string_view::npos ||
                      bytes.find_first_of("eE") != std::string_view::npos || bytes.size() > 300;
  if (ours && !plain && ascii && !exotic) std::abort();
}

/// The object if each of its keys is in `names` and occurs once, so that Go's rules for other keys
/// do not matter.
inline std::optional<nlohmann::json> plain_object(std::string_view bytes,
                                                  std::initializer_list<std::string_view> names) {
  std::set<std::string> seen;
  bool simple = true;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event != nlohmann::json::parse_event_t::key || depth != 1) return true;
    const auto& key = value.get_ref<const std::string&>();
    simple = simple && seen.insert(key).second &&
             std::find(names.begin(), names.end(), key) != names.end();
    return true;
  };
  auto object = nlohmann::json::parse(bytes, watch, false);
  if (!simple || !object.is_object()) return std::nullopt;
  for (auto it = object.begin(); it != object.end();) {
    it = it->is_null() ? object.erase(it) : std::next(it);
  }
  return object;
}

}  // namespace pinfold::fuzz
