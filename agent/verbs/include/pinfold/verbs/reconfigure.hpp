#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/checkpoint/fs.hpp"

/// Plans and applies reconfigurations on request of an operator or a program.
namespace pinfold::verbs {

/// The pods that a reconfiguration may remove.
enum class Evict {
  kNone,      ///< "none"
  kLost,      ///< "lost": those that cannot keep enough resources
  kRejected,  ///< "rejected": also those that the new rules would reject
};
[[nodiscard]] std::string_view to_string(Evict evict);

struct Reconfigure {
  std::optional<std::string> config;  ///< KubeletConfiguration, YAML or JSON; see NodeSource
  std::optional<Machine> machine;     ///< see NodeSource
  Evict evict = Evict::kNone;
  agent::RunningProcesses running = agent::RunningProcesses::kRefuse;  ///< of pods that are removed
  bool undo = false;  ///< go back to the previous node; excludes `config`, `machine` and `evict`
  bool dry_run = false;
};

/// A request to make room for a pod that the node rejects now.
struct Defragment {
  PodSpec pod;
  bool dry_run = false;
  std::size_t steps = kDefragmentationSteps;  ///< see PlanOptions
};

/// The parts of a node.
struct NodeParts {
  Machine machine;
  Config config;
};

struct Reconfigured {
  agent::Reconfiguration planned;
  /// False after a dry run, if pods cannot stay but may not be removed, or if no moves make room.
  bool is_applied = false;
  /// The parts of the new node, if it differs.
  std::optional<NodeParts> other_node;
  agent::ReconfigureOutcome change;
  std::vector<std::string> warnings = {};  ///< of the new configuration: see config_warnings
};

/// What happens to STATE_DIR/config.yaml.
enum class ConfigFile {
  kLeave,    ///< nothing; it is not about this node
  kReplace,  ///< it is replaced if it exists
  kWrite,    ///< it is replaced, or created if it does not exist
};

/// A configuration, and what determined its profile.
struct NodeConfig {
  Config config;
  agent::ProfileSource profile_source = agent::ProfileSource::kDefault;
  std::vector<std::string> open_policies = {};  ///< see ParsedConfig
  /// Gates that `config` leaves out, because no decision depends on them.
  std::map<std::string, bool> unknown_gates = {};
  std::vector<std::string> warnings = {};        ///< see config_warnings
  std::vector<std::string> unset_policies = {};  ///< see ParsedConfig
};

/// Returns a configuration that was read for a node that had `until_now`, with its warnings.
[[nodiscard]] NodeConfig node_config_of(ParsedConfig parsed, const Config& until_now);

/// Where the parts of a node come from when it starts. Functions may be empty.
struct NodeSource {
  /// Returns the configuration in this text; without a text, the one that a start reads. If the
  /// function is empty: the one in the text, or that of the node.
  std::function<Result<NodeConfig>(const std::optional<std::string>& text)> config;
  /// Returns the current machine. If empty: that of the node.
  std::function<Result<Machine>()> machine;
  /// Returns the hint providers of a node on this machine. If empty: none.
  std::function<Node::Providers(const Machine&)> providers;
  ConfigFile file = ConfigFile::kLeave;
  /// Opens the directory of config.yaml. If empty: the agent's state directory.
  std::function<Result<std::unique_ptr<checkpoint::Fs>>()> files = {};
  /// Checks that the next start would use this node. Errors: kUnsupported.
  std::function<Result<void>(const Node& to)> check;
};

/// Plans a reconfiguration and, unless it is a dry run, applies it: saves config.yaml as
/// config.yaml.before, installs the new configuration, and calls NodeAgent::reconfigure. An undo
/// after a reconfiguration that was interrupted before its commit only restores config.yaml.
/// Errors: kInvalidArgument for a request that contradicts itself and for a configuration that does
/// not fit the machine; kNotFound for an undo without a previous node; those of
/// plan_reconfiguration, plan_undo, NodeAgent::reconfigure and of `source`. Then nothing has
/// changed.
[[nodiscard]] Result<Reconfigured> reconfigure(agent::NodeAgent& agent, const Reconfigure& request,
                                               const NodeSource& source);

/// Plans the moves after which the agent admits the pod and, unless it is a dry run, applies them.
/// Does not admit the pod. Errors: those of plan_defragmentation and NodeAgent::reconfigure. Then
/// nothing has changed.
[[nodiscard]] Result<Reconfigured> defragment(agent::NodeAgent& agent, const Defragment& request);

/// Checks that the request permits the removals of the plan. Errors: kUnsupported with the pods'
/// UIDs.
[[nodiscard]] Result<void> check_consent(const Reconfigure& request, const Reconfigured& outcome);

/// Returns the JSON of `pinfold reconfigure -o json`, without the other node.
[[nodiscard]] nlohmann::json to_json(Reconfigured done);

}  // namespace pinfold::verbs
