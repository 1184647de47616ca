#include "pinfold/text/words.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace pinfold {
namespace {

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool is_open = false;  // a word has begun, maybe an empty one in quotes
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      is_open = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      is_open = true;
    } else if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) {
      word += c;
      is_open = true;
    } else if (is_open) {
      words.push_back(std::exchange(word, {}));
      is_open = false;
    }
  }
  if (is_open) words.push_back(std::move(word));
  return words;
}

std::string shell_word(const std::string& word) {
  const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_./:=@%+,-").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (word.size() > 3 && word.ends_with('s')) word.pop_back();
    if (!word.empty()) words.push_back(std::exchange(word, {}));
  };
  const auto is_upper = [&](std::size_t i) {
    return i < name.size() && name[i] >= 'A' && name[i] <= 'Z';
  };
  const auto is_lower = [&](std::size_t i) {
    return i < name.size() && name[i] >= 'a' && name[i] <= 'z';
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool separates = std::string_view("-_. ").find(name[i]) != std::string_view::npos;
    const bool ends_acronym = is_lower(i + 1) && is_lower(i + 2);  // "CFSQuota", but not "CPUs"
    const bool begins = is_upper(i) && i > 0 && (!is_upper(i - 1) || ends_acronym);
    if (separates || begins) end_word();
    if (!separates) word += static_cast<char>(is_upper(i) ? name[i] - 'A' + 'a' : name[i]);
  }
  end_word();
  return words;
}

std::vector<std::string> option_values(const std::vector<std::string>& arguments,
                                       std::string_view name) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view one = arguments[i];
    if (!one.starts_with(name)) continue;
    if (one.size() > name.size() && one[name.size()] == '=') {
      values.emplace_back(one.substr(name.size() + 1));
    } else if (one.size() == name.size() && i + 1 < arguments.size()) {
      values.push_back(arguments[++i]);
    }
  }
  return values;
}

std::string expand_variables(std::string_view text, const Variables& variables) {
  std::string out;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) break;
    const bool is_braced = text.substr(1).starts_with('{');
    const std::size_t begin = is_braced ? 2 : 1;
    std::size_t end = begin;
    while (end < text.size() && is_of_name(text[end])) ++end;
    const bool is_closed = !is_braced || text.substr(end).starts_with('}');
    const auto found = variables.find(text.substr(begin, end - begin));
    const std::size_t size = end + (is_braced && is_closed ? 1 : 0);
    out += found != variables.end() && is_closed ? std::string_view(found->second)
                                                 : text.substr(0, size);
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace pinfold
