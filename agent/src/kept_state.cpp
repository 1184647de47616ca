#include "pinfold/agent/kept_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/agent/pod_logs.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/base/boot_id.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/decide/start_advice.hpp"
#include "pinfold/types/named.hpp"
#include "side_file.hpp"
#include "start_cause.hpp"

// How it works
//
// A state is four files that change in one transaction of checkpoint::Store: the kubelet's CPU and
// memory state, .pinfold_pods (what the kubelet's files do not hold) and .pinfold_node (the node,
// and the one before the last reconfiguration). The store's journal makes a commit durable; the
// files follow in checkpoint_journal().
//
// Two copies are kept in memory: state_ (decoded) and base_, its files: the stored ones, plus the
// changes that a starting kubelet makes, which the first commit stores. So opening a directory
// writes nothing. The store knows what is stored.
//
// Invariants:
//   - state_ changes only after its bytes are durable. Exceptions: dry runs, and changes of no
//     assignment with Unstored::kIsKept.
//   - After a failed commit the disk holds the old or the new state. is_uncertain_ then makes the
//     next commit or checkpoint_journal() write the current state, even if the store knows of no
//     other.
//   - A damaged .pinfold_pods is copied aside before a commit replaces it.
//
// Cost: a commit encodes, compares and writes only the parts of the files that have changed, found
// by what the states share. Only a walk over pointers is linear in the number of pods.

namespace pinfold::agent {
namespace {

/// Returns the first changes: "a; b; c; 2 more".
std::string some_of(std::vector<std::string> changes) {
  return fmt::format("{}", fmt::join(first_named(std::move(changes), 3, "more"), "; "));
}

/// Warns that the configuration is not the one of the last change, which may have been made on
/// purpose while containers ran.
void warn_of_other_config(const Config& last, const Node& node, const LogSink& log) {
  auto changes = differences(node.machine(), last, node.machine(), node.config());
  if (changes.empty()) return;
  log(LogLevel::kWarning,
      fmt::format("this is not the node's current configuration: {}", some_of(std::move(changes))));
}

/// Reads the earlier node; nullptr if `node` is no longer the node that the file describes. Warns
/// if the configuration is another one.
std::shared_ptr<const EarlierNode> read_before(const checkpoint::Files& files, const Node& node,
                                               const LogSink& log) {
  if (!files.node) return nullptr;
  auto stored = decode_node(*files.node);  // known_machine() reports a damaged file
  if (!stored) return nullptr;
  if (stored->config != node.config()) {
    if (log) warn_of_other_config(stored->config, node, log);
    return nullptr;
  }
  if (!is_same_machine(stored->machine, node.machine(), memory_sizes_of(node.config()))) {
    return nullptr;
  }
  return std::move(stored->before);
}

/// Returns advice for a state that is for another node than `node`; "" if it is not.
std::string advice(const checkpoint::Files& files, const Node& node, const AgentOptions& options) {
  if (!files.node) return "";
  const auto stored = decode_node(*files.node);
  if (!stored) return "";
  auto changes = differences(stored->machine, stored->config, node.machine(), node.config());
  if (changes.empty()) return "";
  const char* const what = stored->machine == node.machine() ? "configuration of this node"
                           : stored->config == node.config() ? "machine"
                                                             : "node";
  if (options.lacks_config && stored->config != node.config()) {
    return fmt::format(
        "; the state is for another {} ({}), and no configuration is given: pass this node's "
        "configuration",
        what, some_of(std::move(changes)));
  }
  return fmt::format(
      "; the state is for another {} ({}): 'pinfold reconfigure' adapts it to this one while "
      "containers run",
      what, some_of(std::move(changes)));
}

/// Returns the errors of the CPU manager's file and of the memory manager's; a kubelet shows only
/// one at a time.
std::vector<StartError> all_refusals(const checkpoint::Files& stored, const Node& node,
                                     const StartError& first) {
  std::vector<StartError> all = {first};
  if (first.stage != StartStage::kCpuManager) return all;
  auto rest = checkpoint::would_start(node, {std::nullopt, stored.memory}, {});
  if (!rest && rest.error().stage == StartStage::kMemoryManager) {
    all.push_back(std::move(rest).error());
  }
  return all;
}

/// Returns the causes and what helps: "; ...". Empty if nothing but the kubelet's text is known.
std::string causes_text(const checkpoint::Files& stored, const Node& node,
                        const std::vector<StartError>& refusals, const AgentOptions& options) {
  const PodNames names = names_in_files(stored, options.pod_logs);
  std::string text;
  bool takes_from_containers = false;
  for (const StartError& refusal : refusals) {
    const StartCause cause = find_start_cause(node, refusal, stored, names);
    if (!cause.text.empty()) text += "; " + cause.text;
    takes_from_containers = takes_from_containers || cause.takes_from_containers;
  }
  const std::string advised = advice(stored, node, options);
  if (advised.empty() && takes_from_containers) text += kNoRepair;
  if (advised.empty() && holds_nothing(stored)) {
    text +=
        "; no container has exclusive CPUs or memory in these files, so deleting them loses "
        "nothing";
  }
  return text + advised;
}

/// Says which file can be read although the other one cannot.
std::string sound_file(const checkpoint::Files& stored, const std::vector<StartError>& refusals) {
  if (refusals.size() > 1) return "";
  const bool refuses_memory = refusals.front().stage == StartStage::kMemoryManager;
  const bool can_read_refused = refuses_memory
                                    ? stored.memory && checkpoint::inspect_memory(*stored.memory)
                                    : stored.cpu && checkpoint::inspect_cpu(*stored.cpu);
  const bool has_other = (refuses_memory ? stored.cpu : stored.memory).has_value();
  if (can_read_refused || !has_other) return "";
  return fmt::format("; '{}' is sound",
                     refuses_memory ? checkpoint::kCpuFileName : checkpoint::kMemoryFileName);
}

/// Describes why a state does not start, and what helps.
Error start_failure(const checkpoint::Files& stored, const Node& node, const StartError& error,
                    const AgentOptions& options) {
  const std::vector<StartError> refusals = all_refusals(stored, node, error);
  std::vector<std::string> texts;
  for (const StartError& refusal : refusals) {
    const bool is_cpu = refusal.stage == StartStage::kCpuManager;
    const checkpoint::KubeletFiles files{is_cpu ? stored.cpu : std::nullopt,
                                         is_cpu ? std::nullopt : stored.memory};
    texts.push_back("start: " + checkpoint::cause_of(refusal, files));
  }
  const std::string causes = causes_text(stored, node, refusals, options);
  return {ErrorCode::kCorrupt, 0,
          fmt::format("{}{}", fmt::join(texts, "; "),
                      causes.empty() ? sound_file(stored, refusals) : causes)};
}

/// Returns the format of a file; 0 if it has none.
int cpu_version(const std::string& bytes) {
  const auto cpu = checkpoint::inspect_cpu(bytes);
  return cpu ? cpu->version : 0;
}
int memory_version(const std::string& bytes) {
  const auto memory = checkpoint::inspect_memory(bytes);
  return memory ? memory->version : 0;
}

/// Warns of the unknown keys that the next change drops.
void warn_of_dropped_keys(std::string_view name, const checkpoint::UnknownKeys& keys,
                          const LogSink& log) {
  for (const std::string& key : keys.names()) {
    log(LogLevel::kWarning,
        fmt::format("'{}': key '{}' is unknown: the next change drops it", name, key));
  }
}

/// Warns of the baselines of resized containers that the next change drops, because its format has
/// none. Pinfold keeps them, but a kubelet that gets the directory back does not know them.
void warn_of_dropped_baselines(const std::string& bytes, int written, const LogSink& log) {
  constexpr int kFirstWithBaselines = 4;
  if (written >= kFirstWithBaselines) return;
  const auto cpu = checkpoint::inspect_cpu(bytes);
  if (!cpu) return;
  for (const auto& entry : cpu->state.baselines) {
    log(LogLevel::kWarning,
        fmt::format("'{}': the next change drops the baseline {} of {}, which Pinfold keeps for "
                    "itself: only the profiles kubelet-1.37 and kubelet-1.38 write CPU V4",
                    checkpoint::kCpuFileName, entry.value.to_string(), to_string(entry.id())));
  }
}

/// Moves the keys that a file of the format `written` keeps from `found` to the result.
/// `version_of(bytes)` returns the format of the file that has them.
template <class VersionOf>
checkpoint::UnknownKeys take_kept(checkpoint::UnknownKeys& found, const std::string& bytes,
                                  int written, const VersionOf& version_of) {
  checkpoint::UnknownKeys kept;
  if (!found.has_any_to_keep() || version_of(bytes) != written) return kept;
  kept.outside = std::exchange(found.outside, {});
  kept.in_data = std::exchange(found.in_data, {});
  kept.in_entries = std::exchange(found.in_entries, {});
  return kept;
}

checkpoint::FileText with_keys(checkpoint::FileText text, const checkpoint::UnknownKeys& keys) {
  if (!keys.has_any_to_keep()) return text;
  return checkpoint::FileText(checkpoint::with_keys(text.text(), keys));
}

/// A copy of a damaged .pinfold_pods, for inspection.
constexpr std::string_view kDamagedPodsFileName = ".pinfold_pods.damaged";

}  // namespace

Result<std::unique_ptr<KeptState>> KeptState::restore(const Node& node, checkpoint::Store store,
                                                      const AgentOptions& options) {
  std::unique_ptr<KeptState> kept(new KeptState(std::move(store), options));
  PINFOLD_LET_WRAP(const auto stored, kept->store_.load(), "read the state");
  kept->find_unknown_keys(node, stored);
  checkpoint::KubeletFiles files{stored.cpu, stored.memory};
  auto started = checkpoint::start(node, files, {}, options.state_dir);
  if (!started && started.error().stage == StartStage::kNodeAllocatable) {  // not the state's fault
    return fail(ErrorCode::kInvalidArgument,
                describe_start_error(node.machine(), node.config(), started.error()));
  }
  if (!started) {
    return tl::unexpected(start_failure(stored, node, started.error(), options));
  }
  kept->state_.node = *std::move(started);
  kept->base_ = kept->store_.texts();
  if (!options.is_stored_node) {
    kept->before_ = read_before(stored, node, options.log);
    std::string node_text = encode_node(node.machine(), node.config(), kept->before_);
    if (node_text != stored.node) kept->base_.node = checkpoint::FileText(std::move(node_text));
  }
  if (files.cpu != stored.cpu) {
    kept->base_.cpu = with_keys(checkpoint::FileText(*files.cpu), kept->cpu_keys_);
  }
  if (files.memory != stored.memory) {
    kept->base_.memory = with_keys(checkpoint::FileText(*files.memory), kept->memory_keys_);
  }
  PINFOLD_TRY(kept->restore_pods(node, stored, options.state_dir));
  NodeState& state = kept->state_.node;
  state.held_names.names = names_in_pod_logs(options.pod_logs, state.held);
  if (options.profile_source == ProfileSource::kStateFiles) {
    kept->state_.kubelet_profile = node.config().profile;
  }
  // Counts that cannot be read start at zero, as a kubelet's counts do at every start.
  kept->metrics_ = read_side_file(kept->store_, kMetricsFileName, decode_metrics, options.log)
                       .value_or(Metrics{});
  return kept;
}

void KeptState::find_unknown_keys(const Node& node, const checkpoint::Files& stored) {
  const checkpoint::Formats writes = checkpoint::formats_of(checkpoint::kubelet_of(node)).writes;
  if (stored.cpu) {
    auto found = checkpoint::unknown_keys(*stored.cpu);
    cpu_keys_ = take_kept(found, *stored.cpu, writes.cpu, cpu_version);
    if (log_) warn_of_dropped_keys(checkpoint::kCpuFileName, found, log_);
    if (log_) warn_of_dropped_baselines(*stored.cpu, writes.cpu, log_);
  }
  if (stored.memory) {
    auto found = checkpoint::unknown_keys(*stored.memory);
    memory_keys_ = take_kept(found, *stored.memory, writes.memory, memory_version);
    if (log_) warn_of_dropped_keys(checkpoint::kMemoryFileName, found, log_);
  }
}

Result<void> KeptState::restore_pods(const Node& node, const checkpoint::Files& stored,
                                     const std::string& directory) {
  const std::string path = fmt::format("'{}/{}'", directory, checkpoint::kPodsFileName);
  const NodeState from_kubelet = state_.node;
  auto decoded = decode_pods(stored.pods, state_);
  if (!decoded && decoded.error().code != ErrorCode::kCorrupt) {
    return fail(std::move(decoded).error().wrap(path));
  }
  if (!decoded) {
    damaged_pods_ = stored.pods;
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
  if (node.cpu().is_static() && !stored.cpu) return missing(checkpoint::kCpuFileName);
  if (node.memory().is_static() && !stored.memory) return missing(checkpoint::kMemoryFileName);
  return {};
}

Result<void> KeptState::commit(const Node& node, AgentState next, Unstored unstored) {
  if (!is_dry_run_) {
    checkpoint::FileTexts texts = base_;
    const bool has_new_cpus = state_.node.cpu.checkpoint() != next.node.cpu.checkpoint();
    const bool has_new_memory = state_.node.memory.checkpoint() != next.node.memory.checkpoint();
    if (has_new_cpus) {
      texts.cpu = with_keys(kubelet_encoder_.cpu(node, next.node.cpu), cpu_keys_);
    }
    if (has_new_memory) {
      texts.memory = with_keys(kubelet_encoder_.memory(node, next.node.memory), memory_keys_);
    }
    texts.pods = pods_encoder_.encode(next);
    auto stored = store_texts(texts);
    const bool is_kept = unstored == Unstored::kIsKept && !has_new_cpus && !has_new_memory;
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
    return fail(ErrorCode::kCorrupt, "start: " + checkpoint::cause_of(started.error(), {}));
  }
  const checkpoint::Formats formats = checkpoint::formats_of(checkpoint::kubelet_of(to)).writes;
  const bool keeps_format = formats == checkpoint::formats_of(checkpoint::kubelet_of(from)).writes;
  if (keeps_format) {
    if (files.cpu) files.cpu = checkpoint::with_keys(*std::move(files.cpu), cpu_keys_);
    if (files.memory) files.memory = checkpoint::with_keys(*std::move(files.memory), memory_keys_);
  } else if (log_) {
    warn_of_dropped_keys(checkpoint::kCpuFileName, cpu_keys_, log_);
    warn_of_dropped_keys(checkpoint::kMemoryFileName, memory_keys_, log_);
  }
  const checkpoint::Files base = files_of(base_);
  const bool is_repetition = from.machine() == to.machine() && from.config() == to.config() &&
                             files.cpu == base.cpu && files.memory == base.memory;
  auto before = before_;  // a repetition must not overwrite the undo information
  if (!is_repetition) {
    EarlierNode earlier{
        from.machine(), from.config(), {base.cpu, base.memory}, {}, state_.node.cpu.baselines};
    for (const ActivePod& pod : state_.node.pods) earlier.pods.insert(pod.spec.uid);
    before = std::make_shared<const EarlierNode>(std::move(earlier));
  }
  checkpoint::FileTexts texts =
      checkpoint::texts_of({std::move(files.cpu), std::move(files.memory), std::nullopt,
                            encode_node(to.machine(), to.config(), before)});
  texts.pods = pods_encoder_.encode(next);
  if (!is_dry_run_) PINFOLD_TRY_WRAP(store_texts(texts), "persist");
  if (!keeps_format) cpu_keys_ = memory_keys_ = {};
  before_ = std::move(before);
  state_ = std::move(next);
  return {};
}

Result<void> KeptState::store_texts(const checkpoint::FileTexts& texts) {
  checkpoint::FileTexts base = texts;  // needs memory, so before the commit
  if (texts != store_.texts() || is_uncertain_) {
    if (damaged_pods_) keep_damaged_pods();
    is_uncertain_ = true;
    PINFOLD_TRY(store_.commit_texts(texts));
    is_uncertain_ = false;
  }
  base_ = std::move(base);
  return {};
}

void KeptState::keep_damaged_pods() {
  const auto kept = store_.write_side_file(kDamagedPodsFileName, *damaged_pods_);  // unchanged
  if (!kept) return warn_of_side_file(log_, kDamagedPodsFileName, kept.error());
  damaged_pods_.reset();
}

Result<void> KeptState::checkpoint_journal() {
  write_metrics();
  // A request that could not be stored was either answered with an error, so that its state must
  // not reappear, or kept: see Unstored.
  if (is_uncertain_) {
    checkpoint::FileTexts texts = base_;
    texts.pods = pods_encoder_.encode(state_);
    const auto stored = store_texts(texts);
    if (!stored) {
      return fail(unknown_outcome(
          fmt::format("an earlier request could not be stored, and the current state cannot be "
                      "stored either: {}",
                      stored.error().message)));
    }
  }
  return store_.checkpoint_journal();
}

Result<void> KeptState::leave_journal() {
  if (is_uncertain_ || !store_.leave_journal()) return checkpoint_journal();
  write_metrics();
  return {};
}

void KeptState::write_metrics() {
  if (!has_new_metrics_) return;
  has_new_metrics_ = !write_side_file(store_, kMetricsFileName, encode_metrics(metrics_), log_);
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

quiet::KeptKnobs KeptState::knobs() {
  const auto decode = [](std::string_view text) { return quiet::decode_kept(text, boot_id()); };
  return read_side_file(store_, kKnobsFileName, decode, log_).value_or(quiet::KeptKnobs());
}

bool KeptState::keep_knobs(const quiet::KeptKnobs& knobs) {
  if (is_dry_run_) return false;
  return write_side_file(store_, kKnobsFileName, quiet::encode_kept(knobs, boot_id()), log_);
}

}  // namespace pinfold::agent
