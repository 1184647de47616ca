#pragma once

#include <optional>
#include <string>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::agent {

/// Opens the state directory, the control groups, and an agent on top. `machine` is the observed
/// machine. CPUs that disappeared since the state was written still belong to the node and count as
/// offline; the node may keep the machine of the state, see machine_to_start_with, and then a
/// warning describes the differences. If AgentOptions::profile_source is kDefault, the profile is
/// that of the kubelet that wrote the state files, if they show it.
/// Errors: kInvalidArgument if the configuration does not fit the machine; those of Store::open,
/// Cgroups::open and NodeAgent::open; kIo.
[[nodiscard]] Result<NodeAgent> open_agent(Machine machine, Config config, AgentOptions options,
                                           Node::Providers providers = {});

/// Returns whether a state directory has its own configuration: STATE_DIR/config.yaml.
[[nodiscard]] bool has_config(const std::string& state_dir);

/// Reads the configuration of an open state directory, STATE_DIR/config.yaml. nullopt if there is
/// none. Errors: kIo; kInvalidArgument with the file's name.
[[nodiscard]] Result<std::optional<ParsedConfig>> read_own_config(checkpoint::Fs& fs,
                                                                  const std::string& state_dir);

/// Reads the configuration of a state directory: from `file`; if that is "", from
/// STATE_DIR/config.yaml; if that does not exist, the kubelet's defaults. `owners`: whether to
/// check who can change the state directory before reading its file. Errors: kNotFound, kIo;
/// kInvalidArgument with the file's name; those of open_state_directory.
[[nodiscard]] Result<ParsedConfig> read_config(const std::string& state_dir,
                                               const std::string& file,
                                               checkpoint::OwnerCheck owners);

}  // namespace pinfold::agent
