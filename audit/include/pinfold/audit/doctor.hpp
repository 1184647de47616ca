#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/audit/doctor_observed.hpp"

/// Checks what Pinfold and a kubelet with a static policy need from a machine.
namespace pinfold::audit {

enum class Verdict {
  kProblem,  ///< something does not work
  kWarning,  ///< it works, but less well than it could
  kUnknown,  ///< it could not be read
  kOk,
};
[[nodiscard]] std::string_view to_string(Verdict verdict);

struct Check {
  std::string name;  ///< a word of docs/doctor.md: "cgroup-mode"
  Verdict verdict = Verdict::kOk;
  std::string observed;       ///< "cgroup v2 at /sys/fs/cgroup"
  std::string expected = {};  ///< "" for kOk
  std::string mend = {};      ///< the command or setting that fixes it; "": none is known
  std::string caution = {};   ///< side effects of `mend`; "": none

  friend bool operator==(const Check&, const Check&) = default;
};
using Checks = std::vector<Check>;

/// Runs all checks; returns the worst first. Pure.
[[nodiscard]] Checks check_system(const ObservedSystem& system);

[[nodiscard]] std::size_t count(const Checks& checks, Verdict verdict);

/// Returns the object that `pinfold doctor -o json` prints: docs/doctor.md.
[[nodiscard]] nlohmann::json to_json(const Checks& checks, const ObservedSystem& system);

}  // namespace pinfold::audit
