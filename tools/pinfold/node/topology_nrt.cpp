#include "node/topology_nrt.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "agent/agent_options.hpp"
#include "agent/read_node.hpp"
#include "checkpoint/checkpoint_files.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/predict/node_topology.hpp"

namespace pinfold::tools {
namespace {

/// Reads the state from the files of a directory; writes nothing. Without Pinfold's own file the
/// active pods are unknown: every assignment is held, and all devices are free.
Result<NodeState> read_state(const Node& node, const std::string& directory) {
  if (directory.empty()) return empty_state(node);
  PINFOLD_LET(auto stored, read_directory(directory));
  checkpoint::KubeletFiles files{std::move(stored.cpu), std::move(stored.memory)};
  auto started = checkpoint::start(node, files, {}, directory);
  if (!started) {
    std::vector<std::string> lines;
    if (files.cpu) lines = checkpoint::describe(checkpoint::wrong_cpu_sums(*files.cpu));
    if (files.memory && lines.empty()) {
      lines = checkpoint::describe(checkpoint::wrong_memory_sums(*files.memory));
    }
    lines.push_back(started.error().error);
    return fail(ErrorCode::kCorrupt,
                fmt::format("'{}': {}: {}", directory, to_string(started.error().stage),
                            fmt::join(lines, "; ")));
  }
  agent::AgentState state;
  state.node = std::move(*started);
  PINFOLD_TRY_WRAP(agent::decode_pods(stored.pods, state), fmt::format("'{}'", directory));
  return release_stale(node, std::move(state.node));
}

}  // namespace

Result<ExitStatus> print_node_topology(const Machine& machine, const NrtSource& source) {
  const bool has_config =
      !source.config.empty() || !source.kubelet_flags.empty() || !source.state_dir.empty();
  NodeConfig config;
  if (has_config) {
    NodeOptions options;
    options.state_dir = source.state_dir;
    options.config = source.config;
    options.kubelet_flags = source.kubelet_flags;
    options.insecure_state_dir = true;
    PINFOLD_LET(config, read_config(options));
  }
  PINFOLD_LET(const auto node, agent::make_node(machine, config.config));
  PINFOLD_LET(const auto state, read_state(node, source.state_dir));
  fmt::print("{}\n", to_json(describe(node, state, machine.name())).dump(1));
  return kYes;
}

}  // namespace pinfold::tools
