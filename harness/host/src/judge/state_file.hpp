#pragma once

#include <map>
#include <string>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/judge.hpp"

namespace pinfold::harness {

/// Returns a value of one of the kubelet's state files: `policyName`, `defaultCpuSet`, or for
/// "pod/container" its CPUs, or the NUMA nodes of its memory, as a list. `uids`: UIDs by pod name.
/// "(none)" for a value that is not in the file, "(no JSON object)" for any other text, "(no
/// waitPod has seen such a pod)" for a name without UID. Never fails: the text comes from a guest.
[[nodiscard]] std::string state_value(const std::string& text, const std::string& name,
                                      const std::map<std::string, std::string>& uids);

/// Returns the cpuset that a kubelet with these two files assigns to a container, without its
/// control group: its exclusive CPUs, else the shared pool; the NUMA nodes of its memory, else any.
/// `container`: "pod/container". Errors: kInvalidArgument for a text that is not a JSON object.
[[nodiscard]] Result<DesiredContainer> assigned_by_files(
    const std::string& cpu_state, const std::string& memory_state, const std::string& container,
    const std::map<std::string, std::string>& uids);

}  // namespace pinfold::harness
