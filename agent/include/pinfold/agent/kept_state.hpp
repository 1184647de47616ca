#pragma once

#include <string>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/metrics.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/agent/process_list.hpp"
#include "pinfold/checkpoint/store.hpp"

namespace pinfold::agent {

/// What comes of a change that cannot be stored.
enum class Unstored {
  kFails,
  /// If it changes no assignment it becomes the state anyway, and is stored later. Only for what is
  /// asked for again after a restart.
  kIsKept,
};

/// What an agent keeps in its state directory, and the copy of it in memory: the only part of an
/// agent that touches the disk. The state is durable before it is the state, but for
/// Unstored::kIsKept; the side files (what was counted, where processes ran) may be lost, which
/// costs no decision.
class KeptState {
 public:
  /// Restores the state and checks it against the node, as a kubelet does when it starts. Writes
  /// nothing. Of `options`: state_dir (what messages call the directory of `store`), dry_run, log.
  /// If the file of the pods is damaged, what the kubelet's files say is held, and the log has a
  /// warning; the next commit keeps a copy of the damaged file.
  /// Errors: kCorrupt, with the kubelet's text where the kubelet has one, and if a file of the
  /// kubelet's is missing although pods are known; kUnsupported for a later version; kIo.
  [[nodiscard]] static Result<KeptState> restore(const Node& node, checkpoint::Store store,
                                                 const AgentOptions& options);

  [[nodiscard]] const AgentState& state() const { return state_; }
  /// What was counted since the state directory was made. A crash loses what was counted since the
  /// last settle().
  [[nodiscard]] const Metrics& metrics() const { return metrics_; }

  /// Makes `next` durable, then the state. In a dry run it becomes the state and is not stored.
  /// `node` is that of `restore`.
  /// Errors: kIo; then nothing has changed. With kIsKept a failure may be a warning in the log.
  [[nodiscard]] Result<void> commit(const Node& node, AgentState next,
                                    Unstored unstored = Unstored::kFails);
  /// The same for a state of another node, which is `to` from now on: also keeps what there was on
  /// `from`, the node until now. Errors: kCorrupt if a kubelet of `to` would not start from the
  /// files, with its text; kIo. Then nothing has changed.
  [[nodiscard]] Result<void> replace_node(const Node& from, const Node& to, AgentState next);
  /// Replaces the names of adopted groups; the next commit stores them.
  void rename_adopted(ContainerMap<std::string> adopted) { state_.adopted = std::move(adopted); }
  /// The node before the last replacement.
  [[nodiscard]] const std::optional<EarlierNode>& before() const { return before_; }
  /// See Store::settle; also writes the counts, if they have changed.
  [[nodiscard]] Result<void> settle();
  /// Counts what was committed; nothing in a dry run.
  void set_metrics(const Metrics& metrics);

  /// Where processes ran at the last reconciliation. nullopt: that cannot be read, and has to be
  /// replaced.
  [[nodiscard]] std::optional<ProcessList> processes();
  void keep_processes(const ProcessList& list);

 private:
  KeptState(checkpoint::Store store, const AgentOptions& options)
      : store_(std::move(store)), log_(options.log), is_dry_run_(options.dry_run) {}
  [[nodiscard]] Result<void> store_files(checkpoint::Files files);
  [[nodiscard]] Result<void> restore_pods(const Node& node, const std::string& directory);

  checkpoint::Store store_;
  LogSink log_;
  bool is_dry_run_ = false;
  AgentState state_;
  checkpoint::Files stored_;  ///< the bytes on disk
  checkpoint::Files base_;    ///< what the next commit starts from: stored_, and what a start adds
  PodsEncoder pods_encoder_;
  bool is_uncertain_ = false;      ///< a commit has failed: the disk may have more than stored_
  bool has_damaged_pods_ = false;  ///< stored_.pods could not be decoded
  Metrics metrics_;
  bool has_new_metrics_ = false;  ///< the side file is older
  std::optional<EarlierNode> before_;
  std::string node_text_;  ///< the node, as its file has it
};

}  // namespace pinfold::agent
