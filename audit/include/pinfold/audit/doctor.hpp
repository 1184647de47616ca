#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pinfold/audit/checks.hpp"
#include "pinfold/audit/doctor_observed.hpp"

/// Checks what Pinfold and a kubelet with a static policy need from a machine.
namespace pinfold::audit {

/// Runs all checks; returns the most severe first. Pure.
[[nodiscard]] Checks check_system(const ObservedSystem& system);

/// Returns the object that `pinfold doctor -o json` prints: docs/doctor.md.
[[nodiscard]] nlohmann::json to_json(const Checks& checks, const ObservedSystem& system);

}  // namespace pinfold::audit
