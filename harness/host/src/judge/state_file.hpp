#pragma once

#include <map>
#include <string>

namespace pinfold::harness {

/// Returns a value of one of the kubelet's state files: `policyName`, `defaultCpuSet`, or for
/// "pod/container" its CPUs, or the NUMA nodes of its memory, as a list. `uids`: those of the pods
/// by name. "(none)" for a value that the file does not have, "(no JSON object)" for another text.
/// Never fails: the text comes from a guest.
[[nodiscard]] std::string state_value(const std::string& text, const std::string& name,
                                      const std::map<std::string, std::string>& uids);

}  // namespace pinfold::harness
