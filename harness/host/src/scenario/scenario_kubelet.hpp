#pragma once

#include <optional>
#include <string>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/scenario.hpp"
#include "scenario/field_reader.hpp"

/// Reads the kubelet of a scenario's machine and the steps that use it.
namespace pinfold::harness {

/// Reads the name of a kubelet's program: a full path, or "$NAME"; "" if the field is absent.
[[nodiscard]] std::string read_kubelet_program(FieldReader& fields, const char* key);

/// Returns true if the step needs a kubelet.
[[nodiscard]] bool needs_kubelet(const StepAction& action);

/// Checks that the steps with a kubelet can follow each other, and that nothing else makes pods in
/// its runtime. Pods that are read from files must have been loaded.
[[nodiscard]] std::optional<Complaint> check_kubelet_steps(const Scenario& scenario);

/// Replaces environment variables in the names of kubelets and collects their programs. If one of
/// the variables is not set, the scenario is skipped. Errors: kInvalidArgument for a variable whose
/// value is not a full path.
[[nodiscard]] Result<void> find_kubelets(Scenario& scenario);

/// Read the steps with a kubelet.
[[nodiscard]] StepAction read_start_kubelet(FieldReader& fields);
[[nodiscard]] StepAction read_restart_kubelet(FieldReader& fields);
[[nodiscard]] StepAction read_stop_kubelet(FieldReader& fields);
[[nodiscard]] StepAction read_wait_kubelet(FieldReader& fields);
[[nodiscard]] StepAction read_run_static_pod(FieldReader& fields);
[[nodiscard]] StepAction read_remove_static_pod(FieldReader& fields);
[[nodiscard]] StepAction read_wait_pod(FieldReader& fields);

}  // namespace pinfold::harness
