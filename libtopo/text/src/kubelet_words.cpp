#include "pinfold/text/kubelet_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace pinfold {
namespace {

constexpr std::string_view kOriginal = "(kubelet: ";

/// One of Go's texts within an error: how much of it, and the same in plain words.
struct Translated {
  std::size_t size = 0;
  std::string words;
};
using Translation = std::optional<Translated>;

bool is_word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Returns the length of the Go type at the beginning of a text: "map[string]string", "[]uint64".
std::size_t type_size(std::string_view text) {
  std::size_t size = 0;
  const auto is_of_type = [](char c) {
    return is_word_letter(c) || std::string_view(".[]*").find(c) != std::string_view::npos;
  };
  while (size < text.size() && is_of_type(text[size])) ++size;
  return size;
}

/// Returns the length of the quoted text at the beginning; npos if there is none.
std::size_t quoted_size(std::string_view text) {
  if (text.empty() || text[0] != '"') return std::string_view::npos;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

std::string_view json_type(std::string_view go_type) {
  if (go_type == "string") return "a text in quotes";
  // A file's checksum has a type of its own: "checksum.Checksum".
  if (go_type.starts_with("uint") || go_type.ends_with(".Checksum"))
    return "a whole number of 0 or more";
  if (go_type.starts_with("int")) return "a whole number";
  if (go_type == "bool") return "true or false";
  if (go_type.starts_with('[')) return "a list";
  return "an object {...}";
}

/// "object" -> "an object", "number 1.5" -> "the number 1.5".
std::string json_value(std::string_view value) {
  if (value.starts_with("number ")) return fmt::format("the {}", value);
  if (value == "string") return "a text";
  if (value == "array") return "a list";
  if (value == "bool") return "true or false";
  return fmt::format("{} {}", value == "object" ? "an" : "a", value);
}

/// "json: cannot unmarshal number into Go struct field CPUManagerCheckpointV1.entries of type T".
Translation wrong_json_type(std::string_view text) {
  constexpr std::string_view kHead = "json: cannot unmarshal ";
  constexpr std::string_view kInto = " into Go ";
  constexpr std::string_view kField = "struct field ";
  constexpr std::string_view kOf = " of type ";
  const std::size_t into = text.find(kInto, kHead.size());
  if (!text.starts_with(kHead) || into == std::string_view::npos) return std::nullopt;
  const std::size_t of = text.find(kOf, into);
  if (of == std::string_view::npos) return std::nullopt;
  std::string_view target = text.substr(into + kInto.size(), of - into - kInto.size());
  const std::string_view type = text.substr(of + kOf.size());
  const std::size_t size = type_size(type);
  std::string where;
  if (target.starts_with(kField)) {
    target.remove_prefix(kField.size());
    where = fmt::format("{}: ", target.substr(target.find('.') + 1));
  }
  return Translated{of + kOf.size() + size,
                    fmt::format("{}expected {}, not {}", where, json_type(type.substr(0, size)),
                                json_value(text.substr(kHead.size(), into - kHead.size())))};
}

/// What Go says of an unexpected character, and where that is.
struct JsonContext {
  std::string_view text;
  std::string_view words;
};
constexpr std::array kJsonContexts = {
    JsonContext{"looking for beginning of value", "where a value is expected"},
    JsonContext{"looking for beginning of object key string",
                "where a key in double quotes is expected"},
    JsonContext{"after object key:value pair", "where a comma or } is expected"},
    JsonContext{"after object key", "where a colon is expected"},
    JsonContext{"after array element", "where a comma or ] is expected"},
    JsonContext{"after top-level value", "after its end"},
    JsonContext{"in string literal", "within a text in quotes"},
    JsonContext{"in string escape code", "after a backslash"},
    JsonContext{"in \\u hexadecimal character escape", "after \\u, which four hex digits follow"},
    JsonContext{"in numeric literal", "in a number"},
    JsonContext{"after decimal point in numeric literal", "in a number"},
    JsonContext{"in exponent of numeric literal", "in a number"},
    JsonContext{"exceeded max depth", "at the 10000th level of nesting"},
};

/// "invalid character 'a' looking for beginning of value"; not "... in literal true (expecting
/// 'u')", which needs no context.
Translation wrong_json_character(std::string_view text) {
  constexpr std::string_view kHead = "invalid character ";
  if (!text.starts_with(kHead)) return std::nullopt;
  std::string_view rest = text.substr(kHead.size());
  const std::size_t end = rest.find("' ", 1);
  if (!rest.starts_with('\'') || end == std::string_view::npos) return std::nullopt;
  const std::string_view found = rest.substr(0, end + 1);
  rest.remove_prefix(end + 2);
  for (const JsonContext& context : kJsonContexts) {
    if (!rest.starts_with(context.text)) continue;
    return Translated{static_cast<std::size_t>(rest.data() - text.data()) + context.text.size(),
                      fmt::format("not valid JSON: {} {}", found, context.words)};
  }
  constexpr std::string_view kLiteral = "in literal ";
  if (!rest.starts_with(kLiteral)) return std::nullopt;
  const std::size_t word = std::min(rest.find(' ', kLiteral.size()), rest.size());
  const std::size_t close = std::min(rest.find(')'), rest.size() - 1);
  return Translated{static_cast<std::size_t>(rest.data() - text.data()) + close + 1,
                    fmt::format("not valid JSON: {} within the word {}", found,
                                rest.substr(kLiteral.size(), word - kLiteral.size()))};
}

/// "strconv.Atoi: parsing "0:1": invalid syntax".
Translation wrong_number(std::string_view text) {
  constexpr std::string_view kHead = "strconv.";
  constexpr std::string_view kParsing = ": parsing ";
  constexpr std::array<std::string_view, 2> kProblems = {": invalid syntax",
                                                         ": value out of range"};
  const std::size_t name = text.find(kParsing);
  if (!text.starts_with(kHead) || name == std::string_view::npos) return std::nullopt;
  const std::string_view function = text.substr(kHead.size(), name - kHead.size());
  if (!std::all_of(function.begin(), function.end(), is_word_letter)) return std::nullopt;
  const std::string_view quoted = text.substr(name + kParsing.size());
  const std::size_t size = quoted_size(quoted);
  if (size == std::string_view::npos) return std::nullopt;
  for (const std::string_view problem : kProblems) {
    if (!quoted.substr(size).starts_with(problem)) continue;
    const std::string_view is = function == "ParseBool"        ? "is neither true nor false"
                                : problem == kProblems.front() ? "is not a whole number"
                                                               : "is too large a number";
    return Translated{name + kParsing.size() + size + problem.size(),
                      fmt::format("{} {}", quoted.substr(0, size), is)};
  }
  return std::nullopt;
}

/// A text that is always the same.
struct Fixed {
  std::string_view text;
  std::string_view words;
};
constexpr std::array kFixed = {
    Fixed{"unexpected end of JSON input", "the file is empty or ends too early"},
    Fixed{"quantities must match the regular expression "
          "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
          "expected an amount such as 2, 500m or 1Gi"},
    Fixed{"unable to parse quantity's suffix",
          "expected an amount without a unit or with one of Ki Mi Gi Ti Pi Ei, m k M G T P E"},
};

Translation fixed_text(std::string_view text) {
  for (const Fixed& one : kFixed) {
    if (text.starts_with(one.text)) return Translated{one.text.size(), std::string(one.words)};
  }
  return std::nullopt;
}

/// "time: invalid duration "10sec"", "time: unknown unit "sec" in duration "10sec"".
Translation wrong_duration(std::string_view text) {
  constexpr std::array<std::string_view, 3> kHeads = {
      "time: invalid duration ", "time: missing unit in duration ", "time: unknown unit "};
  constexpr std::string_view kIn = " in duration ";
  for (const std::string_view head : kHeads) {
    if (!text.starts_with(head)) continue;
    std::size_t begin = head.size();
    std::size_t size = quoted_size(text.substr(begin));
    if (size == std::string_view::npos) return std::nullopt;
    if (head == kHeads.back()) {
      if (!text.substr(begin + size).starts_with(kIn)) return std::nullopt;
      begin += size + kIn.size();
      size = quoted_size(text.substr(begin));
      if (size == std::string_view::npos) return std::nullopt;
    }
    return Translated{begin + size, fmt::format("{} is no duration such as 100ms, 10s or 1h30m",
                                                text.substr(begin, size))};
  }
  return std::nullopt;
}

Translation translate_beginning(std::string_view text) {
  for (const auto one :
       {wrong_json_type, wrong_json_character, wrong_number, fixed_text, wrong_duration}) {
    if (auto translated = one(text)) return translated;
  }
  return std::nullopt;
}

/// Returns the length of "(kubelet: ...)" at the beginning of a text, with the parentheses in it.
std::size_t original_size(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1;
  }
  return text.size();
}

}  // namespace

std::string in_plain_words(std::string_view error) {
  std::string out;
  while (!error.empty()) {
    std::size_t size = 1;
    if (error.starts_with(kOriginal)) {
      size = original_size(error);
      out += error.substr(0, size);
    } else if (const auto found = translate_beginning(error)) {
      size = found->size;
      out += fmt::format("{} {}{})", found->words, kOriginal, error.substr(0, size));
    } else {
      out += error.front();
    }
    error.remove_prefix(size);
  }
  return out;
}

}  // namespace pinfold
