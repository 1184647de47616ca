#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/config.hpp"

/// The feature gates that a kubelet knows. No decision depends on others.
namespace pinfold {

/// Returns the names in featureGates that the profile's kubelet does not know; with `fixed`, those
/// that no kubelet from 1.36 to 1.38 knows. If a gate of OpenShift shows that the kubelet is not
/// upstream's, also those that are locked to another value and decide nothing. Sorted. Source: the
/// tables of these kubelets; docs/kubelet-compat.md.
[[nodiscard]] std::vector<std::string> unknown_gates(const Config& config);

/// Returns whether a gate makes the options of a policy usable. All known kubelets lock it on.
[[nodiscard]] bool is_gate_of_options(std::string_view name);

/// Returns whether a gate is locked to the other value. With `fixed`, as in 1.36.
[[nodiscard]] bool is_locked_against(std::string_view name, bool value, Profile profile);

/// Returns whether a gate is one of OpenShift's kubelet, which has more than the upstream one.
[[nodiscard]] bool has_openshift_gates(const Config& config);

/// Returns the configuration without its unknown gates.
[[nodiscard]] Config without_unknown_gates(Config config);

/// Returns the configuration that a kubelet's start is checked with: without its unknown gates,
/// except those of kubelet 1.36 if nothing shows that the kubelet is not upstream's. Only for 1.36
/// is it certain which gates prevent a start.
[[nodiscard]] Config with_judged_gates(Config config);

/// Returns "feature gates that ... does not know: A, B (since 1.37), ..."; "" if there are none.
[[nodiscard]] std::string describe_unknown_gates(const Config& config);

}  // namespace pinfold
