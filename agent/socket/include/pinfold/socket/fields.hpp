#pragma once

#include "pinfold/fields/types.hpp"
#include "pinfold/socket/messages.hpp"

namespace pinfold::socket {

void describe(fields::Fields& fields, RequestMessage& message);
void describe(fields::Fields& fields, AnswerMessage& message);

}  // namespace pinfold::socket
