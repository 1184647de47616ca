#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

/// Parts of a Kubernetes object that has not been checked.
namespace pinfold {

/// Returns a member that is a text, else "".
[[nodiscard]] std::string text_of(const nlohmann::json& object, std::string_view key);
/// Returns "'NAMESPACE/NAME'" for messages.
[[nodiscard]] std::string name_of(const nlohmann::json& object);

}  // namespace pinfold
