#include "pinfold/agent/kept_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "side_file.hpp"

// How it works
//
// A state is four files that change in one transaction of checkpoint::Store: the kubelet's CPU and
// memory state, .pinfold_pods (what the kubelet's files do not hold) and .pinfold_node (the node,
// and the one before the last reconfiguration). The store's journal makes a commit durable; the
// files follow in checkpoint_journal().
//
// Three copies are kept in memory: state_ (decoded), stored_ (the bytes on disk), and base_, from
// which the next commit's bytes are made: stored_ plus the changes that a starting kubelet makes.
// restore() only updates base_, so that opening a directory writes nothing.
//
// Invariants:
//   - state_ changes only after its bytes are durable. Exceptions: dry runs, and changes of no
//     assignment with Unstored::kIsKept.
//   - After a failed commit the disk holds the old or the new state. is_uncertain_ then makes the
//     next commit or checkpoint_journal() write the current state, even if it equals stored_.
//   - A damaged .pinfold_pods is copied aside before a commit replaces it.
//
// Cost: a commit encodes only the pods and kubelet files that changed, but compares and assembles
// whole files, so it is linear in their size.

namespace pinfold::agent {
namespace {

/// Reads the earlier node; nullptr if `node` is no longer the node that the file describes.
std::shared_ptr<const EarlierNode> read_before(const checkpoint::Files& files, const Node& node) {
  if (!files.node) return nullptr;
  auto stored = decode_node(*files.node);  // known_machine() reports a damaged file
  if (!stored || stored->config != node.config() ||
      !is_same_machine(stored->machine, node.machine(), memory_sizes_of(node.config()))) {
    return nullptr;
  }
  return std::move(stored->before);
}

/// Returns advice for a state that is for another node than `node`; "" if it is not.
std::string advice(const checkpoint::Files& files, const Node& node) {
  constexpr std::size_t kShown = 3;
  if (!files.node) return "";
  const auto stored = decode_node(*files.node);
  if (!stored) return "";
  auto changes = differences(stored->machine, stored->config, node.machine(), node.config());
  if (changes.empty()) return "";
  const std::size_t more = changes.size() - std::min(changes.size(), kShown);
  changes.resize(changes.size() - more);
  return fmt::format(
      "; the state is for another node ({}{}): 'pinfold reconfigure' adapts it to this node while "
      "containers run",
      fmt::join(changes, "; "), more > 0 ? fmt::format("; {} more", more) : "");
}

/// Warns of unknown keys, because Pinfold writes state files without them.
void warn_of_unknown_keys(const checkpoint::Files& files, const LogSink& log) {
  for (const auto& [name, bytes] : {std::pair(checkpoint::kCpuFileName, &files.cpu),
                                    std::pair(checkpoint::kMemoryFileName, &files.memory)}) {
    if (!*bytes) continue;
    for (const std::string& key : checkpoint::unknown_keys(**bytes).names()) {
      log(LogLevel::kWarning,
          fmt::format("'{}': key '{}' is unknown: the next change drops it", name, key));
    }
  }
}

/// A copy of a damaged .pinfold_pods, for inspection.
constexpr std::string_view kDamagedPodsFileName = ".pinfold_pods.damaged";

}  // namespace

Result<std::unique_ptr<KeptState>> KeptState::restore(const Node& node, checkpoint::Store store,
                                                      const AgentOptions& options) {
  std::unique_ptr<KeptState> kept(new KeptState(std::move(store), options));
  PINFOLD_LET_WRAP(kept->stored_, kept->store_.load(), "read the state");
  if (options.log) warn_of_unknown_keys(kept->stored_, options.log);
  checkpoint::KubeletFiles files{kept->stored_.cpu, kept->stored_.memory};
  auto started = checkpoint::start(node, files, {}, options.state_dir);
  if (!started) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("start: {}: {}{}", to_string(started.error().stage),
                            started.error().error, advice(kept->stored_, node)));
  }
  kept->state_.node = *std::move(started);
  kept->base_ = {std::move(files.cpu), std::move(files.memory), kept->stored_.pods,
                 kept->stored_.node};
  kept->before_ = read_before(kept->stored_, node);
  kept->node_text_ = encode_node(node.machine(), node.config(), kept->before_);
  PINFOLD_TRY(kept->restore_pods(node, options.state_dir));
  if (options.profile_source == ProfileSource::kStateFiles) {
    kept->state_.kubelet_profile = node.config().profile;
  }
  // Counts that cannot be read start at zero, as a kubelet's counts do at every start.
  kept->metrics_ = read_side_file(kept->store_, kMetricsFileName, decode_metrics, options.log)
                       .value_or(Metrics{});
  return kept;
}

Result<void> KeptState::restore_pods(const Node& node, const std::string& directory) {
  const std::string path = fmt::format("'{}/{}'", directory, checkpoint::kPodsFileName);
  const NodeState from_kubelet = state_.node;
  auto decoded = decode_pods(stored_.pods, state_);
  if (!decoded && decoded.error().code != ErrorCode::kCorrupt) {
    return fail(std::move(decoded).error().wrap(path));
  }
  has_damaged_pods_ = !decoded;
  if (has_damaged_pods_) {
    if (log_) {
      log_(LogLevel::kWarning,
           fmt::format("{} is damaged: {}; the assignments in the kubelet's files are held", path,
                       decoded.error().message));
    }
    state_ = AgentState();
    state_.node = from_kubelet;
    return decode_pods(std::nullopt, state_);
  }
  const auto missing = [&](std::string_view name) {
    return fail(
        ErrorCode::kCorrupt,
        fmt::format("'{}/{}' is missing, but {} names active pods ({}): restore it ('pinfold "
                    "checkpoint repair'), or delete both to start with an empty node",
                    directory, name, path, state_.node.pods.size()));
  };
  if (state_.node.pods.empty()) return {};
  if (node.cpu().is_static() && !stored_.cpu) return missing(checkpoint::kCpuFileName);
  if (node.memory().is_static() && !stored_.memory) return missing(checkpoint::kMemoryFileName);
  return {};
}

Result<void> KeptState::commit(const Node& node, AgentState next, Unstored unstored) {
  if (!is_dry_run_) {
    checkpoint::KubeletFiles files{base_.cpu, base_.memory};
    checkpoint::update(node, state_.node, next.node, files);
    const bool is_kept =
        unstored == Unstored::kIsKept && files.cpu == base_.cpu && files.memory == base_.memory;
    auto stored = store_files(
        {std::move(files.cpu), std::move(files.memory), pods_encoder_.encode(next), node_text_});
    if (!stored && !is_kept) return fail(std::move(stored).error().wrap("persist"));
    if (!stored && log_) {
      log_(LogLevel::kWarning,
           fmt::format("a change is not stored yet, and is tried again: persist: {}",
                       stored.error().message));
    }
  }
  state_ = std::move(next);
  return {};
}

Result<void> KeptState::replace_node(const Node& from, const Node& to, AgentState next) {
  checkpoint::KubeletFiles files = checkpoint::encode_files(to, next.node);
  if (const auto started = checkpoint::start(to, files, {}); !started) {
    return fail(ErrorCode::kCorrupt, fmt::format("start: {}: {}", to_string(started.error().stage),
                                                 started.error().error));
  }
  const bool is_repetition = from.machine() == to.machine() && from.config() == to.config() &&
                             files.cpu == base_.cpu && files.memory == base_.memory;
  auto before = before_;  // a repetition must not overwrite the undo information
  if (!is_repetition) {
    EarlierNode earlier{from.machine(), from.config(), {base_.cpu, base_.memory}, {}};
    for (const ActivePod& pod : state_.node.pods) earlier.pods.insert(pod.spec.uid);
    before = std::make_shared<const EarlierNode>(std::move(earlier));
  }
  std::string text = encode_node(to.machine(), to.config(), before);
  if (!is_dry_run_) {
    PINFOLD_TRY_WRAP(store_files({std::move(files.cpu), std::move(files.memory),
                                  pods_encoder_.encode(next), text}),
                     "persist");
  }
  before_ = std::move(before);
  node_text_ = std::move(text);
  state_ = std::move(next);
  return {};
}

Result<void> KeptState::store_files(checkpoint::Files files) {
  if (files == stored_ && !is_uncertain_) return {};
  if (has_damaged_pods_) {
    const auto kept = store_.write_side_file(kDamagedPodsFileName, *stored_.pods);  // unchanged
    if (!kept) warn_of_side_file(log_, kDamagedPodsFileName, kept.error());
    has_damaged_pods_ = !kept;
  }
  is_uncertain_ = true;
  PINFOLD_TRY(store_.commit(files));
  is_uncertain_ = false;
  stored_ = files;
  base_ = std::move(files);
  return {};
}

Result<void> KeptState::checkpoint_journal() {
  if (has_new_metrics_) {
    has_new_metrics_ = !write_side_file(store_, kMetricsFileName, encode_metrics(metrics_), log_);
  }
  // A request that could not be stored was either answered with an error, so that its state must
  // not reappear, or kept: see Unstored.
  if (is_uncertain_) {
    const auto stored =
        store_files({base_.cpu, base_.memory, pods_encoder_.encode(state_), node_text_});
    if (!stored) {
      return fail(unknown_outcome(
          fmt::format("an earlier request could not be stored, and the current state cannot be "
                      "stored either: {}",
                      stored.error().message)));
    }
  }
  return store_.checkpoint_journal();
}

void KeptState::set_metrics(const Metrics& metrics) {
  if (is_dry_run_) return;
  metrics_ = metrics;
  has_new_metrics_ = true;
}

std::optional<ProcessList> KeptState::processes() {
  if (const auto text = read_side_file(store_, kProcessesFileName, log_)) {
    return decode_processes(*text);
  }
  const auto file = store_.read_side_file(kProcessesFileName);
  return file && !*file ? std::optional(ProcessList()) : std::nullopt;
}

void KeptState::keep_processes(const ProcessList& list) {
  if (!is_dry_run_) (void)write_side_file(store_, kProcessesFileName, encode_processes(list), log_);
}

}  // namespace pinfold::agent
