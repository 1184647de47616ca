#include <algorithm>

#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "salvage.hpp"

namespace pinfold::checkpoint {
namespace {

/// State files have at most six levels.
constexpr std::size_t kMaxOpen = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Walks the tokens of a text up to the first one that is not allowed there.
class Closer {
 public:
  explicit Closer(std::string_view text) : text_(text) {}

  std::string run() {
    while (step()) {
    }
    std::string closed(text_.substr(0, end_));
    if (is_data_torn_) closed += '"';
    closed.append(brackets_.rbegin(), brackets_.rend());
    return closed;
  }

 private:
  enum class Next { kValue, kFirstValue, kKey, kFirstKey, kColon, kSeparator };

  bool step() {
    while (pos_ < text_.size() && is_space(text_[pos_])) ++pos_;
    if (pos_ == text_.size()) return false;
    const char c = text_[pos_];
    switch (next_) {
      case Next::kColon:
        return take(c == ':', Next::kValue);
      case Next::kSeparator:
        if (c == ',') return take(true, open_.back() == '}' ? Next::kKey : Next::kValue);
        return close(c);
      case Next::kFirstKey:
        if (c == '}') return close(c);
        [[fallthrough]];
      case Next::kKey:
        key_ = pos_;
        return c == '"' && skip_string() && take_to(Next::kColon);
      case Next::kFirstValue:
        if (c == ']') return close(c);
        [[fallthrough]];
      case Next::kValue:
        return value(c);
    }
    return false;
  }

  bool take(bool fits, Next next) {
    if (fits) ++pos_;
    return fits && take_to(next);
  }
  bool take_to(Next next) {
    next_ = next;
    return true;
  }

  bool value(char c) {
    if (c == '{' || c == '[') {
      if (open_.size() == kMaxOpen) return false;
      open_ += c == '{' ? '}' : ']';
      ++pos_;
      return mark(c == '{' ? Next::kFirstKey : Next::kFirstValue);
    }
    if (open_.empty()) return false;  // a scalar alone is not a state
    if (c == '"') return skip_string() ? mark(Next::kSeparator) : keep_torn_data();
    const std::size_t end = std::min(text_.find_first_of(",]} \t\r\n", pos_), text_.size());
    // A number at the end of the text may be truncated: it is complete only if something follows.
    if (end == text_.size() || json_syntax_error(text_.substr(pos_, end - pos_))) return false;
    pos_ = end;
    return mark(Next::kSeparator);
  }

  bool close(char c) {
    if (c != open_.back()) return false;
    open_.pop_back();
    ++pos_;
    mark(Next::kSeparator);
    return !open_.empty();
  }

  /// Records that everything before this position can be kept.
  bool mark(Next next) {
    end_ = pos_;
    brackets_ = open_;
    return take_to(next);
  }

  bool skip_string() {
    std::size_t end = pos_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size() || json_syntax_error(text_.substr(pos_, end + 1 - pos_))) return false;
    pos_ = end + 1;
    return true;
  }

  /// Keeps the readable part of the string `data`, whose value is a JSON text itself.
  bool keep_torn_data() {
    if (open_ != "}" || !text_.substr(key_).starts_with("\"data\"")) return false;
    std::size_t end = pos_ + 1;
    while (end < text_.size() && text_[end] != '"' &&
           static_cast<unsigned char>(text_[end]) >= ' ') {
      const std::string_view rest = text_.substr(end);
      const std::size_t size = rest.starts_with("\\u") ? 6 : rest.starts_with('\\') ? 2 : 1;
      if (size > rest.size()) break;
      end += size;
    }
    if (json_syntax_error(std::string(text_.substr(pos_, end - pos_)) + '"')) return false;
    pos_ = end;
    mark(Next::kSeparator);
    is_data_torn_ = true;
    return false;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  std::size_t key_ = 0;  ///< of the newest key
  Next next_ = Next::kValue;
  std::string open_;  ///< the missing closing brackets, innermost last
  std::size_t end_ = 0;
  std::string brackets_;
  bool is_data_torn_ = false;
};

}  // namespace

std::string close_json(std::string_view text) { return Closer(text).run(); }

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.substr(text.starts_with(kMark) ? kMark.size() : 0);
}

std::string readable_part(std::string_view bytes) {
  const std::string_view text = without_byte_order_mark(bytes);
  return json_syntax_error(text) ? close_json(text) : std::string(text);
}

}  // namespace pinfold::checkpoint
