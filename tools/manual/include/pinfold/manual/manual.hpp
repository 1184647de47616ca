#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pinfold/cli/command.hpp"

/// The man page, the pages of the documentation and the shell completions of a program, generated
/// from the declaration of its command line.
namespace pinfold::manual {

/// The man page in roff. Domain: a program with a version and a summary.
[[nodiscard]] std::string man_page(const cli::Command& program);
/// A page in Markdown for each command, and index.md: file name and text.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> markdown_pages(
    const cli::Command& program);
[[nodiscard]] std::string bash_completion(const cli::Command& program);
[[nodiscard]] std::string zsh_completion(const cli::Command& program);
[[nodiscard]] std::string fish_completion(const cli::Command& program);

/// Writes all of them: NAME.1, NAME.bash, _NAME, NAME.fish, and the pages of the documentation into
/// the existing directory `folder`/commands. Returns the exit status of a program that does only
/// this; says on standard error what cannot be written.
[[nodiscard]] int write_manual(const cli::Command& program, const std::string& folder);

}  // namespace pinfold::manual
