#pragma once

#include <numa.h>

#include "pinfold/base/result.hpp"

namespace pinfold::enforce {

/// The functions of libnuma that Pinfold calls, without the prefix "numa_".
struct Libnuma {
  decltype(&::numa_available) available;
  decltype(&::numa_allocate_nodemask) allocate_nodemask;
  decltype(&::numa_bitmask_setbit) bitmask_setbit;
  decltype(&::numa_bitmask_free) bitmask_free;
  decltype(&::numa_migrate_pages) migrate_pages;
};

/// Loads libnuma when it is first needed. Errors: as for LoadedLibrary. Thread-safety: safe.
[[nodiscard]] Result<const Libnuma*> libnuma();

}  // namespace pinfold::enforce
