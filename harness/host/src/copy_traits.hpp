#pragma once

#include "pinfold/harness/machine_copy.hpp"

namespace pinfold::harness {

/// Gives a copy devices in place of those of the source, and adds a difference for whatever else
/// the source has and QEMU does not make. Domain: nodes and CPUs of the copy are made.
void copy_traits(MachineCopy& copy, const Machine& source, const SourceTraits& traits);

}  // namespace pinfold::harness
