#include "yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "document_builder.hpp"
#include "parser_words.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/utf8.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

constexpr std::string_view kDigits = "0123456789";
/// Limit on the bytes that anchors and aliases may copy within one stream.
constexpr std::size_t kMaxCopied = 1U << 20U;
constexpr std::size_t kNodeCost = 16;
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

/// Thrown to stop yaml-cpp in the middle of a document; caught in parse_yaml.
struct YamlError {
  YAML::Mark mark;
  std::string problem;
};

// The destructor of nlohmann's JSON allocates. NOLINTNEXTLINE(bugprone-exception-escape)
class YamlReader final : public YAML::EventHandler {
 public:
  /// `text` is yaml-cpp's input and must outlive this.
  YamlReader(std::string_view text, DocumentRules rules)
      : builder_(rules == DocumentRules::kKubeletLenient),
        resolve_(rules == DocumentRules::kCore ? plain_scalar : go_scalar),
        text_(text) {}
  [[nodiscard]] json take() { return builder_.take(); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // At an unmatched ',' or ']', yaml-cpp reports empty documents forever.
    if (mark.pos == start_) throw YamlError{mark, "unexpected text"};
    // The YAML library of Kubernetes accepts this for the first document only. yaml-cpp begins
    // another one at a line that is indented less than the first.
    if (start_ >= 0 && !is_marker(mark)) {
      throw YamlError{mark,
                      "expected the indentation of the lines before it, or '---' if another "
                      "document begins here"};
    }
    start_ = mark.pos;
    anchors_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) throw YamlError{mark, kKeyRule};
    if (lacks_colon()) {
      throw YamlError{key_mark_, fmt::format("key '{}': expected ':' after it", key_)};
    }
    finish(mark, nullptr, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    // yaml-cpp turns the escapes \N and \_ into single bytes.
    if (utf8::find_invalid(text) != std::string_view::npos) {
      throw YamlError{mark, "an escape that is not supported (\\N or \\_)"};
    }
    if (expects_key()) {
      const bool is_merge = text == "<<" && tag == "?";
      if (is_merge) builder_.merge_key();
      check(mark, is_merge || builder_.key(text));
      key_ = text;
      key_mark_ = mark;
      state_.back() = State::kValue;
      return;
    }
    const std::string_view kind = tag;
    if (kind == "!" || kind == "tag:yaml.org,2002:str") {
      finish(mark, text, anchor);
    } else if (kind == "?" || kind.empty() || kind.starts_with("tag:yaml.org,2002:")) {
      finish(mark, resolve_(text), anchor);
    } else {
      throw YamlError{mark, fmt::format("tag '{}': expected one of the core schema", tag)};
    }
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw YamlError{mark, "alias to an anchor that is not complete"};
    if (expects_key()) throw YamlError{mark, kKeyRule};
    pay(mark, found->second);
    finish(mark, found->second, 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(mark, json::array(), anchor, State::kElement, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(mark, json::object(), anchor, State::kKey, style);
  }
  void OnMapEnd() override { close(); }

 private:
  enum class State { kElement, kKey, kValue };

  /// True if the line is one that begins or ends a document. Marks must be in ascending order.
  [[nodiscard]] bool is_marker(const YAML::Mark& mark) {
    for (; line_ < mark.line && line_start_ < text_.size(); ++line_) {
      line_start_ = std::min(text_.find('\n', line_start_), text_.size() - 1) + 1;
    }
    const std::string_view line = text_.substr(line_start_);
    return line.empty() || line.starts_with("---") || line.starts_with("...");
  }
  [[nodiscard]] bool expects_key() const { return !state_.empty() && state_.back() == State::kKey; }

  void check(const YAML::Mark& mark, bool accepted) {
    if (!accepted) throw YamlError{mark, builder_.problem()};
  }
  void pay(const YAML::Mark& mark, const json& value) {
    const Extent extent = measure(value);
    check(mark, state_.size() + extent.depth <= DocumentBuilder::kMaxDepth ||
                    builder_.refuse(DocumentBuilder::kTooDeep));
    copied_ += extent.size;
    if (copied_ > kMaxCopied) throw YamlError{mark, "anchors and aliases repeat more than 1 MiB"};
  }
  /// True if the last key has no ':' after it. yaml-cpp accepts a word at the end of a block as a
  /// key without a value, which would hide a truncated text. In braces and after '?', a lone key is
  /// valid.
  [[nodiscard]] bool lacks_colon() const {
    if (state_.empty() || state_.back() != State::kValue || is_flow_.back()) return false;
    const auto begin = static_cast<std::size_t>(key_mark_.pos);
    if (text_.substr(std::min(begin, text_.size()), key_.size()) != key_) return false;
    const auto before = text_.substr(0, begin).find_last_not_of(" \t");
    if (before != std::string_view::npos && text_[before] == '?') return false;
    const auto after = text_.find_first_not_of(" \t", begin + key_.size());
    return after == std::string_view::npos || text_[after] != ':';
  }
  void open(const YAML::Mark& mark, json container, YAML::anchor_t anchor, State state,
            YAML::EmitterStyle::value style) {
    if (expects_key()) throw YamlError{mark, kKeyRule};
    check(mark, builder_.begin(std::move(container)));
    state_.push_back(state);
    is_flow_.push_back(style == YAML::EmitterStyle::Flow);
    open_anchors_.push_back({anchor, mark});
  }
  void close() {
    const auto [anchor, mark] = open_anchors_.back();
    open_anchors_.pop_back();
    state_.pop_back();
    is_flow_.pop_back();
    if (anchor != 0) remember(mark, builder_.innermost(), anchor);
    check(mark, builder_.end());
    if (!state_.empty() && state_.back() == State::kValue) state_.back() = State::kKey;
  }
  void finish(const YAML::Mark& mark, json value, YAML::anchor_t anchor) {
    if (anchor != 0) remember(mark, value, anchor);
    check(mark, builder_.value(std::move(value)));
    if (!state_.empty() && state_.back() == State::kValue) state_.back() = State::kKey;
  }
  void remember(const YAML::Mark& mark, const json& value, YAML::anchor_t anchor) {
    pay(mark, value);
    anchors_.insert_or_assign(anchor, value);
  }

  struct OpenAnchor {
    YAML::anchor_t anchor;
    YAML::Mark mark;
  };
  DocumentBuilder builder_;
  json (*resolve_)(const std::string& text);
  std::string_view text_;
  std::string key_;  // the last key
  YAML::Mark key_mark_;
  std::vector<State> state_;
  std::vector<bool> is_flow_;  // parallel to state_: true in brackets or braces
  std::vector<OpenAnchor> open_anchors_;
  std::map<YAML::anchor_t, json> anchors_;
  std::size_t copied_ = 0;
  int start_ = -1;  // position of the document
  int line_ = 0;    // the line that begins at line_start_
  std::size_t line_start_ = 0;
};

tl::unexpected<Error> fail_at(const YAML::Mark& mark, const std::string& problem) {
  const std::string where =
      mark.is_null() ? "" : fmt::format("line {}, column {}: ", mark.line + 1, mark.column + 1);
  return fail(ErrorCode::kInvalidArgument, where + printable(problem));
}

/// Appended to every text. Within quotes or brackets this end marker is an error, whereas yaml-cpp
/// alone accepts a text that ends inside quotes; elsewhere it adds at most an empty document.
/// Without the newline, yaml-cpp reports errors at the end as being in line 1.
constexpr std::string_view kEnd = "\n...\n";

/// Explains an error at the end of a text that ends inside quotes; "" for any other error.
std::string problem_at_end(const YAML::Exception& error, std::string_view text) {
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  if (error.mark.line < lines || error.msg != YAML::ErrorMsg::DOC_IN_SCALAR) return "";
  return "the document ends within a quoted string: expected its closing quote";
}

/// Returns our words for an error of yaml-cpp, which reports tabs as something else.
std::string problem_of(const YAML::Exception& error, std::string_view text) {
  if (auto problem = problem_at_end(error, text); !problem.empty()) return problem;
  for (int number = 0; number < error.mark.line; ++number) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  const std::string_view indentation = text.substr(0, text.find_first_not_of(" \t"));
  const bool has_tab = indentation.find('\t') != std::string_view::npos;
  return std::string(yaml_problem(has_tab ? "illegal tab" : error.msg));
}

}  // namespace

Result<std::vector<json>> parse_yaml(std::string_view text, DocumentRules rules) {
  std::vector<json> documents;
  try {
    std::istringstream stream{std::string(text).append(kEnd)};
    YAML::Parser parser(stream);
    YamlReader reader(text, rules);
    while (parser.HandleNextDocument(reader)) {
      json document = reader.take();
      if (!document.is_null()) documents.push_back(std::move(document));
    }
  } catch (const YamlError& refusal) {
    return fail_at(refusal.mark, refusal.problem);
  } catch (const YAML::Exception& error) {
    return fail_at(error.mark, problem_of(error, text));
  }
  return documents;
}

}  // namespace pinfold
