#pragma once

#include <string>
#include <vector>

#include "pinfold/api/config.hpp"

/// Which feature gates a kubelet knows. No decision depends on others.
namespace pinfold {

/// Names in featureGates that the kubelet of the profile does not know; with `fixed` none of 1.36
/// to 1.38 does. Sorted. Source: the tables of these kubelets; docs/kubelet-compat.md.
[[nodiscard]] std::vector<std::string> unknown_gates(const Config& config);

/// Whether a gate is one of OpenShift's kubelet, which has more than upstream's.
[[nodiscard]] bool has_openshift_gates(const Config& config);

/// The configuration without its unknown gates.
[[nodiscard]] Config without_unknown_gates(Config config);

/// "feature gates that ... does not know: A, B (since 1.37), ..."; "" if there are none.
[[nodiscard]] std::string describe_unknown_gates(const Config& config);

}  // namespace pinfold
