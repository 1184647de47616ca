#pragma once

#include "pinfold/checkpoint/convert.hpp"
#include "pinfold/checkpoint/diff.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/running_container.hpp"
#include "pinfold/fields/types.hpp"

namespace pinfold::checkpoint {

void describe(fields::Fields& fields, Note& note);
void describe(fields::Fields& fields, ReadBack& assignment);
/// The members of a difference, which other types include.
void describe(fields::Fields& fields, Difference& difference);
void describe(fields::Fields& fields, WrongSum& sum);

}  // namespace pinfold::checkpoint
