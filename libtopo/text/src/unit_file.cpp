#include "pinfold/text/unit_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace pinfold {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

bool is_space(char c) { return kSpaces.find(c) != std::string_view::npos; }
bool is_line_end(char c) { return c == '\n' || c == '\r'; }
bool begins_comment(char c) { return c == '#' || c == ';'; }

/// Cuts a line off `rest`. "\n", "\r" and "\r\n" end it.
std::string_view cut_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find_first_of("\n\r"), rest.size());
  const std::string_view line = rest.substr(0, end);
  const std::size_t after = rest.substr(end).starts_with("\r\n") ? end + 2 : end + 1;
  rest.remove_prefix(std::min(rest.size(), after));
  return line;
}

bool is_continued(std::string_view line) {
  const std::size_t kept = line.find_last_not_of('\\') + 1;  // 0 for backslashes only
  return (line.size() - kept) % 2 == 1;
}

/// Cuts the next line and its continuation lines off `rest`, without the comments among them.
std::string cut_logical_line(std::string_view& rest) {
  std::string line;
  while (!rest.empty()) {
    std::string_view part = cut_line(rest);
    part.remove_prefix(std::min(part.find_first_not_of(kSpaces), part.size()));
    if (!part.empty() && begins_comment(part.front())) continue;
    line += part;
    if (!is_continued(line)) break;
    line.back() = ' ';
  }
  return line;
}

/// Reads an environment file character by character.
class EnvironmentReader {
 public:
  void read(char c) {
    switch (state_) {
      case State::kBeforeKey:
        if (!is_space(c)) begin_key(c);
        break;
      case State::kComment:
        if (is_line_end(c)) state_ = State::kBeforeKey;
        break;
      case State::kKey:
        read_key(c);
        break;
      case State::kBeforeValue:
      case State::kValue:
        read_value(c);
        break;
      case State::kEscape:
        if (!is_line_end(c)) add(c);
        state_ = State::kValue;
        break;
      case State::kSingleQuotes:
        c == '\'' ? end_quotes() : add(c);
        break;
      case State::kDoubleQuotes:
        read_quoted(c);
        break;
      case State::kQuotedEscape:
        read_quoted_escape(c);
        break;
    }
  }
  std::vector<std::pair<std::string, std::string>> finish() && {
    const bool has_value = state_ != State::kBeforeKey && state_ != State::kComment;
    if (has_value && state_ != State::kKey) end_value();
    return std::move(assignments_);
  }

 private:
  enum class State {
    kBeforeKey,
    kComment,
    kKey,
    kBeforeValue,
    kValue,
    kEscape,
    kSingleQuotes,
    kDoubleQuotes,
    kQuotedEscape,
  };

  void begin_key(char c) {
    state_ = begins_comment(c) ? State::kComment : State::kKey;
    key_ = c;
  }
  void read_key(char c) {
    if (is_line_end(c)) {
      state_ = State::kBeforeKey;
    } else if (c == '=') {
      state_ = State::kBeforeValue;
    } else {
      key_ += c;
    }
  }
  void read_value(char c) {
    const bool is_before = state_ == State::kBeforeValue;
    if (is_line_end(c)) {
      end_value();
    } else if (c == '\\') {
      state_ = State::kEscape;
    } else if (is_before && (c == '\'' || c == '"')) {
      state_ = c == '"' ? State::kDoubleQuotes : State::kSingleQuotes;
    } else if (!is_before || !is_space(c)) {
      state_ = State::kValue;
      value_ += c;
      if (!is_space(c)) kept_ = value_.size();
    }
  }
  void read_quoted(char c) {
    if (c == '\\') {
      state_ = State::kQuotedEscape;
    } else {
      c == '"' ? end_quotes() : add(c);
    }
  }
  void read_quoted_escape(char c) {
    state_ = State::kDoubleQuotes;
    const bool is_escape = std::string_view("\"\\`$").find(c) != std::string_view::npos;
    if (!is_escape && c != '\n') add('\\');
    if (c != '\n') add(c);
  }
  void end_quotes() { state_ = State::kBeforeValue; }
  void add(char c) {
    value_ += c;
    kept_ = value_.size();
  }
  /// White space after the value does not belong to it.
  void end_value() {
    assignments_.emplace_back(trimmed(key_), value_.substr(0, kept_));
    value_.clear();
    kept_ = 0;
    state_ = State::kBeforeKey;
  }

  State state_ = State::kBeforeKey;
  std::string key_;
  std::string value_;
  std::size_t kept_ = 0;  ///< so much of the value is not white space at its end
  std::vector<std::pair<std::string, std::string>> assignments_;
};

/// Cuts a number of `digits` digits off `text`; nullopt if it has others.
std::optional<char> cut_code(std::string_view& text, std::size_t digits, int base) {
  unsigned code = 0;
  const char* const end = text.data() + std::min(digits, text.size());
  const auto [last, error] = std::from_chars(text.data(), end, code, base);
  if (text.size() < digits || error != std::errc() || last != end) return std::nullopt;
  text.remove_prefix(digits);
  return static_cast<char>(code);
}

/// Cuts an escape after its backslash off `text`; an unknown one keeps the backslash.
std::string cut_escape(std::string_view& text) {
  constexpr std::string_view kNames = "abfnrtvs\\\"'";
  constexpr std::string_view kMeant = "\a\b\f\n\r\t\v \\\"'";
  const char name = text.front();
  std::string_view rest = text.substr(1);
  const auto code = name == 'x' ? cut_code(rest, 2, 16) : std::nullopt;
  if (code) {
    text = rest;
    return {*code};
  }
  if (const auto octal = cut_code(text, 3, 8)) return {*octal};
  text.remove_prefix(1);
  const std::size_t known = kNames.find(name);
  return known == std::string_view::npos ? std::string{'\\', name} : std::string{kMeant[known]};
}

struct Specifier {
  char name;
  std::string_view value;
};
/// For units of the system.
constexpr std::array kSpecifiers = {
    Specifier{'%', "%"},        Specifier{'E', "/etc"},       Specifier{'t', "/run"},
    Specifier{'S', "/var/lib"}, Specifier{'C', "/var/cache"}, Specifier{'L', "/var/log"},
    Specifier{'h', "/root"},    Specifier{'u', "root"},       Specifier{'U', "0"},
    Specifier{'g', "root"},     Specifier{'G', "0"},          Specifier{'T', "/tmp"},
    Specifier{'V', "/var/tmp"}, Specifier{'s', "/bin/sh"},
};

/// Undoes the escapes in a part of a unit's name: "-" is a slash.
std::string unescaped(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const char c = name.front();
    name.remove_prefix(1);
    if (c == '\\' && !name.empty()) {
      out += cut_escape(name);
    } else {
      out += c == '-' ? '/' : c;
    }
  }
  return out;
}

/// Returns a part of a unit's name, "PREFIX@INSTANCE.service".
std::optional<std::string> part_of_unit(char name, std::string_view unit) {
  if (unit.empty()) return std::nullopt;
  const std::string_view stem = unit.substr(0, unit.rfind('.'));
  const std::string_view prefix = stem.substr(0, stem.find('@'));
  const std::string_view instance = stem.substr(std::min(prefix.size() + 1, stem.size()));
  const std::string_view last = prefix.substr(prefix.rfind('-') + 1);
  switch (name) {
    case 'n':
      return std::string(unit);
    case 'N':
      return std::string(stem);
    case 'p':
      return std::string(prefix);
    case 'P':
      return unescaped(prefix);
    case 'i':
      return std::string(instance);
    case 'I':
      return unescaped(instance);
    case 'j':
      return std::string(last);
    case 'J':
      return unescaped(last);
    default:
      return std::nullopt;
  }
}

std::optional<std::string> value_of_specifier(char name, std::string_view unit) {
  const auto* const found = std::find_if(kSpecifiers.begin(), kSpecifiers.end(),
                                         [&](const Specifier& one) { return one.name == name; });
  return found == kSpecifiers.end() ? part_of_unit(name, unit) : std::string(found->value);
}

std::string_view value_of_variable(std::string_view name, const Variables& variables) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string_view() : std::string_view(found->second);
}

/// Replaces "${NAME}" and "$$".
std::string expand_word(std::string_view word, const Variables& variables) {
  const std::size_t closed = word.rfind('}') + 1;  // 0: nothing is
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (i < closed && word.substr(i).starts_with("${")) {
      const std::size_t close = word.find('}', i);
      out += value_of_variable(word.substr(i + 2, close - i - 2), variables);
      i = close;
    } else {
      if (word.substr(i).starts_with("$$")) ++i;
      out += word[i];
    }
  }
  return out;
}

}  // namespace

std::vector<UnitSetting> parse_unit_file(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<UnitSetting> settings;
  std::string section;
  while (!text.empty()) {
    const std::string logical = cut_logical_line(text);
    const std::string_view line = trimmed(logical);
    const std::size_t equals = line.find('=');
    if (line.starts_with('[') && line.ends_with(']')) {
      section = line.substr(1, line.size() - 2);
    } else if (!section.empty() && equals != std::string_view::npos && equals > 0) {
      settings.push_back({section, std::string(trimmed(line.substr(0, equals))),
                          std::string(trimmed(line.substr(equals + 1)))});
    }
  }
  return settings;
}

std::vector<std::pair<std::string, std::string>> parse_environment_file(std::string_view text) {
  EnvironmentReader reader;
  for (const char c : text) reader.read(c);
  return std::move(reader).finish();
}

std::vector<std::string> split_unit_words(std::string_view text) {
  std::vector<std::string> words;
  char quote = 0;
  bool is_open = false;  // a word has begun, maybe an empty one in quotes
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (quote == 0 && is_space(c)) {
      is_open = false;
      continue;
    }
    if (!is_open) words.emplace_back();
    is_open = true;
    if (c == '\\' && !text.empty()) {
      words.back() += cut_escape(text);
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string expand_specifiers(std::string_view text, std::string_view unit) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto value = text[i] == '%' && i + 1 < text.size() ? value_of_specifier(text[i + 1], unit)
                                                             : std::nullopt;
    out += value.value_or(std::string(text.substr(i, 1)));
    if (value) ++i;
  }
  return out;
}

std::vector<std::string> expand_arguments(const std::vector<std::string>& words,
                                          const Variables& variables) {
  std::vector<std::string> expanded;
  for (const std::string& word : words) {
    const bool is_name = word.size() > 1 && word[0] == '$' && word[1] != '{' && word[1] != '$';
    if (!is_name) {
      expanded.push_back(expand_word(word, variables));
      continue;
    }
    const std::string_view value = value_of_variable(std::string_view(word).substr(1), variables);
    for (std::string& part : split_words(value)) expanded.push_back(std::move(part));
  }
  return expanded;
}

}  // namespace pinfold
