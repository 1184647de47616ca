#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/enforce/layout.hpp"

namespace pinfold::enforce {

/// Bytes of resident memory on each NUMA node.
using PagesByNode = std::map<std::int32_t, std::uint64_t>;

/// Sums up /proc/PID/numa_maps (see numa(7)): the "N<node>=<pages>" fields of every mapping, times
/// its kernelpagesize_kB. Ignores other fields.
[[nodiscard]] PagesByNode parse_numa_maps(std::string_view text);

/// Returns the memory of a process; empty if it has ended or the kernel does not say.
[[nodiscard]] PagesByNode pages_of(pid_t pid);

/// Returns the share of the bytes that are on `nodes`, 0 to 1; 1 if there are no bytes.
[[nodiscard]] double share_on(const PagesByNode& pages, const NodeSet& nodes);

/// Returns the bytes that moved to another NUMA node: the sum of what each node gained. Includes
/// memory that was allocated meanwhile.
[[nodiscard]] std::uint64_t moved_bytes(const PagesByNode& before, const PagesByNode& after);

/// Moves the pages of a process to `nodes` as far as the kernel can (it leaves pages that other
/// processes share).
/// Errors: kUnsupported if libnuma is not installed or the kernel has no NUMA memory policy; kIo
/// (EPERM for another user's process without CAP_SYS_NICE; ESRCH).
[[nodiscard]] Result<void> migrate_pages(pid_t pid, const NodeSet& nodes);

}  // namespace pinfold::enforce
