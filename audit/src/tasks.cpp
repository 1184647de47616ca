#include "pinfold/audit/tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "pinfold/audit/proc_files.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/enforce/mounts.hpp"

namespace pinfold::audit {
namespace {

/// Parses a number in the range of process ids and CPUs.
std::optional<std::int32_t> id_from(std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

std::vector<pid_t> numbered_entries(const std::string& directory, std::error_code& error) {
  std::vector<pid_t> numbers;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto number = id_from(entry->path().filename().native());
    if (number && *number > 0) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string group_of(const std::string& process, const std::vector<enforce::Mount>& mounts) {
  using enforce::CgroupVersion;
  const auto text = read_file(process + "/cgroup");
  if (!text) return "";
  const bool is_v1 = !enforce::cpuset_path(*text, CgroupVersion::kV1).empty();
  auto group =
      enforce::group_of_process(*text, mounts, is_v1 ? CgroupVersion::kV1 : CgroupVersion::kV2);
  return group ? *std::move(group) : "";
}

}  // namespace

std::optional<LinuxTask> parse_task(std::string_view stat, std::string_view status) {
  constexpr std::size_t kParent = 4;
  constexpr std::size_t kStarted = 22;
  constexpr std::size_t kProcessor = 39;
  const auto fields = split_proc_stat(stat);
  if (!fields || fields->rest.empty()) return std::nullopt;
  const auto thread = id_from(fields->id);
  const auto flags = parse_number(fields->field(kStatFlags));
  const auto parent = id_from(fields->field(kParent));
  const auto started = parse_number(fields->field(kStarted));
  const auto cpu = id_from(fields->field(kProcessor));
  const auto process = id_from(status_value(status, "Tgid"));
  auto allowed = parse_allowed_cpus(status);
  const bool has_numbers = thread && parent && flags && started && cpu && process;
  if (!has_numbers || !allowed) return std::nullopt;
  LinuxTask task;
  task.process = *process;
  task.thread = *thread;
  task.parent = *parent;
  task.started = *started;
  task.command = fields->name;
  task.state = fields->rest.front();
  task.cpu = CpuId{*cpu};
  task.is_kernel = (*flags & kKernelThreadFlag) != 0;
  task.has_fixed_cpus = (*flags & kFixedCpusFlag) != 0;
  task.allowed = *std::move(allowed);
  return task;
}

Result<std::vector<LinuxTask>> read_tasks(const std::string& root, const CpuSet& cpus) {
  const std::string proc = root + "/proc";
  std::error_code error;
  const std::vector<pid_t> processes = numbered_entries(proc, error);
  if (error) {
    const bool is_missing = error == std::errc::no_such_file_or_directory;
    return fail(Error{is_missing ? ErrorCode::kNotFound : ErrorCode::kIo, error.value(),
                      fmt::format("read '{}': {}", proc, error.message())});
  }
  std::vector<enforce::Mount> mounts;
  if (const auto text = read_file(proc + "/self/mountinfo")) {
    if (auto parsed = enforce::parse_mountinfo(*text)) mounts = *std::move(parsed);
  }
  std::vector<LinuxTask> tasks;
  for (const pid_t process : processes) {
    const std::string directory = fmt::format("{}/{}", proc, process);
    std::optional<std::string> group;  // of the process: threaded groups are not distinguished
    std::error_code ended;
    for (const pid_t thread : numbered_entries(directory + "/task", ended)) {
      const std::string of_thread = fmt::format("{}/task/{}", directory, thread);
      const auto stat = read_file(of_thread + "/stat");
      const auto status = read_file(of_thread + "/status");
      if (!stat || !status) continue;
      auto task = parse_task(*stat, *status);
      if (!task || (!task->allowed.intersects(cpus) && !cpus.contains(task->cpu))) continue;
      if (!group) group = group_of(directory, mounts);
      task->group = *group;
      tasks.push_back(*std::move(task));
    }
  }
  return tasks;
}

}  // namespace pinfold::audit
