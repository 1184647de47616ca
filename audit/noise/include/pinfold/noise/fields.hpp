#pragma once

#include <span>

#include "pinfold/fields/types.hpp"
#include "pinfold/noise/noise.hpp"

/// The document of `pinfold noise`: docs/json.md.
namespace pinfold::noise {

[[nodiscard]] std::span<const SourceKind> enumerators(SourceKind type);

void describe(fields::Fields& fields, NoiseSource& source);
void describe(fields::Fields& fields, CpuNoise& noise);
void describe(fields::Fields& fields, NoiseReport& report);

}  // namespace pinfold::noise
