#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pinfold/cli/command.hpp"

/// The man page, the pages of the documentation and the shell completions, generated from the
/// declaration of the command line.
namespace pinfold::tools {

/// The man page in roff. `version`: "0.2.0".
[[nodiscard]] std::string man_page(const cli::Command& program, const std::string& version);
/// A page in Markdown for each command, and index.md: file name and text.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> markdown_pages(
    const cli::Command& program);
[[nodiscard]] std::string bash_completion(const cli::Command& program);
[[nodiscard]] std::string zsh_completion(const cli::Command& program);
[[nodiscard]] std::string fish_completion(const cli::Command& program);

}  // namespace pinfold::tools
