#pragma once

#include "pinfold/enforce/affinity.hpp"
#include "pinfold/enforce/cpu_quota.hpp"
#include "pinfold/enforce/plan.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/fields/types.hpp"

namespace pinfold::enforce {

void describe(fields::Fields& fields, ForeignGroup& group);
void describe(fields::Fields& fields, Affinity& affinity);
void describe(fields::Fields& fields, CpuQuota& quota);
void describe(fields::Fields& fields, ProcessId& process);

}  // namespace pinfold::enforce
