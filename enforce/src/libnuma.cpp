#include "libnuma.hpp"

#include "pinfold/base/loaded_library.hpp"

namespace pinfold::enforce {
namespace {

PINFOLD_LOADED_LIBRARY(kNuma, "libnuma.so.1", "libnuma1", "move pages between NUMA nodes");

Result<Libnuma> load_numa() {
  PINFOLD_LET(const auto library, LoadedLibrary::open(kNuma));
  Libnuma numa{};
  PINFOLD_TRY(library.find("numa_available", numa.available));
  PINFOLD_TRY(library.find("numa_allocate_nodemask", numa.allocate_nodemask));
  PINFOLD_TRY(library.find("numa_bitmask_setbit", numa.bitmask_setbit));
  PINFOLD_TRY(library.find("numa_bitmask_free", numa.bitmask_free));
  PINFOLD_TRY(library.find("numa_migrate_pages", numa.migrate_pages));
  return numa;
}

}  // namespace

Result<const Libnuma*> libnuma() { return load_once<Libnuma, load_numa>(); }

}  // namespace pinfold::enforce
