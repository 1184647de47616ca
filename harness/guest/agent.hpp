#pragma once

// The guest agent: PID 1 of a guest. It carries out the host's requests from the second serial port
// and reports what the kernel says. It never judges; the host does, so that a broken guest cannot
// pass its own test. docs/harness.md describes the requests.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/harness/kill_point.hpp"

namespace pinfold::guest {

using harness::KillPoint;
using Json = nlohmann::json;

/// Describes a failed system call: "open '/x': ENOENT".
[[nodiscard]] std::string describe_errno(std::string_view what, int sys_errno);
/// Returns "ENOENT"; "0" for 0.
[[nodiscard]] std::string errno_name(int sys_errno);

/// Reads a small kernel file, without its last line end. Sets `sys_errno` on failure.
[[nodiscard]] std::string read_text(const std::string& path, int& sys_errno);
/// Writes `value` to a file; returns 0 or the errno.
[[nodiscard]] int write_text(const std::string& path, std::string_view value, int flags);

/// A process that a request started and that is still running.
struct Running {
  pid_t pid = -1;
  std::uint64_t address = 0;  ///< of the memory that it touched; 0: unknown
  std::uint64_t bytes = 0;
  std::uint64_t page = 4096;  ///< size of one of its pages
  bool ended = false;
  int wait_status = 0;
};

/// A child that records something until it is stopped.
struct RecordingChild {
  pid_t pid = -1;
  UniqueFd results;  ///< a file in memory
};

class RecordedDisk;
struct Baseline;

/// The agent's state between requests.
struct Agent {
  int port = -1;                         ///< the second serial port
  std::vector<std::string> hierarchies;  ///< where control groups are mounted
  std::map<std::string, Running> running;
  RecordingChild sampler;  ///< repeatedly reads the effective CPUs of all groups
  RecordingChild witness;  ///< reads the kernel's record of what runs on which CPU
  int command_cpu = -1;    ///< the CPU of the sampler, on which commands run, too; -1: any
  std::shared_ptr<RecordedDisk> disk;        ///< logs every write
  std::shared_ptr<const Baseline> baseline;  ///< the state that reset() restores
};

/// Returns {"ok": false, "error": ...}.
[[nodiscard]] Json refuse(std::string error);
/// Adds "status" or "signal" to a report.
void describe_end(Json& report, int wait_status);

/// Answers one request. The reply has "ok", and "error" if it is false.
[[nodiscard]] Json handle(Agent& agent, const Json& request);

[[nodiscard]] Json report_machine(const Agent& agent);

/// Prints a message to the console.
void note(const std::string& text);
void mount_or_note(const char* type, const char* where);
/// Shuts the machine down; QEMU's exit status becomes (code << 1) | 1.
[[noreturn]] void end_machine(int code);

/// Mounts the cgroup hierarchies: version 2, or, if the kernel argument pinfold_cgroup says so, v1
/// or hybrid (cpu and hugetlb on version 1, all others on version 2).
void set_up_cgroups(Agent& agent);
/// Returns a group and all groups below it, sorted. Sets `failed` if they cannot be read.
[[nodiscard]] std::vector<std::string> groups_from(const std::string& root,
                                                   std::error_code& failed);
/// Returns a group and, on version 1, the groups with the same path in the other hierarchies.
[[nodiscard]] std::vector<std::string> groups_of(const Agent& agent, const std::string& group);
/// Returns "v1" or "v2"; "" if no hierarchy has the controller.
[[nodiscard]] std::string cgroup_version_of(const Agent& agent, std::string_view controller);

enum class TraceStop { kGoesOn, kKilled, kEnded };

/// Traces a child that called be_traced() before its exec, and kills it with SIGKILL at a point.
class Tracer {
 public:
  Tracer(pid_t leader, KillPoint point) : leader_(leader), point_(std::move(point)) {}
  /// Handles a waitpid status of the child or of one of its threads.
  TraceStop on_stop(pid_t pid, int wait_status);
  /// Returns the number of matching calls that the program has made.
  [[nodiscard]] int seen() const { return seen_; }

 private:
  pid_t leader_;
  KillPoint point_;
  int seen_ = 0;
  bool prepared_ = false;
};
void be_traced();
/// `pinfold-guest kill-at CALL FILE NUMBER COMMAND...`: runs a command to its end or to such a
/// point ("any" stands for "" in KillPoint). Exits with the command's status: 137 if it was killed.
int kill_at_main(int argc, char** argv);

/// How to start a child.
struct Spawn {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< NAME=value, added to the agent's own
  std::vector<std::string> cgroups;      ///< entered before exec; empty: the agent's
  std::string input;                     ///< its standard input
  int cpu = -1;                          ///< the CPU to bind it to; -1: none
  std::optional<KillPoint> kill_at;      ///< used by run_to_end
  std::chrono::milliseconds time_limit{30000};
};

[[nodiscard]] Json run_to_end(Agent& agent, const Spawn& spawn);
[[nodiscard]] Json start_program(Agent& agent, const std::string& name, const Spawn& spawn,
                                 bool wait_for_report);
[[nodiscard]] Json inspect_program(Agent& agent, const std::string& name);
/// Returns the value of a "Name:\tvalue" line of /proc/PID/status; cannot find the first line.
[[nodiscard]] std::string status_field(const std::string& status, std::string_view name);
/// Reports the allowed CPUs and memory nodes of every thread in a group and in the groups below it.
[[nodiscard]] Json inspect_threads(const std::string& group);
[[nodiscard]] Json stop_program(Agent& agent, const std::string& name);
/// Reaps children that have ended and the orphans of ended programs; records the end of those in
/// `running`. `except`: a child that another function waits for.
void reap(Agent& agent, pid_t except = -1);

/// Starts a child that runs `work`, whose result stop_recorder() reports. `work` must return soon
/// after recorder_ends() becomes true. `name`: for messages.
[[nodiscard]] Json start_recorder(RecordingChild& recorder, const std::string& name,
                                  const std::function<Json()>& work);
/// Returns true in a recorder that has been asked to end; a signal interrupts its sleep.
[[nodiscard]] bool recorder_ends();
[[nodiscard]] Json stop_recorder(RecordingChild& recorder, const std::string& name);

struct SampleRequest {
  std::string root;
  std::string file;
  bool only_in_use = false;  ///< on v2, a group without processes in or below it counts as removed
};

/// Starts to read `file` in all groups below `root`, as often as possible without starving the
/// other processes.
[[nodiscard]] Json start_sampler(Agent& agent, const SampleRequest& request);
/// Stops the sampler. Reports the number of samples and every state that two consecutive samples
/// share, each as changes to the previous state: one line per group with its list (without a list
/// if the group was removed), then an empty line.
[[nodiscard]] Json stop_sampler(Agent& agent);

/// Starts recording where tasks in groups below `root`, a full path, run (ContainerRuns).
[[nodiscard]] Json start_witness(Agent& agent, const std::string& root);
/// Adds a mark to the record.
[[nodiscard]] Json mark_witness(const Agent& agent, int number);
/// Stops the witness. Reports the record ("runs") and how much of it is missing: "lost" events,
/// "unknown" tasks, "overflow".
[[nodiscard]] Json stop_witness(Agent& agent);
/// Removes the trace instance that a killed witness left in the kernel.
void drop_witness(Agent& agent);

/// Loads kernel modules and their dependencies from /lib/modules/NAME.
[[nodiscard]] Json load_modules(const std::vector<std::string>& names);
/// Creates and mounts the disk: "bytes", "filesystem", "folder", "mkfs" (a command).
[[nodiscard]] Json make_disk(Agent& agent, const Json& request);
/// Marks the current files on the disk as acknowledged: no power cut may lose them.
[[nodiscard]] Json mark_disk(Agent& agent);
/// Cuts the power at every point of what was written since the disk was made, mounts the resulting
/// disks, runs "commands" on them and reads "files". "losses": values of WriteLoss.
[[nodiscard]] Json cut_power(Agent& agent, const Json& request);

/// Writes "files" ("path", "offset", "bytes"), all of them executable, from the memory that host
/// and guest share.
[[nodiscard]] Json load_files(const Json& request);

/// Records the state of the guest: processes, mounts, cgroups, files, kernel settings.
[[nodiscard]] Json remember(Agent& agent);
/// Restores the recorded state for another scenario. The error names the first remaining
/// difference.
[[nodiscard]] Json reset(Agent& agent);

/// Sends "text" to a Unix socket and reports the complete answer.
[[nodiscard]] Json talk(const Json& request);

/// `pinfold-guest payload BYTES PAGE_SIZE`: touches that much memory, prints its address, and waits
/// to be killed. PAGE_SIZE is that of huge pages, or 0.
int payload_main(int argc, char** argv);

/// `pinfold-guest hog`: keeps every CPU busy at the highest real-time priority, so that nothing
/// else runs. Simulates a guest that hangs, for tests of the host.
int hog_main();

/// `pinfold-guest restless`: works for a moment on each CPU of its cpuset in turn, so that a
/// witness sees at once where it may run.
int restless_main();

/// `pinfold-guest pause`: waits until SIGTERM or SIGINT, like the pause container of a pod.
int pause_main();

}  // namespace pinfold::guest
