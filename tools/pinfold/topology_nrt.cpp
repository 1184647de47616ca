#include "topology_nrt.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/enforce/open_agent.hpp"
#include "pinfold/enforce/pods_file.hpp"
#include "pinfold/predict/node_topology.hpp"

namespace pinfold::tools {
namespace {

/// A file of a directory; nullopt if it is not there.
Result<std::optional<std::string>> read_if_there(const std::string& directory,
                                                 std::string_view name) {
  const auto path = std::filesystem::path(directory) / name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  auto text = read_input(path);
  if (!text) return fail(std::move(text).error());
  return std::move(*text);
}

/// What the state files hold; nothing is written. Without Pinfold's own file nobody tells which
/// pods are active, so every assignment counts, and devices are as if free.
Result<NodeState> read_state(const Node& node, const std::string& directory) {
  if (directory.empty()) return empty_state(node);
  auto cpu = read_if_there(directory, checkpoint::kCpuFileName);
  if (!cpu) return fail(std::move(cpu).error());
  auto memory = read_if_there(directory, checkpoint::kMemoryFileName);
  if (!memory) return fail(std::move(memory).error());
  auto pods = read_if_there(directory, checkpoint::kPodsFileName);
  if (!pods) return fail(std::move(pods).error());
  if (!*cpu && !*memory) {
    return fail(ErrorCode::kNotFound, fmt::format("no state file in '{}'", directory));
  }
  checkpoint::KubeletFiles files{std::move(*cpu), std::move(*memory)};
  auto started = checkpoint::start(node, files, {}, directory);
  if (!started) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("'{}': {}: {}", directory, to_string(started.error().stage),
                            started.error().error));
  }
  if (!*pods) return std::move(*started);
  enforce::AgentState state;
  state.node = std::move(*started);
  if (auto read = enforce::decode_pods(**pods, state); !read) {
    return fail(std::move(read).error().wrap(fmt::format("'{}'", directory)));
  }
  return release_stale(node, std::move(state.node));
}

}  // namespace

int print_node_topology(Machine machine, const NodeSource& source) {
  const bool has_config = !source.config.empty() || !source.state_dir.empty();
  const auto config = has_config ? enforce::read_config(source.state_dir, source.config)
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
