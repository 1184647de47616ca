#pragma once

#include <span>

#include "pinfold/fields/types.hpp"
#include "pinfold/verbs/action.hpp"
#include "pinfold/verbs/answer.hpp"

/// The JSON of requests and answers: docs/json.md.
namespace pinfold::verbs {

[[nodiscard]] std::span<const Evict> enumerators(Evict type);

void describe(fields::Fields& fields, Admit& request);
void describe(fields::Fields& fields, PreviewAdmit& request);
void describe(fields::Fields& fields, Start& request);
void describe(fields::Fields& fields, Attach& request);
void describe(fields::Fields& fields, Remove& request);
void describe(fields::Fields& fields, ReleaseUnknown& request);
void describe(fields::Fields& fields, AdmitHooked& request);
void describe(fields::Fields& fields, PrepareHooked& request);
void describe(fields::Fields& fields, RemoveHooked& request);
void describe(fields::Fields& fields, Reconcile& request);
void describe(fields::Fields& fields, CheckpointJournal& request);
void describe(fields::Fields& fields, Adopt& request);
void describe(fields::Fields& fields, ReadComparison& request);
void describe(fields::Fields& fields, ReadService& request);
void describe(fields::Fields& fields, ReadStatus& request);
void describe(fields::Fields& fields, ListPods& request);
void describe(fields::Fields& fields, Reconfigure& request);
void describe(fields::Fields& fields, Defragment& request);
void describe(fields::Fields& fields, Resize& request);

void describe(fields::Fields& fields, Done& done);
void describe(fields::Fields& fields, Admissions& admissions);
void describe(fields::Fields& fields, PodList& list);
void describe(fields::Fields& fields, Refusal& refusal);
void describe(fields::Fields& fields, OwnResources& resources);
void describe(fields::Fields& fields, PreparedContainer& prepared);
void describe(fields::Fields& fields, CpusetDifference& difference);
void describe(fields::Fields& fields, Comparison& comparison);
void describe(fields::Fields& fields, PodResourcesSocket& place);
void describe(fields::Fields& fields, ServiceReport& report);
/// When read, the planned state is missing.
void describe(fields::Fields& fields, Reconfigured& outcome);

}  // namespace pinfold::verbs
