#pragma once

#include <string>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::agent {

/// Opens the state directory, the control groups, and an agent over both. `machine`
/// is the machine as observed. CPUs that are missing since the state was written belong to the node
/// and are offline, and the node goes on with the machine of the state where that depends on it:
/// see machine_to_start_with. The log has a warning of what differs. If nothing said the profile
/// (AgentOptions::profile_source), it is that of the kubelet that wrote the state files, if they
/// tell it. Errors: kInvalidArgument if the configuration does not fit the machine; those of
/// Store::open, Cgroups::open and NodeAgent::open; kIo.
[[nodiscard]] Result<NodeAgent> open_agent(Machine machine, Config config, AgentOptions options,
                                           Node::Providers providers = {});

/// Node::make with an error that names the stage of the start that failed, and what would help.
[[nodiscard]] Result<Node> make_node(const Machine& machine, const Config& config,
                                     Node::Providers providers = {});

/// The configuration of a state directory: `file`, or if that is "" STATE_DIR/config.yaml, or if
/// that does not exist the kubelet's defaults. `owners`: who can change a state directory whose
/// file is read is checked. Errors: kNotFound, kIo; kInvalidArgument with the file's name; those of
/// open_state_directory.
[[nodiscard]] Result<ParsedConfig> read_config(const std::string& state_dir,
                                               const std::string& file,
                                               checkpoint::OwnerCheck owners);

}  // namespace pinfold::agent
