#pragma once

#include "pinfold/fields/types.hpp"
#include "pinfold/predict/bound_pods.hpp"
#include "pinfold/predict/pod_query.hpp"

namespace pinfold {

void describe(fields::Fields& fields, ZoneAmount& amount);
void describe(fields::Fields& fields, PlacedPod& placed);
void describe(fields::Fields& fields, NodePrediction& prediction);
void describe(fields::Fields& fields, PodPredictions& predictions);

}  // namespace pinfold
