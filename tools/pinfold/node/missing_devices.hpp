#pragma once

#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::tools {

/// Returns one sentence for each resource of a pod that no device of the machine offers: as in the
/// kubelet, the decision ignores it, but a scheduler would not send the pod here. `machine_file`:
/// where the machine comes from; "": it was discovered, and its devices are unknown.
[[nodiscard]] std::vector<std::string> missing_devices(const Machine& machine,
                                                       const std::string& machine_file,
                                                       const PodSpec& pod);

}  // namespace pinfold::tools
