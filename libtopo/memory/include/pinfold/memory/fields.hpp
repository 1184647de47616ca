#pragma once

#include "pinfold/fields/fields.hpp"
#include "pinfold/memory/memory_manager.hpp"

namespace pinfold {

void describe(fields::Fields& fields, MemoryBlock& block);

}  // namespace pinfold
