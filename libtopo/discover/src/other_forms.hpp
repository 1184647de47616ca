#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pinfold {

/// Returns what a text is that describes a machine in a form that Pinfold does not read, and what
/// to pass; nullopt for any other text.
[[nodiscard]] std::optional<std::string> name_other_form(std::string_view text);

}  // namespace pinfold
