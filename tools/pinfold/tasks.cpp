#include "tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "pinfold/base/read_file.hpp"
#include "pinfold/enforce/mounts.hpp"

namespace pinfold::tools {
namespace {

/// Numbers after the state, which is field 3 of stat(5).
constexpr std::size_t kFlags = 9;
constexpr std::size_t kProcessor = 39;
constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD

template <class Number>
std::optional<Number> number_from(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Field `number` of a line of stat(5), of which `rest` begins with field 3.
std::string_view field_of(std::string_view rest, std::size_t number) {
  for (std::size_t i = 3; i < number; ++i) {
    const std::size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) return "";
    rest.remove_prefix(blank + 1);
  }
  return rest.substr(0, rest.find_first_of(" \n"));
}

/// The value of a line "NAME:\tVALUE".
std::string_view value_of(std::string_view status, std::string_view name) {
  for (std::size_t begin = 0; begin < status.size();) {
    const std::size_t end = std::min(status.find('\n', begin), status.size());
    std::string_view line = status.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.starts_with(":\t")) return line.substr(2);
  }
  return "";
}

std::vector<pid_t> numbered_entries(const std::string& directory, std::error_code& error) {
  std::vector<pid_t> numbers;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto number = number_from<pid_t>(entry->path().filename().native());
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

std::optional<Task> parse_task(std::string_view stat, std::string_view status) {
  const std::size_t open = stat.find('(');
  const std::size_t close = stat.rfind(") ");  // the name may have any character
  if (open == std::string_view::npos || close == std::string_view::npos || close <= open) {
    return std::nullopt;
  }
  const std::string_view rest = stat.substr(close + 2);
  const auto thread = number_from<pid_t>(stat.substr(0, stat.find(' ')));
  const auto flags = number_from<std::uint64_t>(field_of(rest, kFlags));
  const auto cpu = number_from<std::int32_t>(field_of(rest, kProcessor));
  const auto process = number_from<pid_t>(value_of(status, "Tgid"));
  auto allowed = CpuSet::parse(value_of(status, "Cpus_allowed_list"));
  if (!thread || !flags || !cpu || !process || !allowed || rest.empty()) return std::nullopt;
  Task task;
  task.process = *process;
  task.thread = *thread;
  task.command = stat.substr(open + 1, close - open - 1);
  task.state = rest.front();
  task.cpu = CpuId{*cpu};
  task.is_kernel = (*flags & kKernelThread) != 0;
  task.allowed = *std::move(allowed);
  return task;
}

Result<std::vector<Task>> read_tasks(const std::string& root, const CpuSet& cpus) {
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
  std::vector<Task> tasks;
  for (const pid_t process : processes) {
    const std::string directory = fmt::format("{}/{}", proc, process);
    std::optional<std::string> group;  // of the process: threaded groups are not told apart
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

}  // namespace pinfold::tools
