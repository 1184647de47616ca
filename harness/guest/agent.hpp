#pragma once

// The guest agent: PID 1 of a guest. It does what the host asks for over the second serial port
// and reports what the kernel says. It judges nothing: that is the host's part, so that a wrong
// guest cannot pass itself. docs/harness.md describes the requests.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::guest {

using Json = nlohmann::json;

/// A system call that failed, as it is reported: "open '/x': ENOENT".
[[nodiscard]] std::string describe_errno(std::string_view what, int sys_errno);
/// "ENOENT"; "0" for none.
[[nodiscard]] std::string errno_name(int sys_errno);

/// The whole text of a small kernel file, without the last line end. Sets `sys_errno` on failure.
[[nodiscard]] std::string read_text(const std::string& path, int& sys_errno);
/// One write of `value`; returns 0 or the errno.
[[nodiscard]] int write_text(const std::string& path, std::string_view value, int flags);

/// A process that a request has started and that goes on running.
struct Running {
  pid_t pid = -1;
  std::uint64_t address = 0;  ///< of the memory it has touched; 0: unknown
  std::uint64_t bytes = 0;
  std::uint64_t page = 4096;  ///< size of one of its pages
  bool ended = false;
  int wait_status = 0;
};

/// The process that reads the effective CPUs of all groups again and again.
struct Sampler {
  pid_t pid = -1;
  UniqueFd results;  ///< a file in memory
  int cpu = -1;      ///< it runs there, and so do commands meanwhile
};

class RecordedDisk;

/// Everything that the agent remembers between requests.
struct Agent {
  int port = -1;                         ///< the second serial port
  std::vector<std::string> hierarchies;  ///< where control groups are mounted
  std::map<std::string, Running> running;
  Sampler sampler;
  std::shared_ptr<RecordedDisk> disk;  ///< every write to which is remembered
};

/// {"ok": false, "error": ...}
[[nodiscard]] Json refuse(std::string error);
/// Adds "status" or "signal".
void describe_end(Json& report, int wait_status);

/// Answers one request. The reply has "ok", and "error" if it is false.
[[nodiscard]] Json handle(Agent& agent, const Json& request);

[[nodiscard]] Json report_machine(const Agent& agent);

/// Says something on the console.
void note(const std::string& text);
void mount_or_note(const char* type, const char* where);

/// Mounts control groups: version 2, or what the kernel argument pinfold_cgroup names: v1, or
/// hybrid (cpu and hugetlb as version 1, all others as version 2).
void set_up_cgroups(Agent& agent);
/// A group and, on version 1, those of the same path in the other hierarchies.
[[nodiscard]] std::vector<std::string> groups_of(const Agent& agent, const std::string& group);
/// "v1", "v2", or "" if no hierarchy has the controller.
[[nodiscard]] std::string cgroup_version_of(const Agent& agent, std::string_view controller);

/// A point in a program's run: before the `number`-th of its system calls that touch a file.
struct KillPoint {
  std::string call;  ///< "rename"; "": any of those that trace.cpp knows
  std::string file;  ///< the end of the file's path; "": any file
  int number = 1;
};

enum class TraceStop { kGoesOn, kKilled, kEnded };

/// Follows a child that called be_traced() before its exec, and kills it with signal 9 at a point.
class Tracer {
 public:
  Tracer(pid_t leader, KillPoint point) : leader_(leader), point_(std::move(point)) {}
  /// Handles what waitpid reported of the child or of one of its threads.
  TraceStop on_stop(pid_t pid, int wait_status);
  /// How often the program has come by such a call.
  [[nodiscard]] int seen() const { return seen_; }

 private:
  pid_t leader_;
  KillPoint point_;
  int seen_ = 0;
  bool prepared_ = false;
};
void be_traced();
/// `pinfold-guest kill-at CALL FILE NUMBER COMMAND...`: runs a command to its end or to such a
/// point of it ("any" stands for "" of a KillPoint), and ends as it did: 137 if it was killed.
int kill_at_main(int argc, char** argv);

/// How a child is started.
struct Spawn {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< NAME=value, added to the agent's own
  std::vector<std::string> cgroups;      ///< entered before exec; empty: the agent's
  std::string input;                     ///< what it reads from standard input
  int cpu = -1;                          ///< it is bound to; -1: none
  std::optional<KillPoint> kill_at;      ///< by run_to_end
  std::chrono::milliseconds time_limit{30000};
};

[[nodiscard]] Json run_to_end(Agent& agent, const Spawn& spawn);
[[nodiscard]] Json start_program(Agent& agent, const std::string& name, const Spawn& spawn,
                                 bool wait_for_report);
[[nodiscard]] Json inspect_program(Agent& agent, const std::string& name);
/// Every thread of a group and of those below it: what it may run on.
[[nodiscard]] Json inspect_threads(const std::string& group);
[[nodiscard]] Json stop_program(Agent& agent, const std::string& name);
/// Collects children that have ended; remembers how those of `running` did.
void reap(Agent& agent);

/// Begins to read the file `file` of all groups below `root`, as fast as it can without keeping
/// everybody else from running.
[[nodiscard]] Json start_sampler(Agent& agent, const std::string& root, const std::string& file);
/// Ends it: how many looks, and every state that was seen in two looks running, each as what is new
/// against the one before it: lines of group and list, or of a group that is gone; an empty line.
[[nodiscard]] Json stop_sampler(Agent& agent);

/// Makes the disk and mounts it: "bytes", "filesystem", "folder", "mkfs" (a command).
[[nodiscard]] Json make_disk(Agent& agent, const Json& request);
/// What the disk's files have now has been acknowledged: no power cut may lose it.
[[nodiscard]] Json mark_disk(Agent& agent);
/// Cuts the power at every point of what was written since the disk was made, mounts what is left,
/// runs "commands" on it and reads "files"; "losses": of enum Loss.
[[nodiscard]] Json cut_power(Agent& agent, const Json& request);

/// `pinfold-guest payload BYTES PAGE_SIZE`: touches that much memory, says where, and waits for its
/// end. PAGE_SIZE is that of huge pages, or 0.
int payload_main(int argc, char** argv);

/// `pinfold-guest hog`: keeps every CPU busy at the highest real-time priority, so that nothing
/// else runs any more. A guest that hangs, for tests of the host.
int hog_main();

/// Ends the machine; QEMU's exit status becomes (code << 1) | 1.
[[noreturn]] void end_machine(int code);

}  // namespace pinfold::guest
