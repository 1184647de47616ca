#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "field_reader.hpp"
#include "pinfold/harness/scenario.hpp"
#include "scenario_platforms.hpp"

namespace pinfold::harness {

/// A step and its path in the document.
struct PlacedStep {
  Step step;
  FieldPath path;
};

/// Reads `steps`: those for the platform of `scope`, in order, with groups flattened. If absent
/// (nullptr), complains.
[[nodiscard]] std::vector<PlacedStep> read_steps(const nlohmann::json* list,
                                                 const PlatformScope& scope,
                                                 std::optional<Complaint>& complaint);

/// Reads the list below `expect`.
[[nodiscard]] ExpectStep read_expect(const nlohmann::json& list, const FieldPath& path,
                                     const PlatformScope& scope,
                                     std::optional<Complaint>& complaint);

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

/// Read the expected end of a command, and the command: `status` and `command`.
[[nodiscard]] std::optional<int> read_status(FieldReader& fields);
[[nodiscard]] std::vector<std::string> read_command(FieldReader& fields);

/// Reads the name of a runtime and checks that the machine can run it.
[[nodiscard]] std::string read_runtime(FieldReader& fields, const VmMachine& machine);

/// Returns true if the step needs a container runtime.
[[nodiscard]] bool needs_runtime(const Action& action);

/// Checks that the steps with the runtime can follow each other: for example, a container is
/// created before it is started. Pods that are read from files must have been loaded.
[[nodiscard]] std::optional<Complaint> check_runtime_steps(const Scenario& scenario);

/// Reads a KubeletConfiguration: an object or the name of a file.
[[nodiscard]] KubeletSource read_kubelet(FieldReader& fields, const char* key);

}  // namespace pinfold::harness
