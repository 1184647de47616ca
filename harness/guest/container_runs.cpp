#include "container_runs.hpp"

#include <algorithm>
#include <utility>

namespace pinfold::guest {
namespace {

// Flags of clone(). Not every C library's <sched.h> defines the second one.
constexpr std::uint64_t kCloneThread = 0x10000;
constexpr std::uint64_t kCloneIntoCgroup = 0x200000000;

constexpr const char* kMoved = "-";

/// Returns true for a path with which a runtime executes a copy of itself; runc does so in the
/// container's group.
bool is_copy_of_runtime(const std::string& program) {
  return program.starts_with("/proc/self/fd/") || program.starts_with("/dev/fd/");
}

/// Returns a program's path with '?' for each character that cannot be printed.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace

bool is_forked_into_group(const TaskEvent& event) {
  return event.kind == TaskEventKind::kFork && (event.flags & kCloneIntoCgroup) != 0;
}

ContainerRuns::ContainerRuns(std::string root, int hierarchy, GroupOf group_of)
    : root_(std::move(root)), hierarchy_(hierarchy), group_of_(std::move(group_of)) {}

void ContainerRuns::know(const KnownTask& known) {
  const int group = group_number(known.group);
  tasks_[known.id] = {known.process, group, group >= 0};
  if (known.stops_cpu >= 0) stoppers_[known.stops_cpu] = known.id;
  if (group >= 0) count_up(group, 0, known.program.empty() ? kMoved : known.program);
}

void ContainerRuns::add(const TaskEvent& event) {
  if (event.time < time_) {
    note_gap("an event of CPU " + std::to_string(event.cpu) + " came " +
             std::to_string(time_ - event.time) + " ns after a later one");
  }
  time_ = std::max(time_, event.time);
  if (cut_ == 0) cut_ = time_;
  switch (event.kind) {
    case TaskEventKind::kSwitch:
      return switch_to(event);
    case TaskEventKind::kFork:
      return fork(event);
    case TaskEventKind::kExec:
      return execute(event);
    case TaskEventKind::kExit:
      return end(event.task);
    case TaskEventKind::kAttach:
      return attach(event);
    case TaskEventKind::kMark:
      return mark(event);
  }
}

void ContainerRuns::finish(std::int64_t time) {
  time_ = std::max(time_, time);
  cut();
}

void ContainerRuns::switch_to(const TaskEvent& event) {
  Cpu& cpu = cpus_.try_emplace(event.cpu, Cpu{std::nullopt, cut_, std::nullopt}).first->second;
  const int ran = cpu.task.value_or(event.other);
  if (ran == event.other || is_thread_of(ran, event.other) || was_offline(event, ran)) {
    note_run(event.cpu, cpu, ran);
  } else {
    note_gap("task " + std::to_string(event.other) + " stopped running on CPU " +
             std::to_string(event.cpu) + " when task " + std::to_string(ran) + " ran there");
  }
  cpu.task = event.task;
  cpu.since = time_;
}

/// Returns true for a thread of a process. A thread that calls exec takes over the process ID; the
/// event for that comes a moment later.
bool ContainerRuns::is_thread_of(int id, int process) const {
  const auto task = tasks_.find(id);
  return task != tasks_.end() && task->second.process == process;
}

/// Returns true for the first switch of a CPU that was offline. Its last switch before, from the
/// task that takes it offline to the idle task, has no event: the kernel's tracepoints skip CPUs
/// that are offline. Source: Linux include/linux/tracepoint.h.
bool ContainerRuns::was_offline(const TaskEvent& event, int ran) const {
  const auto stopper = stoppers_.find(event.cpu);
  return event.other == 0 && stopper != stoppers_.end() && stopper->second == ran;
}

void ContainerRuns::fork(const TaskEvent& event) {
  const auto parent = tasks_.find(event.other);
  Task child = parent == tasks_.end() ? Task{event.task, kUnknownGroup, false} : parent->second;
  if ((event.flags & kCloneThread) == 0) child.process = event.task;
  if (is_forked_into_group(event)) {
    child.group = group_of_fork(event);
  } else if (child.group == kUnknownGroup) {
    child.group = group_of_fork(event);
    learn_group(event.other, child.group);
  }
  tasks_[event.task] = child;
  if (child.has_begun && child.group >= 0) count_up(child.group, time_, kMoved);
}

/// Returns the group of a new task that does not have its parent's, or whose parent's is unknown.
int ContainerRuns::group_of_fork(const TaskEvent& event) {
  const auto group = event.text.empty() ? group_of_(event.task) : std::optional(event.text);
  return group ? group_number(*group) : kUnknownGroup;
}

/// Sets the unknown group of a parent, which may have ended: a child starts in the same group.
void ContainerRuns::learn_group(int parent, int group) {
  const auto task = tasks_.find(parent);
  if (task == tasks_.end() || group == kUnknownGroup) return;
  task->second.group = group;
  unknown_.erase(parent);
}

void ContainerRuns::execute(const TaskEvent& event) {
  split();
  if (event.other != event.task) {  // not the first thread: it takes over that one's number
    tasks_[event.task] = tasks_[event.other];
    tasks_.erase(event.other);
    if (const auto cpu = cpus_.find(event.cpu); cpu != cpus_.end()) cpu->second.task = event.task;
  }
  Task& task = tasks_[event.task];
  if (task.group < 0 || task.has_begun || is_copy_of_runtime(event.text)) return;
  task.has_begun = true;
  count_up(task.group, time_, event.text.empty() ? kMoved : event.text);
}

void ContainerRuns::end(int id) {
  const auto task = tasks_.find(id);
  if (task == tasks_.end() || !task->second.has_begun) return;
  split();
  task->second.has_begun = false;
  if (task->second.group >= 0) count_down(task->second.group);
}

void ContainerRuns::attach(const TaskEvent& event) {
  if (event.other != hierarchy_) return;
  split();
  const int group = group_number(event.text);
  Task& first = tasks_.try_emplace(event.task, Task{event.task, kNoGroup, false}).first->second;
  if (first.process != event.task) return move(first, group);  // a single thread
  for (auto& [id, task] : tasks_) {
    if (task.process == event.task) move(task, group);
  }
}

void ContainerRuns::mark(const TaskEvent& event) {
  if (event.task < 0) return;
  is_marked_ = true;
  cut();
  write_line('m', {event.task, time_}, "");
}

/// Returns the number of a group; kNoGroup if it is not below the root. If the root is that of the
/// hierarchy, only nested groups count, because the others belong to the system.
int ContainerRuns::group_number(const std::string& path) {
  if (!path.starts_with(root_ + "/")) return kNoGroup;
  const std::string name = path.substr(root_.size() + 1);
  if (name.empty() || (root_.empty() && name.find('/') == std::string::npos)) return kNoGroup;
  const auto [at, is_new] = groups_.try_emplace(name, static_cast<int>(groups_.size()));
  if (is_new) {
    begun_.push_back(0);
    write_line('g', {at->second}, name);
  }
  return at->second;
}

void ContainerRuns::move(Task& task, int group) {
  const int before = std::exchange(task.group, group);
  if (!task.has_begun || before == group) return;
  if (group >= 0) count_up(group, time_, kMoved);  // first, so that no container seems to end
  if (before >= 0) count_down(before);
}

void ContainerRuns::count_up(int group, std::int64_t time, const std::string& program) {
  if (begun_[static_cast<std::size_t>(group)]++ != 0) return;
  cut();
  write_line('x', {group, time}, program);
}

void ContainerRuns::count_down(int group) {
  std::size_t& count = begun_[static_cast<std::size_t>(group)];
  if (count == 0 || --count != 0) return;
  cut();
  write_line('e', {group, time_}, "");
}

/// Notes that a task has run on a CPU from `cpu.since` until now, if it is a container's.
void ContainerRuns::note_run(int number, Cpu& cpu, int id) {
  if (id == 0 || time_ <= cpu.since) return;
  const auto task = tasks_.find(id);
  if (task == tasks_.end() || task->second.group == kUnknownGroup) {
    if (is_marked_) unknown_.insert(id);
    return;
  }
  if (!task->second.has_begun || task->second.group < 0) return;
  if (cpu.span && cpu.span->group != task->second.group) write(number, cpu);
  if (!cpu.span) cpu.span = Span{task->second.group, cpu.since, cpu.since, 0};
  cpu.span->to = time_;
  cpu.span->ran += time_ - cpu.since;
}

void ContainerRuns::note_gap(const std::string& what) {
  if (gaps_++ == 0) first_gap_ = what;
}

/// Notes all runs until now, because something about a task changes.
void ContainerRuns::split() {
  for (auto& [number, cpu] : cpus_) {
    if (cpu.task) note_run(number, cpu, *cpu.task);
    cpu.since = time_;
  }
}

void ContainerRuns::cut() {
  split();
  for (auto& [number, cpu] : cpus_) write(number, cpu);
  cut_ = time_;
}

void ContainerRuns::write(int number, Cpu& cpu) {
  if (!cpu.span) return;
  write_line('r', {cpu.span->group, number, cpu.span->from, cpu.span->to, cpu.span->ran}, "");
  cpu.span.reset();
}

void ContainerRuns::write_line(char what, std::initializer_list<std::int64_t> numbers,
                               const std::string& rest) {
  text_ += what;
  for (const std::int64_t number : numbers) text_.append(" ").append(std::to_string(number));
  if (!rest.empty()) text_.append(" ").append(printable(rest));
  text_ += '\n';
}

}  // namespace pinfold::guest
