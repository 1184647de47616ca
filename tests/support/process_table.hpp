#pragma once

#include <map>
#include <string>
#include <vector>

#include "pinfold/enforce/processes.hpp"

namespace pinfold::test {

/// Simulated processes: their groups, and the CPUs that their threads may run on.
class FakeProcesses final : public enforce::ProcessTable {
 public:
  struct Process {
    std::uint64_t start_time = 0;
    std::string path;             ///< of its group
    std::vector<CpuSet> threads;  ///< the CPUs that each may run on
    std::vector<CpuSet> widened;  ///< the same once the process is widened
    bool refuses = false;         ///< widening it fails
  };

  [[nodiscard]] std::optional<enforce::ProcessId> identify(pid_t pid) const override {
    const auto found = processes.find(pid);
    if (found == processes.end()) return std::nullopt;
    return enforce::ProcessId{pid, found->second.start_time};
  }
  [[nodiscard]] std::string cpuset_path(pid_t pid,
                                        enforce::CgroupVersion /*cpusets*/) const override {
    const auto found = processes.find(pid);
    return found == processes.end() ? "" : found->second.path;
  }
  [[nodiscard]] std::vector<CpuSet> allowed_cpus(pid_t pid) const override {
    const auto found = processes.find(pid);
    return found == processes.end() ? std::vector<CpuSet>{} : found->second.threads;
  }
  [[nodiscard]] Result<void> widen_affinity(pid_t pid) const override {
    const auto found = processes.find(pid);
    if (found == processes.end()) return fail(ErrorCode::kNotFound, "it has ended");
    if (found->second.refuses) return fail(ErrorCode::kIo, "it is another user's");
    found->second.threads = found->second.widened;
    return {};
  }

  mutable std::map<pid_t, Process> processes;
};

}  // namespace pinfold::test
