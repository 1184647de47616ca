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
    Phrase{"end of map flow", "a '{' without its '}'"},
    Phrase{"end of sequence flow", "a '[' without its ']'"},
    Phrase{"end of map", "text that does not continue the object above: check the indentation"},
    Phrase{"end of sequence", "text that does not continue the list above: check the indentation"},
    Phrase{"illegal map value",
           "a ':' that is not allowed here: put a text with ': ' in quotes, and check the "
           "indentation"},
    Phrase{"illegal map key", "a key that is not allowed here: check the indentation"},
    Phrase{"illegal block entry", "a '-' that is not allowed here: check the indentation"},
    Phrase{"illegal flow end", "a closing bracket that closes nothing"},
    Phrase{"in scalar", "a quoted text that does not end, or has a character that is not allowed"},
    Phrase{"illegal tab", "a tab in the indentation: YAML allows only spaces"},
    Phrase{"escape character", "an escape in double quotes that YAML does not have"},
    Phrase{"hex number", "an escape in double quotes with a wrong number"},
    Phrase{"invalid unicode", "an escape in double quotes with a wrong number"},
    Phrase{"referenced anchor", "an alias whose anchor is not defined before it"},
    Phrase{"alias not found", "a '*' without a name: put a text that begins with '*' in quotes"},
    Phrase{"anchor not found", "a '&' without a name: put a text that begins with '&' in quotes"},
    Phrase{"scanning alias", "a name of an alias with a character that is not allowed"},
    Phrase{"scanning anchor", "a name of an anchor with a character that is not allowed"},
    Phrase{"cannot assign", "a value with two tags, anchors or aliases"},
    Phrase{"aliases can't", "a value after an alias"},
    Phrase{"unknown token",
           "a character that no value begins with, such as @ or %: put the text in quotes"},
    Phrase{"block scalar", "an invalid beginning of a text in lines: expected '|' or '>'"},
    Phrase{"directive", "an invalid line that begins with '%'"},
    Phrase{"YAML version", "an invalid line that begins with '%YAML'"},
    Phrase{"tag", "an invalid tag: put a text that begins with '!' in quotes"},
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
