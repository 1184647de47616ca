#pragma once

#include <optional>
#include <string>

#include "pinfold/harness/scenario.hpp"
#include "scenario/field_reader.hpp"

namespace pinfold::harness {

/// Reads the name of a runtime and checks that the machine can run it.
[[nodiscard]] std::string read_runtime(FieldReader& fields, const VmMachine& machine);

/// Returns true if the step needs a container runtime.
[[nodiscard]] bool needs_runtime(const StepAction& action);

/// Checks that the steps with the runtime can follow each other: for example, a container is
/// created before it is started. Pods that are read from files must have been loaded.
[[nodiscard]] std::optional<Complaint> check_runtime_steps(const Scenario& scenario);

/// Read the steps with a container runtime.
[[nodiscard]] StepAction read_run_pod(FieldReader& fields);
[[nodiscard]] StepAction read_stop_pod(FieldReader& fields);
[[nodiscard]] StepAction read_remove_pod(FieldReader& fields);
[[nodiscard]] StepAction read_create_container(FieldReader& fields);
[[nodiscard]] StepAction read_start_container(FieldReader& fields);
[[nodiscard]] StepAction read_stop_container(FieldReader& fields);
[[nodiscard]] StepAction read_remove_container(FieldReader& fields);
[[nodiscard]] StepAction read_exec_container(FieldReader& fields);
[[nodiscard]] StepAction read_kill_runtime(FieldReader& fields);
[[nodiscard]] StepAction read_restart_runtime(FieldReader& fields);

}  // namespace pinfold::harness
