#include "yaml.hpp"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "document_builder.hpp"
#include "parser_words.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

constexpr std::string_view kDigits = "0123456789";
/// Limit on the bytes that anchors and aliases may copy within one stream.
constexpr std::size_t kMaxCopied = 1U << 20U;
constexpr std::size_t kNodeCost = 16;
/// Limit on the lines that begin with '%': libyaml compares each with all others.
constexpr std::ptrdiff_t kMaxDirectives = 100;
constexpr const char* kKeyRule = "expected a key that is a plain or quoted string";

/// The approximate size in bytes of a copy of a value, and its nesting depth.
struct Extent {
  std::size_t size = kNodeCost;
  std::size_t depth = 0;
};
Extent measure(const json& value) {
  Extent extent;
  if (const auto* text = value.get_ptr<const std::string*>()) extent.size += text->size();
  if (!value.is_structured()) return extent;
  for (const auto& item : value.items()) {
    const Extent inner = measure(item.value());
    extent.size += item.key().size() + inner.size;
    extent.depth = std::max(extent.depth, inner.depth);
  }
  ++extent.depth;
  return extent;
}

template <class T>
std::optional<json> number(std::string_view digits, int base) {
  T value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return json(value);
}

/// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_core_float(std::string_view text) {
  const auto skip = [&](std::string_view set, std::size_t most) {
    const auto length = std::min({text.find_first_not_of(set), text.size(), most});
    text.remove_prefix(length);
    return length;
  };
  constexpr auto kAny = std::string_view::npos;
  skip("+-", 1);
  const auto whole = skip(kDigits, kAny);
  const auto fraction = skip(".", 1) == 1 ? skip(kDigits, kAny) : 0;
  if (whole + fraction == 0) return false;
  if (skip("eE", 1) == 1) {
    skip("+-", 1);
    if (skip(kDigits, kAny) == 0) return false;
  }
  return text.empty();
}

/// Reads a plain scalar by the core schema of YAML 1.2. Infinities and NaN remain strings because
/// JSON has neither.
json plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return nullptr;
  }
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  std::string_view digits = text;
  std::optional<json> value;
  if (digits.starts_with("0x") || digits.starts_with("0o")) {
    const bool hexadecimal = digits[1] == 'x';
    value = number<std::uint64_t>(digits.substr(2), hexadecimal ? 16 : 8);
    return value ? *value : json(text);
  }
  if (!is_core_float(digits)) return text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  value = number<std::int64_t>(digits, 10);
  if (!value) value = number<std::uint64_t>(digits, 10);
  if (value) return *value;
  double real = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
  return error == std::errc{} ? json(real) : json(text);
}

/// Reads a whole number as Go does, without underscores: 0x1F, 0o17, 017, 0b11.
std::optional<json> go_integer(std::string_view digits) {
  const bool is_negative = digits.starts_with('-');
  if (is_negative || digits.starts_with('+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char kind = static_cast<char>(digits[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    digits.remove_prefix(kind == 'x' || kind == 'b' || kind == 'o' ? 2 : 1);
  }
  if (digits.empty() || digits.front() == '-') return std::nullopt;
  auto magnitude = number<std::uint64_t>(digits, base);
  if (!magnitude || !is_negative) return magnitude;
  const auto value = magnitude->get<std::uint64_t>();
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value > kMost) return std::nullopt;
  return json(-static_cast<std::int64_t>(value));
}

/// Reads a plain scalar as the YAML library of Kubernetes does: yes, no, on and off are booleans,
/// digits may have underscores, and 110.0 is a whole number.
json go_scalar(const std::string& text) {
  constexpr std::array<std::string_view, 8> kTrue = {"y",   "Y",  "yes", "Yes",
                                                     "YES", "on", "On",  "ON"};
  constexpr std::array<std::string_view, 8> kFalse = {"n",  "N",   "no",  "No",
                                                      "NO", "off", "Off", "OFF"};
  if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) return false;
  const bool is_number = !text.empty() && (kDigits.find(text[0]) != std::string_view::npos ||
                                           text[0] == '-' || text[0] == '+' || text[0] == '.');
  if (!is_number) return plain_scalar(text);
  std::string plain = text;
  std::erase(plain, '_');
  if (auto whole = go_integer(plain)) return *std::move(whole);
  if (!is_core_float(plain)) return text;
  json value = plain_scalar(plain);
  constexpr double kMostExact = 1e15;
  const bool is_whole = value.is_number_float() && std::abs(value.get<double>()) < kMostExact &&
                        std::trunc(value.get<double>()) == value.get<double>();
  if (is_whole) return static_cast<std::int64_t>(value.get<double>());
  return value.is_string() ? json(text) : value;
}

tl::unexpected<Error> fail_at(const yaml_mark_t& mark, std::string_view problem) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("line {}, column {}: {}", mark.line + 1,
                                                       mark.column + 1, printable(problem)));
}

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

/// An event of libyaml.
class YamlEvent {
 public:
  YamlEvent() = default;
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent(YamlEvent&&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;
  YamlEvent& operator=(YamlEvent&&) = delete;
  ~YamlEvent() { yaml_event_delete(&event_); }
  [[nodiscard]] yaml_event_t& operator*() { return event_; }

 private:
  yaml_event_t event_{};
};

/// libyaml's parser. The YAML library of Kubernetes is a translation of it into Go.
class Parser {
 public:
  /// `text` must outlive this.
  explicit Parser(std::string_view text) : text_(text) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  Parser(const Parser&) = delete;
  Parser(Parser&&) = delete;
  Parser& operator=(const Parser&) = delete;
  Parser& operator=(Parser&&) = delete;
  ~Parser() { yaml_parser_delete(&parser_); }

  Result<void> next(yaml_event_t& event) {
    if (yaml_parser_parse(&parser_, &event) != 0) return {};
    if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    if (parser_.error == YAML_READER_ERROR) {
      return fail_at(mark_of_byte(parser_.problem_offset), yaml_problem(parser_.problem));
    }
    return describe();
  }

 private:
  /// Returns the rest of the line at a mark.
  [[nodiscard]] std::string_view rest_of_line(const yaml_mark_t& mark) const {
    std::string_view rest = line_at(mark);
    for (std::size_t i = 0; i < mark.column && !rest.empty(); ++i) {
      rest.remove_prefix(1);
      while (!rest.empty() && (static_cast<unsigned char>(rest[0]) & 0xc0U) == 0x80U) {
        rest.remove_prefix(1);
      }
    }
    return rest;
  }
  [[nodiscard]] std::string_view line_at(const yaml_mark_t& mark) const {
    std::string_view rest = text_;
    for (std::size_t line = 0; line < mark.line && !rest.empty(); ++line) {
      rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    }
    return rest.substr(0, rest.find('\n'));
  }
  [[nodiscard]] yaml_mark_t mark_of_byte(std::size_t offset) const {
    const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
    yaml_mark_t mark{};
    mark.line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    mark.column = before.size() - (before.rfind('\n') + 1);  // npos + 1 is 0
    return mark;
  }

  /// Describes the parser's error in our words.
  [[nodiscard]] tl::unexpected<Error> describe() const {
    const std::string_view problem = text_of_problem(parser_.problem);
    const std::string_view context = text_of_problem(parser_.context);
    const std::string_view line = line_at(parser_.problem_mark);
    const std::string_view indentation = line.substr(0, line.find_first_not_of(" \t"));
    if (indentation.find('\t') != std::string_view::npos) {
      return fail_at(parser_.problem_mark, yaml_problem("a tab"));
    }
    if (problem == "could not find expected ':'") {
      std::string_view key = rest_of_line(parser_.context_mark);
      key = key.substr(0, std::min(key.find(" #"), kMostShown));
      key = key.substr(0, key.find_last_not_of(" \t\r") + 1);
      return fail_at(parser_.context_mark, fmt::format("key '{}': expected ':' after it", key));
    }
    const bool is_in_quotes = context == "while scanning a quoted scalar" &&
                              problem.find("unexpected") != std::string_view::npos;
    return fail_at(is_in_quotes ? parser_.context_mark : parser_.problem_mark,
                   yaml_problem(fmt::format("{} {}", problem, context)));
  }
  static std::string_view text_of_problem(const char* text) { return text == nullptr ? "" : text; }

  static constexpr std::size_t kMostShown = 60;

  std::string_view text_;
  yaml_parser_t parser_{};
};

// The destructor of nlohmann's JSON allocates. NOLINTNEXTLINE(bugprone-exception-escape)
class YamlReader {
 public:
  explicit YamlReader(DocumentRules rules)
      : builder_(rules == DocumentRules::kKubeletLenient),
        resolve_(rules == DocumentRules::kCore ? plain_scalar : go_scalar) {}
  [[nodiscard]] json take() {
    anchors_.clear();
    return builder_.take();
  }

  Result<void> read(const yaml_event_t& event) {
    const yaml_mark_t& mark = event.start_mark;
    switch (event.type) {
      case YAML_ALIAS_EVENT:
        return read_alias(mark, text_of(event.data.alias.anchor));
      case YAML_SCALAR_EVENT:
        return read_scalar(event);
      case YAML_SEQUENCE_START_EVENT:
        return open(mark, json::array(), text_of(event.data.sequence_start.anchor),
                    State::kElement);
      case YAML_MAPPING_START_EVENT:
        return open(mark, json::object(), text_of(event.data.mapping_start.anchor), State::kKey);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return close();
      default:
        return {};
    }
  }

 private:
  enum class State { kElement, kKey, kValue };

  [[nodiscard]] bool expects_key() const { return !state_.empty() && state_.back() == State::kKey; }

  Result<void> check(const yaml_mark_t& mark, bool accepted) {
    if (accepted) return {};
    return fail_at(mark, builder_.problem());
  }

  Result<void> read_key(const yaml_mark_t& mark, std::string text, bool is_plain) {
    const bool is_merge = is_plain && text == "<<";
    if (is_merge) builder_.merge_key();
    if (is_plain && plain_scalar(text).is_null()) return fail_at(mark, kKeyRule);
    PINFOLD_TRY(check(mark, is_merge || builder_.key(std::move(text))));
    state_.back() = State::kValue;
    return {};
  }

  Result<void> read_scalar(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    const yaml_mark_t& mark = event.start_mark;
    std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    const std::string_view tag = text_of(scalar.tag);
    const bool is_plain = scalar.style == YAML_PLAIN_SCALAR_STYLE && tag.empty();
    if (expects_key()) return read_key(mark, std::move(text), is_plain);
    const std::string_view anchor = text_of(scalar.anchor);
    if (tag == "!" || tag == YAML_STR_TAG || (tag.empty() && !is_plain)) {
      return finish(mark, std::move(text), anchor);
    }
    if (tag.empty() || tag.starts_with("tag:yaml.org,2002:")) {
      return finish(mark, resolve_(text), anchor);
    }
    return fail_at(mark, fmt::format("tag '{}': expected one of the core schema", tag));
  }

  Result<void> read_alias(const yaml_mark_t& mark, std::string_view anchor) {
    const bool is_open = std::any_of(open_anchors_.begin(), open_anchors_.end(),
                                     [&](const OpenAnchor& one) { return one.anchor == anchor; });
    if (is_open) return fail_at(mark, "alias to an anchor that is not complete");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      return fail_at(mark, "an alias whose anchor is not defined before it");
    }
    if (expects_key()) return fail_at(mark, kKeyRule);
    PINFOLD_TRY(pay(mark, found->second));
    return finish(mark, found->second, "");
  }

  Result<void> pay(const yaml_mark_t& mark, const json& value) {
    const Extent extent = measure(value);
    PINFOLD_TRY(check(mark, state_.size() + extent.depth <= DocumentBuilder::kMaxDepth ||
                                builder_.refuse(DocumentBuilder::kTooDeep)));
    copied_ += extent.size;
    if (copied_ > kMaxCopied) return fail_at(mark, "anchors and aliases repeat more than 1 MiB");
    return {};
  }
  Result<void> open(const yaml_mark_t& mark, json container, std::string_view anchor, State state) {
    if (expects_key()) return fail_at(mark, kKeyRule);
    PINFOLD_TRY(check(mark, builder_.begin(std::move(container))));
    state_.push_back(state);
    open_anchors_.push_back({std::string(anchor), mark});
    return {};
  }
  Result<void> close() {
    const OpenAnchor opened = std::move(open_anchors_.back());
    open_anchors_.pop_back();
    state_.pop_back();
    PINFOLD_TRY(remember(opened.mark, builder_.innermost(), opened.anchor));
    PINFOLD_TRY(check(opened.mark, builder_.end()));
    end_value();
    return {};
  }
  Result<void> finish(const yaml_mark_t& mark, json value, std::string_view anchor) {
    PINFOLD_TRY(remember(mark, value, anchor));
    PINFOLD_TRY(check(mark, builder_.value(std::move(value))));
    end_value();
    return {};
  }
  void end_value() {
    if (!state_.empty() && state_.back() == State::kValue) state_.back() = State::kKey;
  }
  Result<void> remember(const yaml_mark_t& mark, const json& value, std::string_view anchor) {
    if (anchor.empty()) return {};
    PINFOLD_TRY(pay(mark, value));
    anchors_.insert_or_assign(std::string(anchor), value);
    return {};
  }

  struct OpenAnchor {
    std::string anchor;  ///< "": none
    yaml_mark_t mark;
  };
  DocumentBuilder builder_;
  json (*resolve_)(const std::string& text);
  std::vector<State> state_;
  std::vector<OpenAnchor> open_anchors_;  // parallel to state_
  std::map<std::string, json, std::less<>> anchors_;
  std::size_t copied_ = 0;
};

/// Counts the lines that begin with '%'. Some characters beyond ASCII end lines, too; all are taken
/// to do so.
std::ptrdiff_t count_directives(std::string_view text) {
  char before = '\n';
  return std::count_if(text.begin(), text.end(), [&](char c) {
    const char last = std::exchange(before, c);
    const bool begins_line =
        last == '\n' || last == '\r' || static_cast<unsigned char>(last) > 0x7f;
    return c == '%' && begins_line;
  });
}

}  // namespace

Result<std::vector<json>> parse_yaml(std::string_view text, DocumentRules rules) {
  if (count_directives(text) > kMaxDirectives) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("more than {} lines that begin with '%'", kMaxDirectives));
  }
  std::vector<json> documents;
  if (text.empty()) return documents;  // libyaml does not accept a null pointer
  Parser parser(text);
  YamlReader reader(rules);
  for (;;) {
    YamlEvent event;
    PINFOLD_TRY(parser.next(*event));
    if ((*event).type == YAML_STREAM_END_EVENT) return documents;
    PINFOLD_TRY(reader.read(*event));
    if ((*event).type != YAML_DOCUMENT_END_EVENT) continue;
    json document = reader.take();
    if (!document.is_null()) documents.push_back(std::move(document));
  }
}

}  // namespace pinfold
