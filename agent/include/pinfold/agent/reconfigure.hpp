#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/checkpoint/fs.hpp"

/// A reconfiguration as an operator or a program asks for it: planned, and applied.
namespace pinfold::agent {

/// The pods that a reconfiguration may remove.
enum class Evict {
  kNone,      ///< "none"
  kLost,      ///< "lost": those that cannot keep enough
  kRejected,  ///< "rejected": also those that the new rules would reject
};
[[nodiscard]] std::string_view to_string(Evict evict);
/// nullopt for any other name.
[[nodiscard]] std::optional<Evict> parse_evict(std::string_view name);

struct ReconfigureRequest {
  std::optional<std::string> config;  ///< KubeletConfiguration, YAML or JSON; see NodeSource
  std::optional<Machine> machine;     ///< see NodeSource
  Evict evict = Evict::kNone;
  RunningProcesses running = RunningProcesses::kRefuse;  ///< of pods that are removed
  bool undo = false;  ///< go back to the node before; without what says another one
  bool dry_run = false;
};

/// Makes room for a pod that the node rejects now.
struct DefragmentRequest {
  PodSpec pod;
  bool dry_run = false;
  std::size_t steps = PlanOptions{}.steps;  ///< see PlanOptions
};

/// What a node is made of.
struct NodeParts {
  Machine machine;
  Config config;
};

struct Reconfigured {
  Reconfiguration planned;
  /// False: it was a dry run, pods cannot stay and may not be removed, or no moves make room.
  bool is_applied = false;
  /// What the node is made of afterwards, if that changes.
  std::optional<NodeParts> other_node;
  ReconfigureOutcome change;
};

/// What becomes of STATE_DIR/config.yaml.
enum class ConfigFile {
  kLeave,    ///< it says nothing about this node
  kReplace,  ///< it is replaced if it exists
  kWrite,    ///< it is also created
};

/// A configuration, and what said its profile.
struct NodeConfig {
  Config config;
  ProfileSource profile_source = ProfileSource::kDefault;
};

/// What a node is made of when it starts. Functions may be empty.
struct NodeSource {
  /// The configuration of this text; without a text, of the file that is read at a start. Empty:
  /// that of the text, or of the node.
  std::function<Result<NodeConfig>(const std::optional<std::string>& text)> config;
  /// The machine as it is. Empty: that of the node.
  std::function<Result<Machine>()> machine;
  /// The hint providers of a node on this machine. Empty: none.
  std::function<Node::Providers(const Machine&)> providers;
  ConfigFile file = ConfigFile::kLeave;
  /// The directory of config.yaml. Empty: the agent's state directory.
  std::function<Result<std::unique_ptr<checkpoint::Fs>>()> files = {};
  /// Whether the next start finds this node. Errors: kUnsupported.
  std::function<Result<void>(const Node& to)> check;
};

/// Plans, and unless it is a dry run applies: installs the configuration, keeps the file that was
/// there as config.yaml.before, and goes on with it (NodeAgent::reconfigure). An undo after a
/// reconfiguration that ended before its commit restores config.yaml only.
/// Errors: kInvalidArgument for a request that contradicts itself and for a configuration that does
/// not fit the machine; kNotFound for an undo without a node before; those of plan_reconfiguration,
/// plan_undo, NodeAgent::reconfigure and of the source. Then nothing has changed.
[[nodiscard]] Result<Reconfigured> reconfigure(NodeAgent& agent, const ReconfigureRequest& request,
                                               const NodeSource& source);

/// Plans the moves after which the agent admits the pod, and unless it is a dry run applies them.
/// Does not admit the pod. Errors: those of plan_defragmentation and NodeAgent::reconfigure. Then
/// nothing has changed.
[[nodiscard]] Result<Reconfigured> defragment(NodeAgent& agent, const DefragmentRequest& request);

/// Errors: kUnsupported if pods would have to be removed without consent, with their names.
[[nodiscard]] Result<void> check_consent(const ReconfigureRequest& request,
                                         const Reconfigured& outcome);

/// The plan, without `room`.
[[nodiscard]] nlohmann::json to_json(const Reconfiguration& planned);
/// [{"uid", "pod", "container", "parkedSeconds", "movingPagesSeconds", "bytesMoved"}]
[[nodiscard]] nlohmann::json measured_json(const Reconfigured& done);
/// As `pinfold reconfigure -o json` and `pinfold defragment -o json` print it.
[[nodiscard]] nlohmann::json to_json(const Reconfigured& done);

}  // namespace pinfold::agent
