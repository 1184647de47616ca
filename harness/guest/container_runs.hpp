#pragma once

// Where tasks of containers ran, from the kernel's record of all tasks. Pure: no files.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "switch_trace.hpp"

namespace pinfold::guest {

/// A task that exists already when the record begins.
struct KnownTask {
  int id = 0;
  int process = 0;
  std::string group;    ///< its path in the hierarchy: "/kubepods/podA/c"
  std::string program;  ///< the program that it runs
  int stops_cpu = -1;   ///< the CPU that this kernel task (migration/N) takes offline; -1: none
};

/// Returns true for a task that was forked into a group. No event names that group, so the reader
/// looks it up while the task may still live, and puts it into `text`.
[[nodiscard]] bool is_forked_into_group(const TaskEvent& event);

/// Reduces the events of all tasks to those of tasks that have executed a program in a group below
/// a root. Before that, a task runs the code of a runtime that makes a container.
class ContainerRuns {
 public:
  /// Returns the group of a task if an event does not name it; nullopt: the task has ended.
  using GroupOf = std::function<std::optional<std::string>(int task)>;

  /// `root`: "/kubepods". `hierarchy`: its number in /proc/PID/cgroup.
  ContainerRuns(std::string root, int hierarchy, GroupOf group_of);

  /// Adds a task before the first event.
  void know(const KnownTask& known);
  /// Adds an event. Events must come in order of time.
  void add(const TaskEvent& event);
  /// Ends all open runs.
  void finish(std::int64_t time);

  /// Returns the record, a line for each fact. Times in nanoseconds of CLOCK_MONOTONIC:
  ///   g NUMBER PATH                a group below the root, numbered from 0
  ///   x GROUP TIME PROGRAM         its first task has executed a program: the container begins;
  ///                                TIME 0: before the record; PROGRAM "-": the task came from a
  ///                                group of the same container
  ///   e GROUP TIME                 its last task has ended
  ///   r GROUP CPU FROM TO RAN      its tasks, and no other group's, ran on a CPU, for RAN in total
  ///   m NUMBER TIME                a mark by the host
  /// Every other line except `g` ends all runs.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Returns the number of events out of order and of switches that contradict the previous one.
  [[nodiscard]] std::uint64_t gaps() const { return gaps_; }
  /// Describes the first of them; "" if there is none.
  [[nodiscard]] const std::string& first_gap() const { return first_gap_; }
  /// Returns the number of tasks that ran after the first mark and whose group is unknown.
  [[nodiscard]] std::size_t unknown() const { return unknown_.size(); }

 private:
  static constexpr int kNoGroup = -1;  ///< none below the root
  static constexpr int kUnknownGroup = -2;

  struct Task {
    int process = 0;
    int group = kUnknownGroup;
    bool has_begun = false;  ///< it runs a program of a container
  };
  struct Span {
    int group = 0;
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t ran = 0;
  };
  struct Cpu {
    std::optional<int> task;  ///< nullopt: not known yet
    std::int64_t since = 0;
    std::optional<Span> span;
  };

  void switch_to(const TaskEvent& event);
  void fork(const TaskEvent& event);
  [[nodiscard]] int group_of_fork(const TaskEvent& event);
  void learn_group(int parent, int group);
  void execute(const TaskEvent& event);
  void end(int id);
  void attach(const TaskEvent& event);
  void mark(const TaskEvent& event);

  [[nodiscard]] bool is_thread_of(int id, int process) const;
  [[nodiscard]] bool was_offline(const TaskEvent& event, int ran) const;
  [[nodiscard]] int group_number(const std::string& path);
  void move(Task& task, int group);
  void count_up(int group, std::int64_t time, const std::string& program);
  void count_down(int group);
  void note_run(int number, Cpu& cpu, int id);
  void split();
  void cut();
  void note_gap(const std::string& what);
  void write(int number, Cpu& cpu);
  void write_line(char what, std::initializer_list<std::int64_t> numbers, const std::string& rest);

  std::string root_;
  int hierarchy_;
  GroupOf group_of_;
  std::unordered_map<int, Task> tasks_;
  std::unordered_map<int, int> stoppers_;  ///< by CPU: see KnownTask
  std::map<int, Cpu> cpus_;
  std::map<std::string, int> groups_;
  std::vector<std::size_t> begun_;  ///< tasks by group
  std::int64_t time_ = 0;           ///< of the last event
  std::int64_t cut_ = 0;            ///< everything before it is written
  bool is_marked_ = false;
  std::uint64_t gaps_ = 0;
  std::string first_gap_;
  std::set<int> unknown_;
  std::string text_;
};

}  // namespace pinfold::guest
