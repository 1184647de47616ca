#include "pinfold/text/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/text/utf8.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold {
namespace {

/// True for control characters and those that hide or reorder the text that follows.
bool is_unprintable(char32_t rune) {
  const bool is_control = rune < 0x20 || (rune >= 0x7F && rune < 0xA0);
  const bool is_separator = rune == 0x2028 || rune == 0x2029;
  const bool changes_direction = rune == 0x200E || rune == 0x200F || rune == 0x061C ||
                                 (rune >= 0x202A && rune <= 0x202E) ||
                                 (rune >= 0x2066 && rune <= 0x2069);
  return is_control || is_separator || changes_direction;
}

char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Returns the edit distance, ignoring case: letters to insert, remove, replace or swap with a
/// neighbour.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // two rows above
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = to_lower(a[i - 1]) == to_lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) &&
                           to_lower(a[i - 2]) == to_lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last.back();
}

std::set<std::string> word_set(std::string_view name) {
  const auto words = words_of_name(name);
  return {words.begin(), words.end()};
}

/// Returns the name with the fewest words that contains all words of `name`; "" if `name` has only
/// one.
std::string_view nearest_by_words(std::string_view name, std::span<const std::string_view> known) {
  const auto words = word_set(name);
  std::string_view best;
  std::size_t fewest = 2 * words.size() + 1;
  if (words.size() < 2) return best;
  for (const std::string_view candidate : known) {
    const auto all = word_set(candidate);
    if (all.size() >= fewest) continue;
    if (!std::includes(all.begin(), all.end(), words.begin(), words.end())) continue;
    fewest = all.size();
    best = candidate;
  }
  return best;
}

/// Returns the name that has all words of `name` but one, with the same last word; "" if there is
/// none.
std::string_view nearest_without_word(std::string_view name,
                                      std::span<const std::string_view> known) {
  const auto words = words_of_name(name);
  const std::set<std::string> all(words.begin(), words.end());
  for (const std::string_view candidate : known) {
    const auto own = words_of_name(candidate);
    const std::set<std::string> part(own.begin(), own.end());
    if (own.size() > 1 && part.size() + 1 == all.size() && own.back() == words.back() &&
        std::includes(all.begin(), all.end(), part.begin(), part.end())) {
      return candidate;
    }
  }
  return "";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const utf8::Rune rune = utf8::decode(text);
    if (text.front() == '\n') {
      out += "\\n";
    } else if (!rune.valid || (is_unprintable(rune.value) && rune.value < 0x80)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (is_unprintable(rune.value)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(rune.value));
    } else {
      out += text.substr(0, rune.size);
    }
    text.remove_prefix(rune.size);
  }
  return out;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kMostLetters = 100;  // anything longer is not a misspelt name
  std::string_view best;
  if (word.empty() || word.size() > kMostLetters) return best;
  std::size_t fewest = 1 + std::max<std::size_t>(1, word.size() / 3);
  for (const std::string_view candidate : known) {
    const std::size_t count = edits(word, candidate);
    if (count >= fewest) continue;
    fewest = count;
    best = candidate;
  }
  constexpr std::size_t kFewEdits = 2;
  if (!best.empty() && fewest <= kFewEdits) return best;
  std::string_view by_words = nearest_by_words(word, known);
  if (by_words.empty()) by_words = nearest_without_word(word, known);
  return by_words.empty() ? best : by_words;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view found = nearest(word, known);
  return found.empty() ? "" : fmt::format(", did you mean '{}'?", found);
}

}  // namespace pinfold
