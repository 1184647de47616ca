#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pinfold/cli/command.hpp"

/// The man page, the pages of the documentation and the shell completions of a program, generated
/// from the declaration of its command line.
namespace pinfold::manual {

/// Returns the man page in roff. Domain: a program with a version and a summary.
[[nodiscard]] std::string man_page(const cli::Command& program);
/// Returns a page in Markdown per command, and index.md: file names and texts.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> markdown_pages(
    const cli::Command& program);
[[nodiscard]] std::string bash_completion(const cli::Command& program);
[[nodiscard]] std::string zsh_completion(const cli::Command& program);
[[nodiscard]] std::string fish_completion(const cli::Command& program);

/// Writes NAME.1, NAME.bash, _NAME and NAME.fish into `folder`, and the pages of the documentation
/// into the existing directory `folder`/commands. Returns the exit status of a program that does
/// only this; prints errors to standard error.
[[nodiscard]] int write_manual(const cli::Command& program, const std::string& folder);

}  // namespace pinfold::manual
