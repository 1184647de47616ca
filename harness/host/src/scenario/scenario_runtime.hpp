#pragma once

#include <optional>
#include <string>

#include "pinfold/harness/scenario.hpp"
#include "scenario/field_reader.hpp"

namespace pinfold::harness {

/// Reads the name of a runtime and checks that the machine can run it.
[[nodiscard]] std::string read_runtime(FieldReader& fields, const VmMachine& machine);

/// Returns true if the step needs a container runtime.
[[nodiscard]] bool needs_runtime(const Action& action);

/// Checks that the steps with the runtime can follow each other: for example, a container is
/// created before it is started. Pods that are read from files must have been loaded.
[[nodiscard]] std::optional<Complaint> check_runtime_steps(const Scenario& scenario);

/// Read the steps with a container runtime.
[[nodiscard]] Action read_run_pod(FieldReader& fields);
[[nodiscard]] Action read_stop_pod(FieldReader& fields);
[[nodiscard]] Action read_remove_pod(FieldReader& fields);
[[nodiscard]] Action read_create_container(FieldReader& fields);
[[nodiscard]] Action read_start_container(FieldReader& fields);
[[nodiscard]] Action read_stop_container(FieldReader& fields);
[[nodiscard]] Action read_remove_container(FieldReader& fields);
[[nodiscard]] Action read_exec_container(FieldReader& fields);
[[nodiscard]] Action read_kill_runtime(FieldReader& fields);
[[nodiscard]] Action read_restart_runtime(FieldReader& fields);

}  // namespace pinfold::harness
