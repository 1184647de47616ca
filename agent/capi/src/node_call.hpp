#pragma once

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "call.hpp"
#include "callbacks.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/agent/status.hpp"

/// What a pinfold_node keeps between calls. No lock and no state: each call opens an agent.
struct pinfold_node {
  pinfold::Machine machine;
  /// The kernel's list of online CPUs when `machine` was discovered; "" for the caller's machine.
  std::string online;
  pinfold::Config config;
  /// The file that it was read from, "": that of the state directory; nullopt: the caller's text.
  std::optional<std::string> config_file;
  pinfold::agent::AgentOptions agent_options;
  std::vector<pinfold::capi::HintCallbacks> hint_providers;
  /// The cgroups are not this kernel's: a process id does not name a process of this machine.
  bool has_own_hierarchy = false;
};

namespace pinfold::capi {

/// Held by a call while it uses nodes: one call at a time in this process. The lock of a state
/// directory excludes other processes, not other threads, and libcgroup has process-wide tables.
class NodesLock {
 public:
  /// Waits for other threads. Errors: kBusy on a thread that holds the lock, which is in a
  /// callback.
  [[nodiscard]] static Result<NodesLock> acquire();
  /// True on a thread that holds the lock, which is in a callback.
  [[nodiscard]] static bool is_held_here();

 private:
  struct Reset {
    void operator()(bool* is_held) const { *is_held = false; }
  };
  explicit NodesLock(bool& is_held);

  std::unique_lock<std::mutex> lock_;
  std::unique_ptr<bool, Reset> is_held_;  ///< reset before the mutex is unlocked
};

/// The kernel's list of online CPUs; "" if it cannot be read.
[[nodiscard]] std::string online_cpus();

/// The agent of one call. Discovers the machine again if it was discovered and CPUs went offline or
/// came online since.
[[nodiscard]] Result<agent::NodeAgent> open_agent(pinfold_node& node);

/// The hint providers of a node for a machine.
[[nodiscard]] Node::Providers make_providers(const pinfold_node& node, const Machine& machine);
/// The machine of the options, or the discovered one as it is now.
[[nodiscard]] Result<Machine> current_machine(pinfold_node& node);

/// Makes what a call stored durable in the kubelet's files. If that fails, the log has a warning,
/// which is also the message of the error.
[[nodiscard]] std::optional<Error> settle(agent::NodeAgent& agent, const agent::LogSink& log);

/// An errno, of a callback or of the kernel, says nothing about the pod, container or process that
/// the caller named: ENOENT becomes kIo.
[[nodiscard]] Error about_system(Error error);
/// The same for every error of opening an agent, in a call about something on the node.
[[nodiscard]] Error about_node(Error error);

/// The code of a decision, and its message if it is not PINFOLD_OK.
[[nodiscard]] pinfold_code code_of(const std::optional<Error>& not_enforced, char** error);
[[nodiscard]] pinfold_code code_of(const Rejection& rejection, char** error);

/// What a call does with the state or the kernel.
enum class Access { kRead, kChange };

/// Errors: kUnsupported for a change if the node is open read-only.
[[nodiscard]] Result<void> check_access(const pinfold_node& node, Access access);

/// body(agent). An exception in it, other than for memory, leaves the outcome of a change unknown.
template <class Body>
Result<pinfold_code> call_body(agent::NodeAgent& agent, Access access, const char* intent,
                               char** error, Body&& body) {
  try {
    return body(agent);
  } catch (const CallbackFailure& failure) {
    return fail(ErrorCode::kInvalidArgument, failure.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    if (access == Access::kRead) throw;
    set_message(error, fmt::format("{}: {}", intent, thrown.what()));
    return PINFOLD_UNKNOWN;
  }
}

/// Runs body(NodeAgent&) over a node; an error's message begins with `intent`.
template <class Body>
pinfold_code with_agent(pinfold_node* node, Access access, const char* intent, char** error,
                        Body&& body) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    const auto run = [&]() -> Result<pinfold_code> {
      PINFOLD_TRY(require(node, "node"));
      PINFOLD_LET(const auto lock, NodesLock::acquire());
      PINFOLD_TRY(check_access(*node, access));
      PINFOLD_LET(auto agent, open_agent(*node).map_error(about_node));
      Result<pinfold_code> code = call_body(agent, access, intent, error, body);
      const auto not_settled = settle(agent, node->agent_options.log);
      if (!not_settled) return code;
      if (!code && agent::is_unknown_outcome(*not_settled)) {
        set_message(error, code.error().message + "; " + not_settled->message);
        return PINFOLD_UNKNOWN;
      }
      if (!code || *code != PINFOLD_OK) return code;
      set_message(error, not_settled->message);
      return PINFOLD_NOT_SETTLED;
    };
    PINFOLD_LET_WRAP(const auto code, run().map_error(about_system), intent);
    return code;
  });
}

/// As with_agent, for body(NodeAgent&, pod UID) and an active pod.
template <class Body>
pinfold_code with_pod(pinfold_node* node, const char* pod_id, Access access, const char* intent,
                      char** error, Body&& body) {
  return with_agent(node, access, intent, error,
                    [&](agent::NodeAgent& agent) -> Result<pinfold_code> {
                      PINFOLD_TRY(require(pod_id, "pod_id"));
                      PINFOLD_LET(const auto uid, agent::find_pod_uid(agent, pod_id));
                      return body(agent, uid);
                    });
}

}  // namespace pinfold::capi
