#include "pinfold/audit/doctor.hpp"

#include <algorithm>

#include "doctor_parts.hpp"

namespace pinfold::audit {

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
  check_quiet(system, checks);
  check_containerd(system, checks);
  check_barrier(system, checks);
  for (const auto& [kind, problem] : system.problems) {
    checks.push_back({"unreadable", CheckStatus::kUnknown, problem.message,
                      "files that this user can read", "sudo pinfold doctor"});
  }
  std::stable_sort(checks.begin(), checks.end(),
                   [](const Check& a, const Check& b) { return a.verdict < b.verdict; });
  return checks;
}

}  // namespace pinfold::audit
