#pragma once

#include <nlohmann/json_fwd.hpp>

#include "members.hpp"
#include "pinfold/verbs/execute.hpp"

/// Reconfigure and its answer in the protocol; see docs/service.md.
namespace pinfold::socket {

[[nodiscard]] nlohmann::json to_json(const verbs::Reconfigure& request);
/// Errors: kInvalidArgument.
[[nodiscard]] Result<verbs::Reconfigure> reconfigure_from(Members& members);

/// Does not include `not_enforced`.
[[nodiscard]] nlohmann::json to_json(const verbs::Reconfigured& outcome);
/// Reads the same members. The plan has no state (`plan.next`), which stays in the service. Errors:
/// in `members`, "reconfiguration.plan.containers[0].change: ...: expected ...".
[[nodiscard]] verbs::Reconfigured reconfigured_from(Members& members);

}  // namespace pinfold::socket
