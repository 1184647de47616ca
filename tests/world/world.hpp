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

/// A promise that was broken.
struct Failure {
  std::size_t action = 0;  ///< its number in the history, from 0
  std::string promise;     ///< "overlap", "lost", ...: what a shrunk history must still break
  std::string what;        ///< a sentence with the values

  friend bool operator==(const Failure&, const Failure&) = default;
};

/// What was done in a world, and how often.
struct Tally {
  std::uint64_t actions = 0;
  std::uint64_t operations = 0;                 ///< of the service, on the disk and in the kernel
  std::uint64_t checks = 0;                     ///< for overlap
  std::uint64_t starts = 0;                     ///< of the service
  std::chrono::seconds time{0};                 ///< that has passed in the world
  std::uint64_t reconciliations = 0;            ///< that were due
  std::uint64_t idle = 0;                       ///< the same, like the one before and not done
  std::map<std::string, std::uint64_t> faults;  ///< that happened, by name

  Tally& operator+=(const Tally& other);
};

/// What the kernel has after one operation.
struct Frame {
  struct Row {
    CpuSet cpus;
    bool is_exclusive = false;
    bool runs = false;  ///< has a process

    friend bool operator==(const Row&, const Row&) = default;
  };
  std::size_t action = 0;
  std::string operation;            ///< of the service or the runtime, or the action itself
  std::uint64_t faults = 0;         ///< that have happened so far
  std::map<std::string, Row> rows;  ///< by container, or group that is no container's
};

struct Outcome {
  std::optional<Failure> failure;
  Tally tally;
  std::vector<std::string> log;  ///< empty if it is off
  std::vector<Frame> frames;     ///< the same
};

enum class Log { kOff, kOn };

/// A known mistake, made by what is between the service and its machine: a world that does not
/// notice it proves nothing.
enum class Bug {
  kNone,
  kNoDirectorySync,  ///< the name of a new journal is not made durable
  kNoFileSync,       ///< contents are not made durable
  kNoJournal,        ///< the files are replaced without a journal
  kGrantFirst,       ///< the cpuset of a container that shrinks is written after the next one
  kOldValues,        ///< a value of the kernel is read once and believed for ever
  kEmptyIsNoChange,  ///< an empty cpuset is not written
  kNoProcesses,      ///< a group counts as empty while processes run in it
  kClockBack,        ///< the clock runs back from an hour on
  kOldJournal,       ///< a journal that was removed is back
  kReplayedJournal,  ///< the journal before the one that was removed is back
  kSwappedEvents,    ///< what ended comes after the start of what has its name now
  kSameIds,          ///< the same, and both have one id
  kLostEvents,       ///< what others change below the root is not told
  kEarlyLock,        ///< a service that stops writes after the next one has started
  kReusedNumbers,    ///< a process is taken for a later one with its number
  kRefuseAll,        ///< the plugin lets no container be created
  kLateUpdates,      ///< the runtime writes cpusets of answers after the next container's start
};
/// "grant-first"; nullopt for another text.
[[nodiscard]] std::optional<Bug> parse_bug(std::string_view name);

/// Lets a history happen: the same one always in the same way.
[[nodiscard]] Outcome run(const History& history, Log log = Log::kOff, Bug bug = Bug::kNone);

/// A part of the history that breaks the same promise, as short as it was found.
/// Domain: run(history) breaks one.
[[nodiscard]] History shrink(const History& history, Bug bug = Bug::kNone);

}  // namespace pinfold::world
