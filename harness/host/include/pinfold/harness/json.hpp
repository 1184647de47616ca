#pragma once

#include <nlohmann/json_fwd.hpp>

namespace pinfold::harness {

using Json = nlohmann::json;

}  // namespace pinfold::harness
