#include "node/topology_nrt.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "agent/agent_session.hpp"
#include "agent/command_line.hpp"
#include "agent/config_source.hpp"
#include "checkpoint/checkpoint_files.hpp"
#include "output.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/repair.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/predict/node_topology.hpp"

namespace pinfold::tools {
namespace {

/// Returns the files with the right checksums if wrong ones are their only faults, and nullopt
/// otherwise.
std::optional<checkpoint::KubeletFiles> with_right_sums(const Node& node,
                                                        const checkpoint::KubeletFiles& files) {
  const std::size_t wrong =
      std::size_t{files.cpu && !checkpoint::wrong_cpu_sums(*files.cpu).empty()} +
      std::size_t{files.memory && !checkpoint::wrong_memory_sums(*files.memory).empty()};
  if (wrong == 0) return std::nullopt;
  auto repaired = checkpoint::repair(node, files, {}, {});
  const bool is_all = repaired.lost.empty() && repaired.done.size() == wrong;
  return is_all ? std::optional(std::move(repaired.files)) : std::nullopt;
}

/// Starts from the files as a kubelet does, but accepts wrong checksums: what is free is known
/// nevertheless.
Result<NodeState> start(const Node& node, checkpoint::KubeletFiles files,
                        const NodeOptions& options) {
  const std::string& directory = options.state_dir;
  auto started = checkpoint::start(node, files, {}, directory);
  if (started) return *std::move(started);
  Error error{ErrorCode::kCorrupt, 0,
              fmt::format("'{}': {}", directory, checkpoint::cause_of(started.error(), files))};
  auto right = with_right_sums(node, files);
  if (right) started = checkpoint::start(node, *right, {}, directory);
  if (!started) return fail(with_own_advice(options, std::move(error)));
  warn(error.message + "; using the file's contents, although no kubelet would start from it");
  return *std::move(started);
}

/// Reads the state from the files of a directory; writes nothing. Without Pinfold's own file the
/// active pods are unknown: every assignment is held, and all devices are free.
Result<NodeState> read_state(const Node& node, const NodeOptions& options) {
  const std::string& directory = options.state_dir;
  if (directory.empty()) return empty_state(node);
  PINFOLD_LET(auto stored, read_directory(directory));
  agent::AgentState state;
  PINFOLD_LET(state.node, start(node, {std::move(stored.cpu), std::move(stored.memory)}, options));
  PINFOLD_TRY_WRAP(agent::decode_pods(stored.pods, state), fmt::format("'{}'", directory));
  return release_stale(node, std::move(state.node));
}

}  // namespace

Result<ExitStatus> print_node_topology(const Machine& machine, const NrtSource& source) {
  NodeOptions options;
  options.state_dir = source.state_dir;
  options.config = source.config;
  options.kubelet_flags = source.kubelet_flags;
  NodeConfig config;
  if (names_config(options) || !source.state_dir.empty()) {
    NodeOptions read_as = options;
    read_as.insecure_state_dir = true;
    PINFOLD_LET(config, read_config(read_as));
  }
  PINFOLD_LET(const auto node, agent::make_node(machine, config.config));
  PINFOLD_LET(const auto state, read_state(node, options));
  fmt::print("{}\n", to_json(describe(node, state, machine.name())).dump(1));
  return kYes;
}

}  // namespace pinfold::tools
