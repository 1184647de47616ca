#pragma once

#include <string>
#include <vector>

#include "pinfold/cli/command.hpp"

/// Shared by the completions of all shells.
namespace pinfold::manual {

/// Returns the options of a command without its positional arguments; --help, --help-all and
/// --version come first.
[[nodiscard]] std::vector<cli::Option> named_options(const cli::Command& command);

/// Returns the known values of an option.
[[nodiscard]] std::vector<std::string> choices_of(const cli::Option& option);

enum class ValueKind { kText, kFile, kDirectory };
/// Derives the kind from the placeholder; positional arguments without one are files.
[[nodiscard]] ValueKind kind_of(const cli::Option& option);

/// Returns the first positional argument; null if there is none.
[[nodiscard]] const cli::Option* positional_of(const cli::Command& command);
[[nodiscard]] bool is_help(const cli::Command& command);
/// Returns the names of the subcommands, separated by spaces.
[[nodiscard]] std::string names_below(const cli::Command& command);

/// Returns the program's name for use in names of shell functions: "pinfold_harness".
[[nodiscard]] std::string identifier_of(const cli::Command& program);
/// Returns true if the program prints values for completions.
[[nodiscard]] bool prints_values(const cli::Command& program);

/// Escapes text for single quotes in a shell.
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
