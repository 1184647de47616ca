#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Parses command lines as a shell does, and names. Domain of all functions: any bytes.
namespace pinfold {

/// Returns `text` without surrounding white space.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Returns what follows the last slash of a path.
[[nodiscard]] std::string_view base_name(std::string_view path);

/// Splits a line into words like a shell: blanks separate, quotes protect blanks, a backslash
/// protects the next character. Expands nothing.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text);

/// Quotes a word for a shell if necessary.
[[nodiscard]] std::string shell_word(const std::string& word);

/// Returns the words of "reservedSystemCPUs" or "--reserved-cpus" in lower case, without a plural
/// s: reserved, system, cpu.
[[nodiscard]] std::vector<std::string> words_of_name(std::string_view name);

/// Returns the values of an option in `arguments`: "--kubelet-arg=a", "--kubelet-arg a". `name`
/// includes the dashes.
[[nodiscard]] std::vector<std::string> option_values(const std::vector<std::string>& arguments,
                                                     std::string_view name);

using Variables = std::map<std::string, std::string, std::less<>>;
/// Replaces "$NAME" and "${NAME}" by their values; leaves unknown names unchanged.
[[nodiscard]] std::string expand_variables(std::string_view text, const Variables& variables);

}  // namespace pinfold
