#pragma once

#include <nlohmann/json.hpp>
#include <string>

/// Calls of the guest's container runtime.
namespace pinfold::driver {

/// Makes a CRI call through the program that makes the harness's calls. Throws std::runtime_error
/// with the runtime's error, if any.
nlohmann::json call(const std::string& method, const nlohmann::json& request);

}  // namespace pinfold::driver
