#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// The result of a check of a machine.
namespace pinfold::audit {

enum class CheckStatus {
  kProblem,  ///< something does not work
  kWarning,  ///< it works, but less well than it could
  kUnknown,  ///< it could not be read
  kOk,
};
[[nodiscard]] std::string_view to_string(CheckStatus verdict);

struct Check {
  std::string name;  ///< a word of docs/doctor.md: "cgroup-mode"
  CheckStatus verdict = CheckStatus::kOk;
  std::string observed;       ///< "cgroup v2 at /sys/fs/cgroup"
  std::string expected = {};  ///< "" for kOk
  std::string remedy = {};    ///< the command or setting that fixes it; "": none is known
  std::string caution = {};   ///< side effects of `remedy`; "": none

  friend bool operator==(const Check&, const Check&) = default;
};
using Checks = std::vector<Check>;

[[nodiscard]] std::size_t count(const Checks& checks, CheckStatus verdict);

}  // namespace pinfold::audit
