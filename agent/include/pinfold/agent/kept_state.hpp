#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/metrics.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/agent/process_list.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet_encoder.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/quiet/kept_knobs.hpp"

namespace pinfold::agent {

/// Ends the error for a kubelet's state whose containers have CPUs that the node reserves or does
/// not have: `pinfold checkpoint repair` would release these CPUs.
inline constexpr std::string_view kNoRepair =
    "; repairing the files would release such assignments";

/// The side file with the values that Pinfold has changed: see quiet::encode_kept.
inline constexpr std::string_view kKnobsFileName = ".pinfold_knobs";

/// The state in an agent's state directory, with a copy in memory. The only part of an agent that
/// touches the disk. A new state is durable before it takes effect, except with Unstored::kIsKept.
/// The side files (counts, process list) may be lost without affecting decisions.
class KeptState {
 public:
  /// Restores the state and checks it against the node, as a starting kubelet does. Writes nothing.
  /// Uses these `options`: state_dir (the name of the directory of `store` in messages), dry_run,
  /// log and profile_source. If the pods file is damaged, logs a warning and holds the pods of the
  /// kubelet's files; the next commit keeps a copy of the damaged file.
  /// Errors: kCorrupt if a file is invalid (with the kubelet's text where there is one), or if a
  /// kubelet file is missing although pods are known; kUnsupported for a later version; kIo.
  [[nodiscard]] static Result<std::unique_ptr<KeptState>> restore(const Node& node,
                                                                  checkpoint::Store store,
                                                                  const AgentOptions& options);

  [[nodiscard]] const AgentState& state() const { return state_; }
  /// Returns the counts since the state directory was made. A crash loses those since the journal
  /// was last checkpointed.
  [[nodiscard]] const Metrics& metrics() const { return metrics_; }

  /// Makes `next` durable, then makes it the state. A dry run only does the latter. `node`: the
  /// current node, from restore() or replace_node().
  /// Errors: kIo; then nothing has changed. With kIsKept, a failure may be a logged warning only.
  [[nodiscard]] Result<void> commit(const Node& node, AgentState next,
                                    Unstored unstored = Unstored::kFails);
  /// Commits the state of another node, `to`, and also stores the node `from` with its state for an
  /// undo. Errors: kCorrupt if a kubelet on `to` would not start from the files, with its text;
  /// kIo. Then nothing has changed.
  [[nodiscard]] Result<void> replace_node(const Node& from, const Node& to, AgentState next);
  /// Replaces the names of adopted groups; the next commit stores them.
  void rename_adopted(ContainerMap<std::string> adopted) { state_.adopted = std::move(adopted); }
  /// Returns the node before the last replacement.
  [[nodiscard]] const std::shared_ptr<const EarlierNode>& before() const { return before_; }
  /// Calls Store::checkpoint_journal, and writes the counts if they have changed.
  [[nodiscard]] Result<void> checkpoint_journal();
  /// Makes closing leave the journal to the next opening, see Store::leave_journal; if that is not
  /// possible, calls checkpoint_journal().
  [[nodiscard]] Result<void> leave_journal();
  /// Replaces the counts; does nothing in a dry run.
  void set_metrics(const Metrics& metrics);

  /// Reads which processes ran in which group at the last reconciliation. nullopt if the file
  /// cannot be read and has to be replaced.
  [[nodiscard]] std::optional<ProcessList> processes();
  void keep_processes(const ProcessList& list);

  /// Reads which values of the system Pinfold has changed since the kernel started; none if the
  /// file cannot be read.
  [[nodiscard]] quiet::KeptKnobs knobs();
  /// Stores these. Returns false if that fails. Not synced: a power cut resets the values, too.
  [[nodiscard]] bool keep_knobs(const quiet::KeptKnobs& knobs);

 private:
  KeptState(checkpoint::Store store, const AgentOptions& options)
      : store_(std::move(store)), log_(options.log), is_dry_run_(options.dry_run) {}
  /// Finds the keys that stay in the files of `node`; warns of the others.
  void find_unknown_keys(const Node& node, const checkpoint::Files& stored);
  [[nodiscard]] Result<void> store_texts(const checkpoint::FileTexts& texts);
  [[nodiscard]] Result<void> restore_pods(const Node& node, const checkpoint::Files& stored,
                                          const std::string& directory);
  void keep_damaged_pods();
  void write_metrics();

  checkpoint::Store store_;
  LogSink log_;
  bool is_dry_run_ = false;
  AgentState state_;
  /// The files of state_: what is stored, plus what a start adds.
  checkpoint::FileTexts base_;
  /// Keys of the stored files that no kubelet knows, as long as the files keep their format.
  checkpoint::UnknownKeys cpu_keys_;
  checkpoint::UnknownKeys memory_keys_;
  checkpoint::KubeletEncoder kubelet_encoder_;
  PodsEncoder pods_encoder_;
  bool is_uncertain_ = false;  ///< a commit has failed: the disk may be newer than base_
  std::optional<std::string> damaged_pods_;  ///< a stored file that could not be decoded
  Metrics metrics_;
  bool has_new_metrics_ = false;  ///< the side file is out of date
  std::shared_ptr<const EarlierNode> before_;
};

}  // namespace pinfold::agent
