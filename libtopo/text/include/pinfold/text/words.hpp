#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Parses command lines and unit files as a shell and systemd do. Domain of all functions: any
/// bytes.
namespace pinfold {

/// Returns `text` without surrounding white space.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Returns what follows the last slash of a path.
[[nodiscard]] std::string_view base_name(std::string_view path);

/// Splits a line into words like a shell or systemd: blanks separate, quotes protect blanks, a
/// backslash protects the next character. Expands nothing.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text);

/// Returns the values of an option in `arguments`: "--kubelet-arg=a", "--kubelet-arg a". `name`
/// includes the dashes.
[[nodiscard]] std::vector<std::string> option_values(const std::vector<std::string>& arguments,
                                                     std::string_view name);

using Variables = std::map<std::string, std::string, std::less<>>;
/// Replaces "$NAME" and "${NAME}" by their values; leaves unknown names unchanged.
[[nodiscard]] std::string expand_variables(std::string_view text, const Variables& variables);

/// Returns the assignments of a systemd unit or configuration file in order, without white space
/// around keys and values. Skips everything else. A backslash at the end of a line continues it.
/// Source: systemd.syntax(7).
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_unit_file(
    std::string_view text);

}  // namespace pinfold
