#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "agent.hpp"
#include "container_runs.hpp"
#include "switch_trace.hpp"

/// Records which task runs on which CPU with the kernel's own tracing, in a private instance.
/// Events are reduced as soon as they are read from the ring buffers: an hour of a busy guest
/// produces a gigabyte of them. docs/harness-design.md explains why tracefs.
namespace pinfold::guest {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTracing = "/sys/kernel/tracing";
constexpr const char* kInstance = "/sys/kernel/tracing/instances/pinfold-witness";
constexpr const char* kWitnessName = "witness";
constexpr const char* kBufferKiB = "2048";  // of each CPU: some 30,000 events
constexpr std::size_t kMaxRecord = 16 << 20;
constexpr long kReadPause = 20'000'000;  // ns
/// How long after its time an event may reach its buffer (ns): QEMU may halt a CPU in between.
constexpr std::int64_t kSettled = 300'000'000;

std::int64_t monotonic_ns() {
  timespec time{};
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

std::string instance_file(const std::string& name) { return std::string(kInstance) + "/" + name; }

/// A hierarchy of control groups.
struct WatchedHierarchy {
  int number = 0;    ///< in /proc/PID/cgroup
  std::string home;  ///< where it is mounted
};

/// Returns the path of a task's group in a hierarchy, from the text of its /proc/PID/cgroup.
std::optional<std::string> path_in(const std::string& groups, int hierarchy) {
  const std::string prefix = std::to_string(hierarchy) + ":";
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(prefix)) continue;
    const std::size_t path = line.find(':', prefix.size());
    if (path != std::string::npos) return line.substr(path + 1);
  }
  return std::nullopt;
}

std::optional<std::string> group_of_task(int task, int hierarchy) {
  int failed = 0;
  const std::string text = read_text("/proc/" + std::to_string(task) + "/cgroup", failed);
  return failed == 0 ? path_in(text, hierarchy) : std::nullopt;
}

/// Returns the hierarchy that contains a group. Version 2 has the number 0.
std::optional<WatchedHierarchy> hierarchy_of(const Agent& agent, const std::string& group) {
  const auto home = std::find_if(
      agent.hierarchies.begin(), agent.hierarchies.end(),
      [&group](const std::string& one) { return group == one || group.starts_with(one + "/"); });
  if (home == agent.hierarchies.end()) return std::nullopt;
  if (access((*home + "/cgroup.controllers").c_str(), F_OK) == 0) return WatchedHierarchy{0, *home};
  const std::string controllers = ":" + home->substr(home->rfind('/') + 1) + ":";
  int failed = 0;
  std::istringstream lines(read_text("/proc/self/cgroup", failed));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(controllers) == std::string::npos) continue;
    return WatchedHierarchy{std::atoi(line.c_str()), *home};
  }
  return std::nullopt;
}

/// Returns a process's program, from its first argument; "" for a kernel thread, which has none.
std::string program_of(const std::string& process) {
  int failed = 0;
  const std::string arguments = read_text("/proc/" + process + "/cmdline", failed);
  return arguments.substr(0, arguments.find('\0'));
}

/// Returns the CPU that a kernel thread (migration/N) takes offline; -1 for any other task.
int stopped_by(const fs::path& process) {
  constexpr std::string_view kStopper = "migration/";
  int failed = 0;
  const std::string name = read_text(process / "comm", failed);
  return name.starts_with(kStopper) ? std::atoi(name.c_str() + kStopper.size()) : -1;
}

/// Calls `visit` for each entry of a folder. A process and its tasks may end meanwhile.
template <class Visit>
void for_each_entry(const fs::path& folder, const Visit& visit) {
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    visit(entry->path());
  }
}

/// Adds all tasks of the guest.
void know_all(ContainerRuns& runs, int hierarchy) {
  for_each_entry("/proc", [&](const fs::path& process) {
    const std::string name = process.filename();
    if (std::isdigit(static_cast<unsigned char>(name[0])) == 0) return;
    const std::string program = program_of(name);
    const int stops = program.empty() ? stopped_by(process) : -1;
    for_each_entry(process / "task", [&](const fs::path& task) {
      const int id = std::atoi(task.filename().c_str());
      const auto group = group_of_task(id, hierarchy);
      if (group) runs.know({id, std::atoi(name.c_str()), *group, program, stops});
    });
  });
}

/// Reads the formats of all events; returns an error, or "".
std::string read_formats(TraceFormats& formats) {
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const std::string folder(trace_event_folder(static_cast<TaskEventKind>(i)));
    int failed = 0;
    formats[i] = parse_trace_format(
        read_text(std::string(kTracing) + "/events/" + folder + "/format", failed));
  }
  const std::string missing = missing_trace_field(formats);
  return missing.empty() ? "" : "the kernel has no trace event with '" + missing + "'";
}

/// Creates the instance and starts recording; returns an error, or "".
std::string begin_tracing() {
  if (mount("tracefs", kTracing, "tracefs", MS_NOSUID, nullptr) != 0 && errno != EBUSY) {
    return describe_errno(kTracing, errno) + ": expected a kernel with CONFIG_EVENT_TRACING";
  }
  if (mkdir(kInstance, 0700) != 0) return describe_errno(kInstance, errno);
  std::vector<std::pair<std::string, std::string>> settings = {{"trace_clock", "mono"},
                                                               {"buffer_size_kb", kBufferKiB}};
  for (std::size_t i = 0; i < kTaskEventKinds; ++i) {
    const auto kind = static_cast<TaskEventKind>(i);
    if (kind == TaskEventKind::kMark) continue;  // marks need no enabled event
    settings.emplace_back("events/" + std::string(trace_event_folder(kind)) + "/enable", "1");
  }
  for (const auto& [name, value] : settings) {
    const int failed = write_text(instance_file(name), value, O_WRONLY);
    if (failed != 0) return describe_errno(instance_file(name), failed);
  }
  return "";
}

struct CpuBuffer {
  int cpu = 0;
  UniqueFd pages;
};

std::vector<CpuBuffer> open_buffers() {
  std::vector<CpuBuffer> buffers;
  for_each_entry(instance_file("per_cpu"), [&buffers](const fs::path& cpu) {
    const std::string name = cpu.filename();  // cpu12
    UniqueFd pages(open((cpu / "trace_pipe_raw").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (pages) buffers.push_back({std::atoi(name.c_str() + 3), std::move(pages)});
  });
  return buffers;
}

/// Returns how many events the kernel has lost, by its own count.
std::uint64_t counted_as_lost() {
  std::uint64_t lost = 0;
  for_each_entry(instance_file("per_cpu"), [&lost](const fs::path& cpu) {
    int unread = 0;
    std::istringstream lines(read_text(cpu / "stats", unread));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = line.find(": ");
      const std::string name = line.substr(0, colon);
      if (name != "overrun" && name != "commit overrun" && name != "dropped events") continue;
      lost += std::strtoull(line.c_str() + colon + 2, nullptr, 10);
    }
  });
  return lost;
}

/// Reads all buffers, and passes the events on in the order of their times.
class TraceReader {
 public:
  TraceReader(TraceFormats formats, std::vector<CpuBuffer> buffers, int hierarchy)
      : formats_(std::move(formats)),
        hierarchy_(hierarchy),
        buffers_(std::move(buffers)),
        page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), '\0') {}

  void read() {
    for (const CpuBuffer& buffer : buffers_) {
      ssize_t got = 0;
      while ((got = ::read(buffer.pages.get(), page_.data(), page_.size())) > 0) {
        DecodedPage decoded = decode_page(
            formats_, buffer.cpu, std::string_view(page_).substr(0, static_cast<std::size_t>(got)));
        lost_ += decoded.lost + (decoded.is_malformed ? 1 : 0);
        for (TaskEvent& event : decoded.events) {
          if (is_forked_into_group(event)) {
            event.text = group_of_task(event.task, hierarchy_).value_or("");
          }
        }
        std::move(decoded.events.begin(), decoded.events.end(), std::back_inserter(waiting_));
      }
    }
  }

  /// Passes on the events up to and including a time.
  void pass_on(std::int64_t until, ContainerRuns& runs) {
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [](const TaskEvent& a, const TaskEvent& b) { return a.time < b.time; });
    const auto end = std::find_if(waiting_.begin(), waiting_.end(),
                                  [until](const TaskEvent& event) { return event.time > until; });
    for (auto event = waiting_.begin(); event != end; ++event) runs.add(*event);
    waiting_.erase(waiting_.begin(), end);
  }

  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  TraceFormats formats_;
  int hierarchy_;
  std::vector<CpuBuffer> buffers_;
  std::string page_;
  std::vector<TaskEvent> waiting_;
  std::uint64_t lost_ = 0;
};

void sleep_ns(long nanoseconds) {
  const timespec span = {0, nanoseconds};
  (void)nanosleep(&span, nullptr);
}

/// Reads until it is asked to end.
Json read_until_end(TraceReader& reader, ContainerRuns& runs) {
  const sched_param urgent = {1};
  (void)sched_setscheduler(0, SCHED_FIFO, &urgent);
  while (!recorder_ends() && runs.text().size() < kMaxRecord) {
    const std::int64_t now = monotonic_ns();
    reader.read();
    reader.pass_on(now - kSettled, runs);
    sleep_ns(kReadPause);
  }
  const bool overflow = runs.text().size() >= kMaxRecord;
  while (!recorder_ends()) sleep_ns(kReadPause);
  const std::int64_t end = monotonic_ns();
  const int not_stopped = write_text(instance_file("tracing_on"), "0", O_WRONLY);
  sleep_ns(kSettled);
  reader.read();
  reader.pass_on(INT64_MAX, runs);
  runs.finish(end);
  const std::uint64_t lost = std::max(reader.lost(), counted_as_lost());
  std::string loss = runs.first_gap();
  if (lost != 0) loss = "the kernel has lost " + std::to_string(lost);
  if (not_stopped != 0) loss = describe_errno(instance_file("tracing_on"), not_stopped);
  return {{"runs", runs.text()},
          {"lost", lost + runs.gaps() + (not_stopped == 0 ? 0 : 1)},
          {"loss", loss},
          {"unknown", runs.unknown()},
          {"overflow", overflow}};
}

/// Removes the instance with its buffers.
void remove_instance() { (void)rmdir(kInstance); }

}  // namespace

Json start_witness(Agent& agent, const std::string& root) {
  const auto hierarchy = hierarchy_of(agent, root);
  if (!hierarchy) return refuse("'" + root + "': expected a group of a mounted hierarchy");
  if (agent.witness.pid >= 0) return refuse("the witness is already running");
  TraceFormats formats;
  std::string error = begin_tracing();
  if (error.empty()) error = read_formats(formats);
  std::vector<CpuBuffer> buffers;
  if (error.empty()) buffers = open_buffers();
  if (error.empty() && buffers.empty()) error = "the kernel shows no buffer of trace events";
  if (!error.empty()) {
    remove_instance();
    return refuse(error);
  }
  ContainerRuns runs(
      root.substr(hierarchy->home.size()), hierarchy->number,
      [number = hierarchy->number](int task) { return group_of_task(task, number); });
  know_all(runs, hierarchy->number);
  TraceReader reader(std::move(formats), std::move(buffers), hierarchy->number);
  return start_recorder(agent.witness, kWitnessName,
                        [&reader, &runs] { return read_until_end(reader, runs); });
}

Json mark_witness(const Agent& agent, int number) {
  if (agent.witness.pid < 0) return refuse("the witness does not run");
  const int failed = write_text(instance_file("trace_marker"), std::to_string(number), O_WRONLY);
  if (failed != 0) return refuse(describe_errno(instance_file("trace_marker"), failed));
  return {{"ok", true}};
}

Json stop_witness(Agent& agent) {
  Json report = stop_recorder(agent.witness, kWitnessName);
  remove_instance();
  return report;
}

void drop_witness(Agent& agent) {
  agent.witness = {};
  remove_instance();
}

}  // namespace pinfold::guest
