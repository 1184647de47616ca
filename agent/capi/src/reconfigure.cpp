#include "pinfold/verbs/reconfigure.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "node_call.hpp"
#include "pinfold/discover/discover.hpp"
#include "sized_struct.hpp"

/// Switches a node to another configuration or machine, or makes room for a pod.
namespace pinfold::capi {
namespace {

using socket::NodeSession;

/// The size of the structure in version 0.2.0.
constexpr std::size_t kSmallestReconfiguration = sizeof(pinfold_reconfiguration);
constexpr std::uint32_t kReconfigureFlags =
    PINFOLD_RECONFIGURE_DRY_RUN | PINFOLD_RECONFIGURE_KILL | PINFOLD_RECONFIGURE_UNDO |
    PINFOLD_RECONFIGURE_EVICT_LOST | PINFOLD_RECONFIGURE_EVICT_REJECTED;

verbs::Evict evict_of(std::uint32_t flags) {
  if ((flags & PINFOLD_RECONFIGURE_EVICT_REJECTED) != 0) return verbs::Evict::kRejected;
  return (flags & PINFOLD_RECONFIGURE_EVICT_LOST) != 0 ? verbs::Evict::kLost : verbs::Evict::kNone;
}

Result<verbs::Reconfigure> read_request(const pinfold_reconfiguration* given) {
  PINFOLD_LET(const auto values,
              read_struct(given, kSmallestReconfiguration, "pinfold_reconfiguration"));
  PINFOLD_TRY(check_flags(values.flags, kReconfigureFlags));
  verbs::Reconfigure request;
  if (values.config != nullptr) request.config = values.config;
  if (values.machine != nullptr) {
    PINFOLD_LET_WRAP(request.machine, discover(source_of_text(values.machine), "node"), "machine");
  }
  request.evict = evict_of(values.flags);
  if ((values.flags & PINFOLD_RECONFIGURE_KILL) != 0) {
    request.running = agent::RunningProcesses::kKill;
  }
  request.undo = (values.flags & PINFOLD_RECONFIGURE_UNDO) != 0;
  request.dry_run = (values.flags & PINFOLD_RECONFIGURE_DRY_RUN) != 0;
  return request;
}

/// Stores the configuration and machine that the next call opens.
void keep(pinfold_node& node, verbs::NodeParts parts) {
  if (parts.machine != node.machine) node.online.clear();  // it was not discovered
  node.machine = std::move(parts.machine);
  node.config = std::move(parts.config);
  node.agent_options.profile_source = agent::ProfileSource::kConfiguration;
}

Result<pinfold_code> reconfigure(pinfold_node& node, NodeSession& session,
                                 const verbs::Reconfigure& request, char** plan, char** error) {
  // A reference to the result: a copy needs more than 2 KiB of a caller's stack.
  PINFOLD_LET(auto&& outcome, session.execute<verbs::Reconfigured>(request));
  const std::string json = to_json(outcome).dump();
  log_warnings(node, "configuration", outcome.warnings);
  if (outcome.is_applied && outcome.other_node) {
    keep(node, *std::move(outcome.other_node));
    if (session.uses_service()) node.names_config = node.names_machine = false;
  }
  if (request.dry_run) return set_text(plan, json);
  if (const auto refused = verbs::check_consent(request, outcome); !refused) {
    set_message(error, refused.error().message);
    return set_text(plan, json, PINFOLD_UNSUPPORTED);
  }
  return set_text(plan, json, code_of(outcome.change.not_enforced, error));
}

Result<pinfold_code> defragment(NodeSession& session, const verbs::Defragment& request, char** plan,
                                char** error) {
  PINFOLD_LET(auto&& outcome, session.execute<verbs::Reconfigured>(request));
  if (!outcome.planned.room)
    return fail(ErrorCode::kInternal, "the answer does not describe the room");
  const agent::Room& room = *outcome.planned.room;
  const std::string json = to_json(outcome).dump();
  if (room.rejection && !room.is_possible) {
    return set_text(plan, json, code_of(*room.rejection, error));
  }
  return set_text(plan, json, code_of(outcome.change.not_enforced, error));
}

}  // namespace
}  // namespace pinfold::capi

using namespace pinfold;  // NOLINT(google-build-using-namespace): C functions have no namespace
using namespace pinfold::capi;  // NOLINT(google-build-using-namespace)

pinfold_code pinfold_node_reconfigure(pinfold_node* node,
                                      const pinfold_reconfiguration* reconfiguration, char** plan,
                                      char** error) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    PINFOLD_TRY_WRAP(require(reconfiguration, "reconfiguration"), "reconfigure");
    PINFOLD_TRY_WRAP(require(plan, "plan"), "reconfigure");
    PINFOLD_LET_WRAP(const auto request, read_request(reconfiguration), "reconfigure");
    return with_session(
        node, request.dry_run ? Access::kRead : Access::kChange, "reconfigure", error,
        [&](NodeSession& session) { return reconfigure(*node, session, request, plan, error); });
  });
}

pinfold_code pinfold_node_defragment(pinfold_node* node, const char* manifest, uint32_t flags,
                                     char** plan, char** error) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    PINFOLD_TRY_WRAP(check_flags(flags, PINFOLD_RECONFIGURE_DRY_RUN), "defragment");
    return with_session(
        node, flags == 0 ? Access::kChange : Access::kRead, "defragment", error,
        [&](NodeSession& session) -> Result<pinfold_code> {
          PINFOLD_TRY(require(plan, "plan"));
          PINFOLD_LET(auto read, read_manifest(manifest));
          log_warnings(*node, "manifest", read.notes);
          return defragment(session, {std::move(read.spec), flags != 0}, plan, error);
        });
  });
}
