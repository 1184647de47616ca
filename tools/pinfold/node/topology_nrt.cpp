#include "node/topology_nrt.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "agent/command_line.hpp"
#include "agent/config_source.hpp"
#include "agent/read_node.hpp"
#include "checkpoint/checkpoint_files.hpp"
#include "output.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/predict/node_topology.hpp"

namespace pinfold::tools {
namespace {

/// Warns of wrong checksums, and returns whether they are the only damage.
bool warn_of_sums(std::string_view name, const std::vector<checkpoint::WrongSum>& sums,
                  bool is_readable) {
  if (sums.empty() || !is_readable) return false;
  for (const std::string& line : checkpoint::describe(sums)) {
    warn(fmt::format("'{}': {}", name, line));
  }
  return true;
}

/// Replaces wrong checksums, so that the contents are shown as by `checkpoint show`.
void mend_sums(const Node& node, checkpoint::KubeletFiles& files) {
  const checkpoint::Formats writes = checkpoint::formats_of(checkpoint::kubelet_of(node)).writes;
  if (files.cpu) {
    const auto read = checkpoint::inspect_cpu_unchecked(*files.cpu);
    const bool is_readable = read && read->version > 1;  // V1 has no names of containers
    if (warn_of_sums(checkpoint::kCpuFileName, checkpoint::wrong_cpu_sums(*files.cpu),
                     is_readable)) {
      files.cpu = checkpoint::encode_cpu(read->state, read->policy, cpu_format(writes));
    }
  }
  if (files.memory) {
    const auto read = checkpoint::inspect_memory_unchecked(*files.memory);
    if (warn_of_sums(checkpoint::kMemoryFileName, checkpoint::wrong_memory_sums(*files.memory),
                     read.has_value())) {
      files.memory = checkpoint::encode_memory(read->state, read->policy, memory_format(writes));
    }
  }
}

/// Reads the state from the files of a directory; writes nothing. Without Pinfold's own file the
/// active pods are unknown: every assignment is held, and all devices are free.
Result<NodeState> read_state(const Node& node, const NodeOptions& options) {
  const std::string& directory = options.state_dir;
  if (directory.empty()) return empty_state(node);
  PINFOLD_LET(auto stored, read_directory(directory));
  checkpoint::KubeletFiles files{std::move(stored.cpu), std::move(stored.memory)};
  mend_sums(node, files);
  auto started = checkpoint::start(node, files, {}, directory);
  if (!started) {
    Error error{ErrorCode::kCorrupt, 0,
                fmt::format("'{}': {}", directory, checkpoint::cause_of(started.error(), files))};
    return fail(with_own_advice(options, std::move(error)));
  }
  agent::AgentState state;
  state.node = std::move(*started);
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
