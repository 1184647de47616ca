#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::world {

/// A broken promise.
struct Failure {
  std::size_t action = 0;  ///< its number in the history, from 0
  std::string promise;     ///< "overlap", "lost", ...; a shrunk history must break the same one
  std::string what;        ///< a sentence with the values

  friend bool operator==(const Failure&, const Failure&) = default;
};

/// Counts of what happened in a world.
struct Tally {
  std::uint64_t actions = 0;
  std::uint64_t operations = 0;                 ///< of the service, on the disk and in the kernel
  std::uint64_t checks = 0;                     ///< for overlap
  std::uint64_t starts = 0;                     ///< of the service
  std::chrono::seconds time{0};                 ///< that has passed in the world
  std::uint64_t reconciliations = 0;            ///< that were due
  std::uint64_t idle = 0;                       ///< skipped: the one before did nothing
  std::uint64_t passed = 0;                     ///< containers that the barrier let pass
  std::uint64_t refused = 0;                    ///< containers that it refused
  std::map<std::string, std::uint64_t> faults;  ///< that struck, by name

  Tally& operator+=(const Tally& other);
};

/// The state of the kernel after an operation.
struct Frame {
  struct Row {
    CpuSet cpus;
    bool is_exclusive = false;
    bool runs = false;  ///< has a process

    friend bool operator==(const Row&, const Row&) = default;
  };
  std::size_t action = 0;
  std::string operation;            ///< of the service or the runtime, or the action itself
  std::uint64_t faults = 0;         ///< that have struck so far
  std::map<std::string, Row> rows;  ///< by container, or by group if it belongs to none
};

struct Outcome {
  std::optional<Failure> failure;
  Tally tally;
  std::vector<std::string> log;  ///< empty if logging is off
  std::vector<Frame> frames;     ///< empty if logging is off
};

enum class Log { kOff, kOn };

/// A known bug, injected between the service and its machine: a world that does not notice it
/// proves nothing.
enum class Bug {
  kNone,
  kNoDirectorySync,  ///< the name of a new journal is not made durable
  kNoFileSync,       ///< contents are not made durable
  kNoJournal,        ///< the files are replaced without a journal
  kGrantFirst,       ///< a cpuset that shrinks is written only after the next one
  kOldValues,        ///< a value is read from the kernel once and then cached for ever
  kEmptyIsNoChange,  ///< an empty cpuset is not written
  kNoProcesses,      ///< a group counts as empty while processes run in it
  kClockBack,        ///< the clock runs backwards after an hour
  kOldJournal,       ///< a removed journal reappears
  kReplayedJournal,  ///< the journal before the removed one reappears
  kSwappedEvents,    ///< ends are reported after the start of a container with the same name
  kSameIds,          ///< the same, and both have the same id
  kLostEvents,       ///< changes by others below the root are not reported
  kEarlyLock,        ///< a stopping service still writes after the next one has started
  kReusedNumbers,    ///< a process is mistaken for a later one with its number
  kRefuseAll,        ///< the plugin refuses every container
  kLateUpdates,      ///< the runtime writes cpusets of answers after the next start
  kOpenGate,         ///< the barrier lets every container pass
};
/// Parses "grant-first"; nullopt for any other text.
[[nodiscard]] std::optional<Bug> parse_bug(std::string_view name);

/// Runs a history; always with the same result.
[[nodiscard]] Outcome run(const History& history, Log log = Log::kOff, Bug bug = Bug::kNone);

/// Returns part of the history that breaks the same promise, as short as could be found.
/// Domain: run(history) breaks one.
[[nodiscard]] History shrink(const History& history, Bug bug = Bug::kNone);

}  // namespace pinfold::world
