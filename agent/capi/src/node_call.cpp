#include "node_call.hpp"

#include <fmt/format.h>

#include "callbacks.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/discover/discover.hpp"

namespace pinfold::capi {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::mutex nodes_mutex;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local bool thread_holds_nodes = false;

Result<void> rediscover_if_cpus_changed(pinfold_node& node) {
  if (node.online.empty()) return {};
  std::string online = online_cpus();
  if (online == node.online) return {};
  PINFOLD_LET(node.machine, discover(SysTree{}, "node"));
  node.online = std::move(online);
  return {};
}

}  // namespace

NodesLock::NodesLock(bool& is_held) : lock_(nodes_mutex), is_held_(&is_held) { is_held = true; }

Result<NodesLock> NodesLock::acquire() {
  if (is_held_here()) {
    return fail(ErrorCode::kBusy, "called from a callback, while the outer call still uses nodes");
  }
  return NodesLock(thread_holds_nodes);
}

bool NodesLock::is_held_here() { return thread_holds_nodes; }

Error about_system(Error error) {
  if (error.code == ErrorCode::kNotFound && error.sys_errno != 0) error.code = ErrorCode::kIo;
  return error;
}

Error about_node(Error error) {
  if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kIo;
  return error;
}

pinfold_code code_of(const std::optional<Error>& not_enforced, char** error) {
  if (!not_enforced) return PINFOLD_OK;
  set_message(error, "decided and stored, but not applied to the kernel: " + not_enforced->message);
  return PINFOLD_NOT_ENFORCED;
}

pinfold_code code_of(const Rejection& rejection, char** error) {
  set_message(error, rejection.reason + ": " + rejection.message);
  return PINFOLD_REJECTED;
}

Result<void> check_access(const pinfold_node& node, Access access) {
  if (access == Access::kRead || !node.agent_options.is_query) return {};
  return fail(ErrorCode::kUnsupported, "the node is open read-only (PINFOLD_NODE_READ_ONLY)");
}

std::string online_cpus() { return read_file("/sys/devices/system/cpu/online").value_or(""); }

std::optional<Error> checkpoint_journal(agent::NodeAgent& agent, const agent::LogSink& log) {
  const auto checkpointed = agent.checkpoint_journal();
  if (checkpointed) return std::nullopt;
  Error error = checkpointed.error();
  error.message = fmt::format("{}; the next call tries again",
                              agent::describe_not_settled(checkpointed.error()));
  if (log) log(agent::LogLevel::kWarning, error.message);
  return error;
}

Node::Providers make_providers(const pinfold_node& node, const Machine& machine) {
  Node::Providers providers;
  for (const HintCallbacks& callbacks : node.hint_providers) {
    providers.push_back(make_hint_provider(callbacks, machine.numa_count()));
  }
  return providers;
}

Result<Machine> current_machine(pinfold_node& node) {
  PINFOLD_TRY(rediscover_if_cpus_changed(node));
  return node.machine;
}

Result<agent::NodeAgent> open_agent(pinfold_node& node) {
  PINFOLD_LET(auto machine, current_machine(node));
  auto providers = make_providers(node, machine);
  return agent::open_agent(std::move(machine), node.config, node.agent_options,
                           std::move(providers));
}

}  // namespace pinfold::capi
