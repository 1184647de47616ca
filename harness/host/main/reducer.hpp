#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "pinfold/harness/gauntlet.hpp"
#include "pinfold/harness/run_options.hpp"

namespace pinfold::harness {

/// How a variation of a failed case ends.
enum class Trial {
  kFails,  ///< with the same verdict, at the same step
  kPasses,
  kDiffers,  ///< in another way; also if it cannot be loaded, or the user interrupts
};

/// Runs variations of a case to find the smallest one that fails in the same way.
class Reducer {
 public:
  Reducer(std::filesystem::path file, GauntletCase one, FailureKind kind, const RunOptions& options)
      : file_(std::move(file)), case_(std::move(one)), kind_(std::move(kind)), options_(options) {}

  /// Reduces the machine, then the steps, and then the machine again, because fewer steps may need
  /// a smaller one. Stops after 200 runs.
  [[nodiscard]] GauntletCase reduce();
  [[nodiscard]] Trial attempt(const GauntletCase& variation);
  [[nodiscard]] bool is_interrupted() const { return is_interrupted_; }
  /// The scenario's file: paths in cases are relative to its folder.
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  /// Returns whether a variation fails in the same way; false after too many runs.
  [[nodiscard]] bool fails(const GauntletCase& variation);
  void reduce_machine();
  void reduce_steps();
  [[nodiscard]] GauntletCase with(const char* field, nlohmann::json value) const;

  std::filesystem::path file_;
  GauntletCase case_;
  FailureKind kind_;
  const RunOptions& options_;
  int runs_ = 0;
  bool is_interrupted_ = false;
};

}  // namespace pinfold::harness
