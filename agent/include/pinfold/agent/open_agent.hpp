#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "pinfold/agent/node_agent.hpp"

namespace pinfold::agent {

/// Cgroups::open in a root whose last directory is made if it is not there: all that is ever done
/// outside of it.
[[nodiscard]] Result<enforce::Cgroups> open_this_kernel(const std::string& root,
                                                        const enforce::CgroupFsWrapper& wrap = {});

/// Where an agent works, and with what.
struct AgentPlace {
  std::string state_dir = "/var/lib/pinfold";
  std::string cgroup_root;  ///< "": default_root()
  bool enforces = true;     ///< false: decides and remembers, touches no cgroup
  std::chrono::milliseconds lock_timeout = checkpoint::Store::kLockTimeout;
  /// Opens the groups below a root; a runtime that writes them itself brings its own
  /// (Cgroups::make over its own CgroupFs). Empty: open_this_kernel.
  std::function<Result<enforce::Cgroups>(const std::string& root)> open_cgroups;
  LogSink log;
  bool moves_pages = false;  ///< see AgentExtras
  bool rehearses = false;    ///< see AgentExtras; nothing is enforced then
};

/// Opens the state directory (and makes it), the groups and the agent over both. `machine` is what
/// is there now; CPUs that are missing since the state was written are the node's, and offline: see
/// known_machine (not under the profile kubelet-1.36, which refuses to start then).
/// Errors: kInvalidArgument if the configuration does not fit the machine; those of Store::open,
/// Cgroups::open and NodeAgent::open; kIo.
[[nodiscard]] Result<NodeAgent> open_agent(Machine machine, Config config, const AgentPlace& place,
                                           Node::Providers providers = {});

/// Node::make with an error that says where the start ended.
[[nodiscard]] Result<Node> make_node(Machine machine, Config config,
                                     Node::Providers providers = {});

/// What a state directory is configured with: `file`, or STATE_DIR/config.yaml if it is there and
/// `file` is "", else the kubelet's defaults.
/// Errors: kNotFound, kIo; kInvalidArgument with the file's name.
[[nodiscard]] Result<ParsedConfig> read_config(const std::string& state_dir,
                                               const std::string& file);

}  // namespace pinfold::agent
