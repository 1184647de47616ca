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
/// kernelpagesize_kB. What is no such field is passed over.
[[nodiscard]] PagesByNode parse_numa_maps(std::string_view text);

/// Where the memory of a process lies; empty if it is gone, or if the kernel does not tell.
[[nodiscard]] PagesByNode pages_of(pid_t pid);

/// Share of the bytes that lie on `nodes`, 0 to 1; 1 if there are none.
[[nodiscard]] double share_in_place(const PagesByNode& pages, const NodeSet& nodes);

/// Moves the pages of a process to `nodes`, as far as the kernel can (it leaves those that others
/// use too).
/// Errors: kIo (EPERM without CAP_SYS_NICE for processes of others, ESRCH).
[[nodiscard]] Result<void> migrate_pages(pid_t pid, const NodeSet& nodes);

}  // namespace pinfold::enforce
