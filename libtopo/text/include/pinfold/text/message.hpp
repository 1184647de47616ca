#pragma once

#include <span>
#include <string>
#include <string_view>

/// Helpers for messages to people: names from outside, and suggestions for misspelt words.
namespace pinfold {

/// `text` as it may be printed on a terminal: control characters, characters that change the
/// direction of text, and bytes that are not UTF-8 are escaped: "\n", "\x1b", "\u202e".
[[nodiscard]] std::string escaped(std::string_view text);

/// The word of the list that `word` most probably stands for; "" if none is similar. Upper and
/// lower case count as the same letter. Without one of similar letters it is the shortest that
/// contains all words of a name of several: "reservedCpus" is of "reservedSystemCPUs".
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

/// ", did you mean 'limits'?", or "" if no word is similar.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> known);

}  // namespace pinfold
