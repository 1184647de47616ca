#include "pinfold/enforce/process_table.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "kernel_files.hpp"

namespace pinfold::enforce {
namespace {

/// The largest number of CPUs that Linux can be configured for; Linux ignores unknown bits.
constexpr std::size_t kMaxCpus = 8192;
constexpr std::size_t kSetSize = CPU_ALLOC_SIZE(kMaxCpus);
using SetBuffer = std::array<cpu_set_t, kSetSize / sizeof(cpu_set_t)>;
/// Further threads of one process are ignored.
constexpr std::size_t kMaxThreads = 16384;

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  for (const std::string& name : list_kernel_directory(fmt::format("/proc/{}/task", process))) {
    pid_t thread = 0;
    if (read_number(name, thread)) threads.push_back(thread);
    if (threads.size() == kMaxThreads) break;
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

CpuSet to_set(const SetBuffer& buffer) {
  using Word = __cpu_mask;
  std::array<Word, kSetSize / sizeof(Word)> words{};
  std::memcpy(words.data(), buffer.data(), kSetSize);
  CpuSet cpus;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (Word rest = words[i]; rest != 0; rest &= rest - 1) {
      cpus.insert(CpuId{static_cast<int>(i * __NCPUBITS) + std::countr_zero(rest)});
    }
  }
  return cpus;
}

class ThisKernel final : public ProcessTable {
 public:
  [[nodiscard]] std::optional<ProcessId> identify(pid_t pid) const override {
    return enforce::identify(pid);
  }
  [[nodiscard]] std::string cpuset_path(pid_t pid, CgroupVersion cpusets) const override {
    return enforce::cpuset_path(pid, cpusets);
  }
  [[nodiscard]] std::vector<CpuSet> allowed_cpus(pid_t pid) const override {
    return enforce::allowed_cpus(pid);
  }
  [[nodiscard]] Result<void> widen_affinity(pid_t pid) const override {
    return enforce::widen_affinity(pid);
  }
};

}  // namespace

std::vector<CpuSet> ProcessTable::allowed_cpus(pid_t /*pid*/) const { return {}; }

Result<void> ProcessTable::widen_affinity(pid_t pid) const {
  return fail(ErrorCode::kUnsupported, fmt::format("process {} runs on another kernel", pid));
}

const ProcessTable& this_kernel() {
  static const ThisKernel kTable;
  return kTable;
}

std::vector<CpuSet> allowed_cpus(pid_t pid) {
  std::vector<CpuSet> sets;
  for (const pid_t thread : threads_of(pid)) {
    SetBuffer buffer{};
    if (::sched_getaffinity(thread, kSetSize, buffer.data()) == 0) sets.push_back(to_set(buffer));
  }
  return sets;
}

Result<void> widen_affinity(pid_t pid) {
  SetBuffer all;
  std::memset(all.data(), 0xFF, sizeof(all));
  bool is_done = false;
  for (const pid_t thread : threads_of(pid)) {
    if (::sched_setaffinity(thread, kSetSize, all.data()) == 0) {
      is_done = true;
    } else if (errno != ESRCH) {
      return fail_errno(errno, fmt::format("widen the CPU affinity of process {}", pid));
    }
  }
  if (is_done) return {};
  return fail(ErrorCode::kNotFound,
              fmt::format("process {}: it does not exist, or has ended", pid));
}

std::optional<ProcessStat> stat_of(pid_t pid) {
  constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD
  const std::string text = read_process_file(pid, "stat");
  std::string_view rest = text;
  // The second field is the name in parentheses, which may contain any character.
  const std::size_t name_end = rest.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(name_end + 2);
  if (next_field(rest, ' ') == "Z") return std::nullopt;
  ProcessStat stat;
  std::uint64_t flags = 0;
  const auto skip = [&rest](int count) {
    for (int i = 0; i < count; ++i) next_field(rest, ' ');
  };
  if (!read_number(next_field(rest, ' '), stat.parent)) return std::nullopt;
  skip(4);  // fields 5 to 8
  if (!read_number(next_field(rest, ' '), flags)) return std::nullopt;
  skip(12);  // fields 10 to 21
  if (!read_number(next_field(rest, ' '), stat.start_time)) return std::nullopt;
  stat.is_kernel_thread = (flags & kKernelThread) != 0;
  return stat;
}

std::optional<ProcessId> identify(pid_t pid) {
  const auto stat = stat_of(pid);
  return stat ? std::optional(ProcessId{pid, stat->start_time}) : std::nullopt;
}

bool descends_from(pid_t process, pid_t ancestor) {
  while (process > 0 && process != ancestor) {
    const auto stat = stat_of(process);
    if (!stat) return false;
    process = stat->parent;
  }
  return process == ancestor;
}

std::string cpuset_path(pid_t pid, CgroupVersion cpusets) {
  return cpuset_path(read_process_file(pid, "cgroup"), cpusets);
}

bool is_within(std::string_view path, std::string_view group) {
  const std::string inner = fmt::format("/{}/", group);
  return (std::string(path) + "/").find(inner) != std::string::npos;
}

Result<std::string> directory_of_process(pid_t pid, CgroupVersion cpusets) {
  PINFOLD_LET(auto mounts, parse_mountinfo(read_kernel_file("/proc/self/mountinfo")));
  PINFOLD_LET_WRAP(auto directory,
                   group_of_process(read_process_file(pid, "cgroup"), mounts, cpusets),
                   fmt::format("'/proc/{}/cgroup'", pid));
  return directory;
}

}  // namespace pinfold::enforce
