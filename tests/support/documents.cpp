#include "documents.hpp"  // of the commands

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "run_program.hpp"

// Linked into a test program, it reads back every JSON output of `pinfold` that run_shell captures,
// with the reader of its type. A value that the reader does not take is a failure of the test.

namespace pinfold::test {
namespace {

std::vector<std::string> words_of(const std::string& command_line) {
  std::istringstream in(command_line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    std::erase_if(word, [](char c) { return c == '\'' || c == '"'; });
    words.push_back(std::move(word));
  }
  return words;
}

bool is_program(std::string_view word) {
  return word == "pinfold" || (word.ends_with("/pinfold") && !word.ends_with(".pinfold"));
}

/// Returns the words of the subcommand, "checkpoint show"; "" if the line is too complicated: more
/// than one program, or JSON that goes somewhere else.
std::string subcommand_of(const std::string& command_line) {
  const auto words = words_of(command_line);
  if (std::count_if(words.begin(), words.end(), is_program) != 1) return "";
  for (const char* const special : {"|", ">", "2>&1"}) {
    if (std::find(words.begin(), words.end(), special) != words.end()) return "";
  }
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const auto output = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "-o" || word == "--output";
  });
  const bool is_json = has("-ojson") || has("--output=json") ||
                       (output != words.end() && output + 1 != words.end() && output[1] == "json");
  if (!is_json || has("--help") || has("-h") || has("--version")) return "";
  const auto program = std::find_if(words.begin(), words.end(), is_program);
  if (program + 1 == words.end()) return "";
  std::string name = program[1];
  if (name == "checkpoint" && program + 2 != words.end()) name += " " + program[2];
  if (has("--cycle")) name += " cycle";
  if (name == "explain" && has("--memory")) name += " memory";
  if (name == "audit" && has("--watch")) name += " watch";
  if (name == "simulate" && has("--cluster")) name += " cluster";
  return name;
}

void expect_document(const std::string& command_line, const Outcome& outcome) {
  const tools::DocumentKind* const kind = tools::document_of_command(subcommand_of(command_line));
  if (kind == nullptr || outcome.out.empty()) return;
  std::vector<std::string> texts = {outcome.out};
  if (!nlohmann::json::accept(outcome.out)) {  // a document on each line
    texts.clear();
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) texts.push_back(std::move(line));
  }
  for (const std::string& text : texts) {
    const auto value = nlohmann::json::parse(text, nullptr, false);
    if (value.is_discarded()) {
      ADD_FAILURE() << command_line << ": expected JSON: " << text;
      continue;
    }
    if (const auto checked = kind->check(value); !checked) {
      ADD_FAILURE() << command_line << ": " << kind->name << ": " << checked.error().message;
    }
  }
}

[[maybe_unused]] const bool kIsSet = [] {
  set_outcome_check(expect_document);
  return true;
}();

}  // namespace
}  // namespace pinfold::test
