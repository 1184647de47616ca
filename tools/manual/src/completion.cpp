#include "completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

namespace pinfold::manual {

std::vector<cli::Option> named_options(const cli::Command& command) {
  constexpr bool* kNone = nullptr;
  std::vector<cli::Option> options = {{"-h,--help", kNone, "Print this help"},
                                      {"--help-all", kNone, "Print the help of every command"}};
  if (!command.version.empty()) options.push_back({"--version", kNone, "Print the version"});
  for (const cli::Option& option : command.options) {
    if (!is_positional(option)) options.push_back(option);
  }
  return options;
}

std::vector<std::string> choices_of(const cli::Option& option) {
  const auto* const choice = std::get_if<cli::Choice>(&option.target);
  return choice == nullptr ? option.suggestions : choice->words;
}

ValueKind kind_of(const cli::Option& option) {
  const std::string value = value_name(option);
  if (value == "DIR" || option.name == "directory") return ValueKind::kDirectory;
  const bool is_file =
      value == "FILE" || value == "PATH" || (is_positional(option) && option.value.empty());
  return is_file ? ValueKind::kFile : ValueKind::kText;
}

const cli::Option* positional_of(const cli::Command& command) {
  for (const cli::Option& option : command.options) {
    if (is_positional(option)) return &option;
  }
  return nullptr;
}

bool is_help(const cli::Command& command) { return command.name == cli::kHelpCommand; }

std::string names_below(const cli::Command& command) {
  std::vector<std::string> names;
  for (const cli::Command& below : command.commands) names.push_back(below.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string identifier_of(const cli::Command& program) {
  std::string name = program.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

bool prints_values(const cli::Command& program) {
  bool found = false;
  for_each_command(program, "", [&](const cli::Command& command, const std::string& /*path*/) {
    for (const cli::Option& option : command.options) {
      found = found || !option.suggested_by.empty();
    }
  });
  return found;
}

std::string quoted(const std::string& text) {
  std::string out;
  for (const char letter : text) out += letter == '\'' ? "'\\''" : std::string(1, letter);
  return out;
}

}  // namespace pinfold::manual
