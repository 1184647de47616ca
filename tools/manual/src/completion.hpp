#pragma once

#include <string>
#include <vector>

#include "pinfold/cli/command.hpp"

/// What the completions of all shells are made of.
namespace pinfold::manual {

/// The options of a command without its positional arguments; --help, --help-all and --version
/// first.
[[nodiscard]] std::vector<cli::Option> named_options(const cli::Command& command);

/// The words that an option's value can be, as far as they are known.
[[nodiscard]] std::vector<std::string> choices_of(const cli::Option& option);

enum class ValueKind { kText, kFile, kDirectory };
/// By the placeholder; positional arguments without one are files.
[[nodiscard]] ValueKind kind_of(const cli::Option& option);

/// The first positional argument; null if there is none.
[[nodiscard]] const cli::Option* positional_of(const cli::Command& command);
[[nodiscard]] bool is_help(const cli::Command& command);
/// The names of the commands below `command`, separated by spaces.
[[nodiscard]] std::string names_below(const cli::Command& command);

/// The program's name as part of a shell function's name: "pinfold_harness".
[[nodiscard]] std::string identifier_of(const cli::Command& program);
/// True if the program prints values for completions.
[[nodiscard]] bool prints_values(const cli::Command& program);

/// Escapes text for single quotes of a shell.
[[nodiscard]] std::string quoted(const std::string& text);

/// Calls visit(command, path) for each command below `command`; path: "checkpoint show".
template <class Visit>
void for_each_command(const cli::Command& command, const std::string& path, Visit&& visit) {
  for (const cli::Command& below : command.commands) {
    const std::string here = path.empty() ? below.name : path + " " + below.name;
    visit(below, here);
    for_each_command(below, here, visit);
  }
}

}  // namespace pinfold::manual
