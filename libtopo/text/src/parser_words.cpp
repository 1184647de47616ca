#include "parser_words.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace pinfold {
namespace {

/// Our words for texts that contain a phrase. The first match counts.
struct Phrase {
  std::string_view theirs;
  std::string_view ours;
};

constexpr std::array kJsonPhrases = {
    Phrase{"unexpected end of input",
           "the text ends too early: is a quote or a closing bracket missing?"},
    Phrase{"missing closing quote", "a string that does not end: expected its closing quote"},
    Phrase{"control character",
           "a line break or another control character in a string: expected an escape such as \\n"},
    Phrase{"invalid string",
           "an invalid escape in a string: expected \\\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t or "
           "\\uXXXX"},
    Phrase{"invalid number", "an incomplete number: expected a digit"},
    Phrase{"number overflow", "a number that is too large"},
    Phrase{"expected end of input", "text after the end of the JSON document"},
    Phrase{"parsing object key", "expected a name in double quotes"},
    Phrase{"parsing object separator", "expected ':' after the name"},
    Phrase{"parsing object", "expected ',' or '}' after the value"},
    Phrase{"parsing array", "expected ',' or ']' after the value"},
    Phrase{"parsing value",
           "expected a value: a string in double quotes, a number, true, false, null, '{' or '['"},
};

constexpr std::array kYamlPhrases = {
    Phrase{"expected ',' or ']'", "expected ',' or ']' after the value"},
    Phrase{"expected ',' or '}'", "expected ',' or '}' after the value"},
    Phrase{"expected key", "text that does not continue the object above: check the indentation"},
    Phrase{"expected '-'", "text that does not continue the list above: check the indentation"},
    Phrase{"expected <document start>",
           "expected the indentation of the lines before it, or '---' if another document begins "
           "here"},
    Phrase{"expected node content", "expected a value here"},
    Phrase{"mapping values",
           "a ':' that is not allowed here: put a text with ': ' in quotes, and check the "
           "indentation"},
    Phrase{"mapping keys", "a key that is not allowed here: check the indentation"},
    Phrase{"sequence entries", "a '-' that is not allowed here: check the indentation"},
    Phrase{"a tab", "a tab in the indentation: YAML allows only spaces"},
    Phrase{"escape character", "an escape in double quotes that YAML does not have"},
    Phrase{"hexdecimal number", "an escape in double quotes with a wrong number"},
    Phrase{"character escape code", "an escape in double quotes with a wrong number"},
    Phrase{"quoted scalar", "a quoted string that does not end: expected its closing quote"},
    Phrase{"an alias", "a '*' without a valid name: put a text that begins with '*' in quotes"},
    Phrase{"an anchor", "a '&' without a valid name: put a text that begins with '&' in quotes"},
    Phrase{"any token",
           "a character that no value begins with, such as @ or %: put the text in quotes"},
    Phrase{"block scalar", "an invalid beginning of a text in lines: expected '|' or '>'"},
    Phrase{"YAML", "an invalid line that begins with '%YAML'"},
    Phrase{"directive", "an invalid line that begins with '%'"},
    Phrase{"tag", "an invalid tag: put a text that begins with '!' in quotes"},
    Phrase{"control characters", "a control character: YAML allows only tabs and line breaks"},
};

std::string_view first_of(std::span<const Phrase> phrases, std::string_view text,
                          std::string_view otherwise) {
  const auto found = std::find_if(phrases.begin(), phrases.end(), [&](const Phrase& phrase) {
    return text.find(phrase.theirs) != std::string_view::npos;
  });
  return found == phrases.end() ? otherwise : found->ours;
}

}  // namespace

std::string_view json_problem(std::string_view text) {
  // What was read last is the user's text; what was expected follows it.
  const std::string_view head = text.substr(0, text.find("; last read"));
  const std::size_t expected = text.rfind("; expected ");
  const std::string_view tail =
      expected == std::string_view::npos ? std::string_view() : text.substr(expected);
  return first_of(kJsonPhrases, std::string(head).append(tail), "not JSON");
}

std::string_view yaml_problem(std::string_view text) {
  return first_of(kYamlPhrases, text, "not YAML");
}

}  // namespace pinfold
