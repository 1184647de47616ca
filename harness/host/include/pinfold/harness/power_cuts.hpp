#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/judge.hpp"

namespace pinfold::harness {

/// What a power cut does to writes that the disk has acknowledged but not yet flushed. The
/// guest's agent knows them by their numbers.
enum class Loss {
  kNone,  ///< all are on the disk
  kAll,   ///< none is
  kSome,  ///< some of them are
  kTorn,  ///< some are, and of one some sectors
};
[[nodiscard]] std::string_view to_string(Loss loss);

/// The result of power cuts.
struct PowerCuts {
  std::size_t cuts = 0;
  std::size_t failed = 0;
  std::size_t writes = 0;    ///< of the disk, while it was recorded
  std::size_t flushes = 0;   ///< likewise
  std::size_t disks = 0;     ///< different disks that cuts have left: so many were mounted
  std::size_t contents = 0;  ///< different sets of files that cuts have left
  std::chrono::milliseconds elapsed{0};
  std::string first;          ///< the first that failed: where, and what was wrong
  std::vector<Check> checks;  ///< one for each kind of loss
};

/// What is examined after each cut.
struct PowerCutQuestion {
  std::vector<Loss> losses;
  std::vector<std::string> commands;  ///< for messages
  std::vector<std::string> files;
  std::vector<std::string> steps;  ///< titles of the steps before, each of which was acknowledged
};

/// Judges what the agent observed: after each cut the file system mounts, all commands succeed, and
/// the files are those that the last acknowledged step has left or those of the next one.
/// Errors: kInvalidArgument if it is no such report.
[[nodiscard]] Result<PowerCuts> judge_power_cuts(const nlohmann::json& report,
                                                 const PowerCutQuestion& question);

}  // namespace pinfold::harness
