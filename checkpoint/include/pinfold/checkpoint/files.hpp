#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pinfold::checkpoint {

/// Pinfold's own names in the state directory. The kubelet ignores names that begin with a dot.
inline constexpr std::string_view kPodsFileName = ".pinfold_pods";
inline constexpr std::string_view kNodeFileName = ".pinfold_node";
inline constexpr std::string_view kJournalFileName = ".pinfold_journal";
/// How much of the journal is on the disk; written by a store that leaves its journal.
inline constexpr std::string_view kSyncedJournalFileName = ".pinfold_journal.synced";
/// A journal that was set aside because another program has written the state files since.
inline constexpr std::string_view kStaleJournalFileName = ".pinfold_journal.stale";
inline constexpr std::string_view kLockFileName = ".pinfold_lock";
inline constexpr std::string_view kQueueFileName = ".pinfold_queue";
inline constexpr std::string_view kTempPrefix = ".pinfold_tmp.";

/// The bytes of the state files. The store does not interpret them, with one exception: a file that
/// is not one JSON value counts as torn by a power cut.
struct Files {
  std::optional<std::string> cpu;        ///< cpu_manager_state
  std::optional<std::string> memory;     ///< memory_manager_state
  std::optional<std::string> pods;       ///< the agent's own state
  std::optional<std::string> node = {};  ///< the node that the state belongs to

  friend bool operator==(const Files&, const Files&) = default;
};

}  // namespace pinfold::checkpoint
