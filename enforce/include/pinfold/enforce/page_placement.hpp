#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/enforce/layout.hpp"

namespace pinfold::enforce {

/// NUMA node to bytes of resident memory there.
using PagesByNode = std::map<std::int32_t, std::uint64_t>;

/// Adds up /proc/PID/numa_maps (see numa(7)): the fields "N<node>=<pages>" of every mapping, by its
/// kernelpagesize_kB. Other fields are ignored.
[[nodiscard]] PagesByNode parse_numa_maps(std::string_view text);

/// The memory of a process; empty if it has ended, or if the kernel does not say.
[[nodiscard]] PagesByNode pages_of(pid_t pid);

/// Share of the bytes that are on `nodes`, 0 to 1; 1 if there are none.
[[nodiscard]] double share_on(const PagesByNode& pages, const NodeSet& nodes);

/// Bytes that are on another NUMA node than before: what the NUMA nodes have more, summed up.
/// Memory that was allocated in between counts too.
[[nodiscard]] std::uint64_t moved_bytes(const PagesByNode& before, const PagesByNode& after);

/// Moves the pages of a process to `nodes`, as far as the kernel can (it leaves those that others
/// use too).
/// Errors: kIo (EPERM without CAP_SYS_NICE for processes of others, ESRCH).
[[nodiscard]] Result<void> migrate_pages(pid_t pid, const NodeSet& nodes);

}  // namespace pinfold::enforce
