#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Command lines and unit files as a shell and systemd read them. Domain of all: any bytes.
namespace pinfold {

/// `text` without white space around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// The words of a line as a shell or systemd splits them: blanks separate, quotes keep blanks, a
/// backslash keeps the next character. Expands nothing.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text);

/// The values of an option in arguments: "--kubelet-arg=a", "--kubelet-arg a". `name`: with its
/// dashes.
[[nodiscard]] std::vector<std::string> option_values(const std::vector<std::string>& arguments,
                                                     std::string_view name);

using Variables = std::map<std::string, std::string, std::less<>>;
/// `text` with the values of "$NAME" and "${NAME}"; unknown names stay.
[[nodiscard]] std::string expand_variables(std::string_view text, const Variables& variables);

/// The assignments of a unit or configuration file of systemd in their order, without white space
/// around keys and values; everything else in the file is left out. A backslash at the end of a
/// line continues it. Source: systemd.syntax(7).
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_unit_file(
    std::string_view text);

}  // namespace pinfold
