#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "pinfold/base/result.hpp"
#include "pinfold/fields/fields.hpp"
#include "pinfold/types/ids.hpp"
#include "pinfold/types/pod_ref.hpp"
#include "pinfold/types/rejection.hpp"
#include "pinfold/types/trace.hpp"

/// The JSON of the values that all documents share: docs/json.md.
namespace pinfold {

[[nodiscard]] std::span<const ErrorCode> enumerators(ErrorCode type);

void describe(fields::Fields& fields, Error& error);
void describe(fields::Fields& fields, Rejection& rejection);
void describe(fields::Fields& fields, TraceFact& fact);
void describe_value(fields::Fields& fields, Trace& trace);
void describe_value(fields::Fields& fields, PodUid& uid);
/// A number from 0.
template <class Tag>
void describe_value(fields::Fields& fields, Id<Tag>& id) {
  auto limited = fields::up_to(id.value, std::numeric_limits<std::int32_t>::max());
  describe_value(fields, limited);
}
void describe(fields::Fields& fields, PodRef& pod);
/// The members "pod" and "container", which other types include.
void describe(fields::Fields& fields, ContainerRef& container);

}  // namespace pinfold
