#pragma once

#include <CLI/CLI.hpp>
#include <string>

/// What is made of the declarations of the command line beside --help.
namespace pinfold::tools {

/// What an option takes: "DIR", "text|json"; "" if it takes nothing.
[[nodiscard]] std::string value_name(const CLI::Option& option);
/// The man page in roff. `version`: "0.2.0".
[[nodiscard]] std::string man_page(const CLI::App& app, const std::string& version);
[[nodiscard]] std::string bash_completion(const CLI::App& app);
[[nodiscard]] std::string zsh_completion(const CLI::App& app);
[[nodiscard]] std::string fish_completion(const CLI::App& app);

}  // namespace pinfold::tools
