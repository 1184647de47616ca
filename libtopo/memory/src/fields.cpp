#include "pinfold/memory/fields.hpp"

namespace pinfold {

void describe(fields::Fields& fields, MemoryBlock& block) {
  fields.type("MemoryBlock", "Memory that a container or pod holds.");
  fields.member("type", block.type, "\"memory\", \"hugepages-2Mi\" ...");
  fields.member("numaNodes", block.numa_affinity,
                "The NUMA nodes over which it may be spread, by the kernel's numbers.");
  fields.member("sizeBytes", block.size, "Bytes on all of them together.");
}

}  // namespace pinfold
