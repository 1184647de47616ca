#include "pinfold/audit/doctor.hpp"

#include <algorithm>

#include "doctor_parts.hpp"

namespace pinfold::audit {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProblem:
      return "problem";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kUnknown:
      return "unknown";
    case Verdict::kOk:
      break;
  }
  return "ok";
}

std::size_t count(const Checks& checks, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(),
                    [verdict](const Check& check) { return check.verdict == verdict; }));
}

Checks check_system(const ObservedSystem& system) {
  Checks checks;
  check_cgroups(system, checks);
  check_live_cpusets(system, checks);
  check_kernel(system, checks);
  check_machine(system, checks);
  check_kubelet(system, checks);
  check_systemd(system, checks);
  check_service(system, checks);
  check_neighbours(system, checks);
  check_containerd(system, checks);
  for (const auto& [kind, problem] : system.problems) {
    checks.push_back({"unreadable", Verdict::kUnknown, problem.message,
                      "files that this user can read", "sudo pinfold doctor"});
  }
  std::stable_sort(checks.begin(), checks.end(),
                   [](const Check& a, const Check& b) { return a.verdict < b.verdict; });
  return checks;
}

}  // namespace pinfold::audit
