#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pinfold/decide/linux_resources.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/mounts.hpp"

namespace pinfold::enforce {

/// What decides how a kernel spells values.
struct KernelFacts {
  /// The interface of each controller; an unavailable controller has no entry.
  std::map<Controller, CgroupVersion> controllers;
  std::uint64_t page_size = 4096;  ///< bytes
  /// "2MB" to bytes, the huge page sizes of this machine.
  std::map<std::string, std::uint64_t> hugepage_sizes;

  friend bool operator==(const KernelFacts&, const KernelFacts&) = default;
};

enum class GroupLevel { kPod, kContainer };

/// The control files for a pod's or container's resources, each value as the kernel gives it back:
/// memory in whole pages, "max" for no limit. Leaves out files of unavailable controllers and
/// of huge page sizes that the machine does not have.
/// Weights on cgroup v2: a pod's by the kubelet's formula, a container's by the runtimes'.
[[nodiscard]] Values values_of(const LinuxResources& resources, GroupLevel level,
                               const KernelFacts& facts);

}  // namespace pinfold::enforce
