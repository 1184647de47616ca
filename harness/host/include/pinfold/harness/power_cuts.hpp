#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/judge.hpp"
#include "pinfold/harness/write_loss.hpp"

namespace pinfold::harness {

[[nodiscard]] std::string_view to_string(WriteLoss loss);

/// The result of power cuts.
struct PowerCuts {
  std::size_t cuts = 0;
  std::size_t failed = 0;
  std::size_t writes = 0;    ///< writes to the disk during the recording
  std::size_t flushes = 0;   ///< flushes during the recording
  std::size_t disks = 0;     ///< distinct disk states after cuts; each was mounted once
  std::size_t contents = 0;  ///< distinct sets of files after cuts
  std::chrono::milliseconds elapsed{0};
  std::string first;                 ///< the first failed cut: where and why
  std::vector<CheckedValue> checks;  ///< one for each kind of loss
};

/// What to examine after each cut.
struct PowerCutQuestion {
  std::vector<WriteLoss> losses;
  std::vector<std::string> commands;  ///< for messages
  std::vector<std::string> files;
  std::vector<std::string> steps;  ///< titles of the earlier steps, all of them acknowledged
};

/// Judges the agent's report: after each cut the file system mounts, all commands succeed, and the
/// files match those after the last acknowledged step or after the next one.
/// Errors: kInvalidArgument if the report is malformed.
[[nodiscard]] Result<PowerCuts> judge_power_cuts(const nlohmann::json& report,
                                                 const PowerCutQuestion& question);

}  // namespace pinfold::harness
