#pragma once

#include <span>

#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/fields/types.hpp"

/// The JSON of an agent's values: docs/json.md.
namespace pinfold::agent {

[[nodiscard]] std::span<const ProfileSource> enumerators(ProfileSource type);

void describe(fields::Fields& fields, CgroupsStatus& cgroups);
void describe(fields::Fields& fields, ContainerStatus& container);
void describe(fields::Fields& fields, PodStatus& pod);
void describe(fields::Fields& fields, DecidedPod& pod);
void describe(fields::Fields& fields, HeldContainer& held);
void describe(fields::Fields& fields, NodeStatus& status);

void describe(fields::Fields& fields, AdmitOutcome& outcome);
void describe(fields::Fields& fields, ChangeOutcome& outcome);
void describe(fields::Fields& fields, ResizeOutcome& outcome);
/// When read, all steps are in `moved`, as text.
void describe(fields::Fields& fields, ReconcileReport& report);

void describe(fields::Fields& fields, Room& room);
/// The plan, without its room. When read, the planned state is missing.
void describe(fields::Fields& fields, Reconfiguration& planned);

/// The measurement of one container, with the names of its pod.
struct NamedMeasurement {
  ContainerRef container;
  MeasuredContainer measured;
};
void describe(fields::Fields& fields, NamedMeasurement& named);

}  // namespace pinfold::agent
