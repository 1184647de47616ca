#include "pinfold/agent/kept_state.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "side_file.hpp"

namespace pinfold::agent {

Result<KeptState> KeptState::restore(const Node& node, checkpoint::Store store,
                                     const AgentOptions& options) {
  KeptState kept(std::move(store), options);
  PINFOLD_LET_WRAP(kept.stored_, kept.store_.load(), "read the state");
  checkpoint::KubeletFiles files{kept.stored_.cpu, kept.stored_.memory};
  auto started = checkpoint::start(node, files, {}, options.state_dir);
  if (!started) {
    return fail(ErrorCode::kCorrupt, fmt::format("start: {}: {}", to_string(started.error().stage),
                                                 started.error().error));
  }
  kept.state_.node = *std::move(started);
  kept.base_ = {std::move(files.cpu), std::move(files.memory), kept.stored_.pods};
  PINFOLD_TRY_WRAP(decode_pods(kept.stored_.pods, kept.state_),
                   fmt::format("'{}/{}'", options.state_dir, checkpoint::kPodsFileName));
  // Counts that cannot be read start at zero, as those of a kubelet do at every start.
  kept.metrics_ = read_side_file(kept.store_, kMetricsFileName, decode_metrics, options.log)
                      .value_or(Metrics{});
  kept.machine_ = read_side_file(kept.store_, kMachineFileName, options.log).value_or("");
  return kept;
}

Result<void> KeptState::commit(const Node& node, AgentState next) {
  if (!is_dry_run_) {
    checkpoint::KubeletFiles files{base_.cpu, base_.memory};
    checkpoint::update(node, state_.node, next.node, files);
    PINFOLD_TRY_WRAP(
        store_files({std::move(files.cpu), std::move(files.memory), encode_pods(next)}), "persist");
    keep_machine(node.machine());
  }
  state_ = std::move(next);
  return {};
}

Result<void> KeptState::store_files(checkpoint::Files files) {
  if (files == stored_) return {};
  PINFOLD_TRY(store_.commit(files));
  stored_ = files;
  base_ = std::move(files);
  return {};
}

/// Without the file an offline CPU makes the next start fail as the kubelet's does; no more than
/// that.
void KeptState::keep_machine(const Machine& machine) {
  std::string bytes = machine.to_json().dump();
  if (bytes == machine_) return;
  if (write_side_file(store_, kMachineFileName, bytes, log_)) machine_ = std::move(bytes);
}

void KeptState::keep_metrics(const Metrics& metrics) {
  if (is_dry_run_) return;
  metrics_ = metrics;
  (void)write_side_file(store_, kMetricsFileName, encode_metrics(metrics_), log_);
}

ProcessList KeptState::processes() {
  return decode_processes(read_side_file(store_, kProcessesFileName, log_).value_or(""));
}

void KeptState::keep_processes(const ProcessList& list) {
  if (!is_dry_run_) (void)write_side_file(store_, kProcessesFileName, encode_processes(list), log_);
}

}  // namespace pinfold::agent
