#pragma once

#include <nlohmann/json_fwd.hpp>

#include "members.hpp"
#include "pinfold/service/request.hpp"

/// Reconfigure and its answer in the protocol; see docs/service.md.
namespace pinfold::service {

[[nodiscard]] nlohmann::json to_json(const Reconfigure& request);
/// Errors: kInvalidArgument.
[[nodiscard]] Result<Reconfigure> reconfigure_from(Members& members);

/// Does not include `not_enforced`.
[[nodiscard]] nlohmann::json to_json(const agent::Reconfigured& outcome);
/// Reads the same members. The plan has no state (`plan.next`), which stays in the service. Errors:
/// in `members`, "reconfiguration.plan.containers[0].change: ...: expected ...".
[[nodiscard]] agent::Reconfigured reconfigured_from(Members& members);

}  // namespace pinfold::service
