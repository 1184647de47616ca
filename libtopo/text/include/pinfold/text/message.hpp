#pragma once

#include <span>
#include <string>
#include <string_view>

/// Helpers for user-facing messages: escaping of foreign names, suggestions for misspelt words.
namespace pinfold {

/// Escapes `text` for a terminal: control characters, characters that change the direction of text,
/// and bytes that are not UTF-8 become "\n", "\x1b", "\u202e".
[[nodiscard]] std::string escaped(std::string_view text);

/// Returns the known word that `word` most probably means, or "" if none is similar. Ignores case.
/// If no word is within two edits, prefers one that contains all words of a multi-word name:
/// "reservedCpus" finds "reservedSystemCPUs".
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

/// Returns ", did you mean 'limits'?", or "" if no word is similar.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> known);

}  // namespace pinfold
