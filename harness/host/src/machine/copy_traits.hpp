#pragma once

#include "pinfold/harness/machine_copy.hpp"
#include "pinfold/harness/source_traits.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::harness {

/// Gives a copy devices in place of the source's, and adds a difference for every other property of
/// the source that QEMU does not provide. Domain: the copy already has its nodes and CPUs.
void copy_traits(MachineCopy& copy, const Machine& source, const SourceTraits& traits);

}  // namespace pinfold::harness
