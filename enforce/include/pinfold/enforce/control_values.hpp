#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pinfold/decide/linux_resources.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/mounts.hpp"

namespace pinfold::enforce {

/// The facts that decide how the kernel spells values.
struct KernelFacts {
  /// The version of each controller; an unavailable controller has no entry.
  std::map<Controller, CgroupVersion> controllers;
  std::uint64_t page_size = 4096;  ///< bytes
  /// The huge page sizes of this machine: "2MB" to bytes.
  std::map<std::string, std::uint64_t> hugepage_sizes;

  friend bool operator==(const KernelFacts&, const KernelFacts&) = default;
};

enum class GroupLevel { kPod, kContainer };

/// Returns the control files for the resources of a pod or container, each value as the kernel
/// reads it back: memory in whole pages, "max" for no limit. Omits files of unavailable controllers
/// and of huge page sizes that the machine does not have.
/// On cgroup v2 a pod's weight follows the kubelet's formula, a container's that of the runtimes.
[[nodiscard]] Values values_of(const LinuxResources& resources, GroupLevel level,
                               const KernelFacts& facts);

}  // namespace pinfold::enforce
