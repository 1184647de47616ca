#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/git_history.hpp"
#include "reducer.hpp"

namespace pinfold::harness {

/// Finds the kernel, or the commit of a kernel's sources, with which a failure begins.
class Bisection {
 public:
  /// `named`: kernels, the oldest first, or one range of commits ("REPOSITORY:GOOD..BAD"). `build`:
  /// the shell command that builds a commit's kernel; "": make, with the repository's .config.
  /// Errors: kInvalidArgument for anything else, such as a kernel that is neither known by its name
  /// nor a file, or for a command without commits; those of find_commit_range.
  [[nodiscard]] static Result<Bisection> plan(const std::vector<std::string>& named,
                                              std::string build, int interrupt_fd);

  /// Prints what it finds, and returns it for the results: "firstKernel", or "firstCommit" and
  /// "untestableCommits"; an empty object if it finds nothing. `one`: the reduced failure.
  [[nodiscard]] nlohmann::json run(Reducer& reducer, const GauntletCase& one) const;

 private:
  [[nodiscard]] nlohmann::json first_kernel(Reducer& reducer, const GauntletCase& one) const;
  [[nodiscard]] Result<FirstBadCommit> first_commit(Reducer& reducer,
                                                    const GauntletCase& one) const;

  std::vector<std::string> kernels_;
  std::optional<CommitRange> commits_;
  std::string build_;
  int interrupt_fd_ = -1;
};

}  // namespace pinfold::harness
