#include "pinfold/checkpoint/start.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/text/kubelet_words.hpp"

namespace pinfold::checkpoint {
namespace {

tl::unexpected<StartError> stop(StartStage stage, Error error) {
  return tl::unexpected(StartError{stage, std::move(error.message)});
}

std::optional<std::string_view> view(const std::optional<std::string>& file) {
  return file ? std::optional<std::string_view>(*file) : std::nullopt;
}

std::string encode(const Node& node, const CpuCheckpoint& state) {
  return write_cpu(state, node.config().cpu_manager_policy, kubelet_of(node));
}
std::string encode(const Node& node, const MemoryCheckpoint& state) {
  return write_memory(state, node.config().memory_manager_policy, kubelet_of(node));
}

/// Returns true if the kubelet considers the state new and writes it even if it does not change.
bool was_empty(const CpuManager& manager, const CpuCheckpoint& state) {
  return manager.is_static() && state.default_set.empty() && state.assignments.empty();
}
bool was_empty(const MemoryManager& /*manager*/, const MemoryCheckpoint& /*state*/) {
  return false;
}

/// Starts one manager from its restored state and updates its file.
template <class State, class Manager, class Checkpoint>
Result<void> start_manager(const Node& node, const Manager& manager,
                           Result<std::optional<Checkpoint>> restored, State& state,
                           std::optional<std::string>& file) {
  PINFOLD_LET(auto found, std::move(restored));
  if (found) state = State{*std::move(found)};
  if (!file) file = encode(node, state);
  const Checkpoint before = state.checkpoint();
  PINFOLD_TRY(manager.start(state));
  if (before != state.checkpoint() || was_empty(manager, before)) file = encode(node, state);
  return {};
}

/// Returns the wrong checksums of the first file with one.
std::vector<std::string> describe_wrong_sums(const KubeletFiles& files) {
  std::vector<std::string> lines;
  if (files.cpu) lines = describe(wrong_cpu_sums(*files.cpu));
  if (files.memory && lines.empty()) lines = describe(wrong_memory_sums(*files.memory));
  return lines;
}

}  // namespace

std::string cause_of(const StartError& error, const KubeletFiles& files) {
  auto causes = describe_wrong_sums(files);
  const std::size_t advice = error.error.find(", please drain this node");
  causes.push_back(error.error.substr(0, advice));
  if (advice != std::string::npos) {  // the advice names the file
    const bool is_cpu = error.stage == StartStage::kCpuManager;
    causes.back() += fmt::format(" (in '{}')", is_cpu ? kCpuFileName : kMemoryFileName);
  }
  return fmt::format("{}: {}", to_string(error.stage),
                     in_plain_words(fmt::format("{}", fmt::join(causes, "; "))));
}

tl::expected<NodeState, StartError> start(const Node& node, KubeletFiles& files,
                                          const ContainerIds& ids, std::string_view state_dir) {
  const auto reader = [&](const std::optional<std::string>& file) {
    return reader_of(node, file.value_or(""));
  };
  NodeState state;
  auto cpu = start_manager(node, node.cpu(),
                           restore_cpu(view(files.cpu), node.config().cpu_manager_policy,
                                       reader(files.cpu), ids, state_dir),
                           state.cpu, files.cpu);
  if (!cpu) return stop(StartStage::kCpuManager, std::move(cpu).error());
  auto memory =
      start_manager(node, node.memory(),
                    restore_memory(view(files.memory), node.config().memory_manager_policy,
                                   reader(files.memory), state_dir),
                    state.memory, files.memory);
  if (!memory) return stop(StartStage::kMemoryManager, std::move(memory).error());
  PINFOLD_TRY(node.check_node_allocatable());
  return state;
}

tl::expected<void, StartError> would_start(const Node& node, KubeletFiles files,
                                           const ContainerIds& ids) {
  PINFOLD_TRY(start(node, files, ids));
  return {};
}

KubeletFiles encode_files(const Node& node, const NodeState& state) {
  return {encode(node, state.cpu), encode(node, state.memory)};
}

void update(const Node& node, const NodeState& before, const NodeState& after,
            KubeletFiles& files) {
  if (before.cpu.checkpoint() != after.cpu.checkpoint()) files.cpu = encode(node, after.cpu);
  if (before.memory.checkpoint() != after.memory.checkpoint()) {
    files.memory = encode(node, after.memory);
  }
}

}  // namespace pinfold::checkpoint
