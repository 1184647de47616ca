#pragma once

#include <string>

#include "pinfold/machine/machine.hpp"
#include "pinfold/picture/picture.hpp"

namespace pinfold::tools {

/// Formats distances, and PCI devices if the picture has them.
[[nodiscard]] std::string more_facts(const Machine& machine, const Picture& picture);

}  // namespace pinfold::tools
