#include "topology_nrt.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "checkpoint_files.hpp"
#include "command.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/predict/node_topology.hpp"

namespace pinfold::tools {
namespace {

/// What the state files hold; nothing is written. Without Pinfold's own file nobody tells which
/// pods are active, so every assignment counts, and devices are as if free.
Result<NodeState> read_state(const Node& node, const std::string& directory) {
  if (directory.empty()) return empty_state(node);
  auto stored = read_directory(directory);
  if (!stored) return fail(std::move(stored).error());
  checkpoint::KubeletFiles files{std::move(stored->cpu), std::move(stored->memory)};
  auto started = checkpoint::start(node, files, {}, directory);
  if (!started) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("'{}': {}: {}", directory, to_string(started.error().stage),
                            started.error().error));
  }
  if (!stored->pods) return std::move(*started);
  agent::AgentState state;
  state.node = std::move(*started);
  PINFOLD_TRY_WRAP(agent::decode_pods(*stored->pods, state), fmt::format("'{}'", directory));
  return release_stale(node, std::move(state.node));
}

}  // namespace

int print_node_topology(Machine machine, const NodeSource& source) {
  const bool has_config = !source.config.empty() || !source.state_dir.empty();
  const auto config = has_config ? agent::read_config(source.state_dir, source.config)
                                 : Result<ParsedConfig>(ParsedConfig{});
  if (!config) return report(config.error());
  const std::string name = machine.name();
  const auto node = Node::make(std::move(machine), config->config);
  if (!node) {
    return report(
        {ErrorCode::kInvalidArgument, 0,
         fmt::format("configuration: {}: {}", to_string(node.error().stage), node.error().error)});
  }
  const auto state = read_state(*node, source.state_dir);
  if (!state) return report(state.error());
  fmt::print("{}\n", to_json(describe(*node, *state, name)).dump(1));
  return kYes;
}

}  // namespace pinfold::tools
