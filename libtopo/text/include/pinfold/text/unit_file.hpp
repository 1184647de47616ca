#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/text/words.hpp"

/// Reads units and their environment files as systemd does. Domain of all functions: any bytes.
namespace pinfold {

/// One line "key=value" of a unit.
struct UnitSetting {
  std::string section;  ///< "Service"
  std::string key;
  std::string value;  ///< without white space around it

  friend bool operator==(const UnitSetting&, const UnitSetting&) = default;
};

/// Returns the settings of one file of a unit in order. A backslash at the end of a line continues
/// it, also over comments. Skips lines outside of sections and those without "=", as systemd does.
/// Source: systemd 252, config_parse.
[[nodiscard]] std::vector<UnitSetting> parse_unit_file(std::string_view text);

/// Returns the assignments of a file that EnvironmentFile= names, in order. A quoted value may have
/// several lines. Expands nothing. Source: systemd 252, parse_env_file_internal.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_environment_file(
    std::string_view text);

/// Splits a value into words: quotes protect white space, and a backslash begins an escape of C
/// ("\x2d", "\s" is a blank). Source: systemd.syntax(7).
[[nodiscard]] std::vector<std::string> split_unit_words(std::string_view text);

/// Replaces the specifiers of `unit` ("kubelet.service"; "": unknown) that are known without its
/// machine, such as "%%" and "%N"; leaves others unchanged. Source: systemd.unit(5).
[[nodiscard]] std::string expand_specifiers(std::string_view text, std::string_view unit);

/// Expands the variables in the words of ExecStart=. A word "$NAME" becomes the words of its value,
/// "${NAME}" is replaced anywhere, and "$$" means "$". Unknown variables are empty. Source:
/// systemd 252, replace_env_argv.
[[nodiscard]] std::vector<std::string> expand_arguments(const std::vector<std::string>& words,
                                                        const Variables& variables);

}  // namespace pinfold
