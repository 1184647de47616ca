#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pinfold/decide/quota.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/mounts.hpp"

namespace pinfold::enforce {

/// What has to be known of a kernel to spell values as it does.
struct KernelFacts {
  /// Which interface each controller has; a controller that is not there has no entry.
  std::map<Controller, CgroupVersion> controllers;
  std::uint64_t page_size = 4096;  ///< bytes
  /// "2MB" to bytes, the huge page sizes of this machine.
  std::map<std::string, std::uint64_t> hugepage_sizes;

  friend bool operator==(const KernelFacts&, const KernelFacts&) = default;
};

enum class GroupLevel { kPod, kContainer };

/// The control files for a pod's or container's resources, each value as the kernel gives it back:
/// memory in whole pages, "max" for no limit. Leaves out what the machine has no controller or no
/// page size for.
/// Weights on cgroup v2: a pod's as the kubelet writes it, a container's as runtimes do.
[[nodiscard]] Values values_of(const LinuxResources& resources, GroupLevel level,
                               const KernelFacts& facts);

}  // namespace pinfold::enforce
