#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

/// The threads of a machine, from DIR/proc.
namespace pinfold::audit {

/// One thread. Process and thread are the same number for the first thread of a process.
struct LinuxTask {
  pid_t process = 0;
  pid_t thread = 0;
  pid_t parent = 0;          ///< of the process; 0: the kernel, or outside of the pid namespace
  std::int64_t started = 0;  ///< ticks of the clock since the start of the kernel
  std::string command;       ///< from the kernel, at most 15 bytes; may contain any byte
  char state = '?';          ///< 'R': runs or waits for a CPU
  CpuId cpu;                 ///< the CPU on which it runs, or ran last
  bool is_kernel = false;
  bool has_fixed_cpus = false;  ///< bound by the kernel for good
  CpuSet allowed;
  std::string group;  ///< absolute directory of its cgroup with the cpusets; "" if unknown
};

/// Parses the content of a thread's files stat and status; nullopt if something is missing.
[[nodiscard]] std::optional<LinuxTask> parse_task(std::string_view stat, std::string_view status);

/// Reads all threads that run or may run on `cpus`. Threads that end during the call are left out.
/// Errors: kNotFound, kIo if DIR/proc cannot be read.
[[nodiscard]] Result<std::vector<LinuxTask>> read_tasks(const std::string& root,
                                                        const CpuSet& cpus);

}  // namespace pinfold::audit
