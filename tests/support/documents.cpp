#include "documents.hpp"  // of the commands

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "run_program.hpp"

// Linked into a test program, it reads back every JSON output of `pinfold` that run_shell captures,
// with the reader of its type. A value that the reader does not take is a failure of the test. With
// the environment variable PINFOLD_DOCUMENTS, the name of a directory, it also stores the documents
// there, for the test Schema.collected.

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
/// than one program, or JSON that another program reads or that is mixed with messages.
std::string subcommand_of(const std::vector<std::string>& words) {
  if (std::count_if(words.begin(), words.end(), is_program) != 1) return "";
  const auto begin = std::find_if(words.begin(), words.end(), is_program);
  for (const char* const special : {"|", "2>&1", ">>"}) {
    if (std::find(begin, words.end(), special) != words.end()) return "";
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

/// Returns the text of the file to which a command line writes its output, else the captured one.
std::string output_of(const std::vector<std::string>& words, const Outcome& outcome) {
  const auto redirection = std::find(words.begin(), words.end(), ">");
  if (redirection == words.end() || redirection + 1 == words.end()) return outcome.out;
  if (!std::filesystem::is_regular_file(redirection[1])) return "";  // /dev/full never ends
  std::ifstream in(redirection[1], std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

/// Stores a document for Schema.collected.
void store(std::string_view schema, const std::string& command_line, const nlohmann::json& value) {
  const char* const directory = std::getenv("PINFOLD_DOCUMENTS");  // NOLINT(concurrency-mt-unsafe)
  if (directory == nullptr) return;
  std::filesystem::create_directories(directory);
  std::ofstream out(fmt::format("{}/{}.jsonl", directory, ::getpid()), std::ios::app);
  const nlohmann::json entry{{"schema", schema}, {"command", command_line}, {"document", value}};
  out << entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  EXPECT_TRUE(out.flush().good()) << directory;
}

void expect_document(const std::string& command_line, const Outcome& outcome) {
  const auto words = words_of(command_line);
  const tools::DocumentKind* const kind = tools::document_of_command(subcommand_of(words));
  const std::string output = output_of(words, outcome);
  if (kind == nullptr || output.empty()) return;
  for (const std::string& text :
       nlohmann::json::accept(output) ? std::vector{output} : lines_of(output)) {
    const auto value = nlohmann::json::parse(text, nullptr, false);
    if (value.is_discarded()) {
      ADD_FAILURE() << command_line << ": expected JSON: " << text;
      continue;
    }
    if (const auto checked = kind->check(value); !checked) {
      ADD_FAILURE() << command_line << ": " << kind->name << ": " << checked.error().message;
    }
    store(kind->name, command_line, value);
  }
  for (const std::string& line : lines_of(outcome.err)) {
    const auto value = nlohmann::json::parse(line, nullptr, false);
    if (value.is_object()) store("message", command_line, value);
  }
}

[[maybe_unused]] const bool kIsSet = [] {
  set_outcome_check(expect_document);
  return true;
}();

}  // namespace
}  // namespace pinfold::test
