#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/qemu_command.hpp"
#include "pinfold/harness/verdict.hpp"

namespace pinfold::harness {

/// How to start a virtual machine.
struct VmSetup {
  std::vector<std::string> command;  ///< as returned by qemu_command
  std::filesystem::path folder;      ///< an empty directory for its sockets
  std::filesystem::path snapshot;    ///< to restore from; "": boot
  int interrupt_fd = -1;             ///< aborts when readable
  int load_fd = -1;                  ///< the memory that host and guest share
};

template <class T>
using VmResult = tl::expected<T, VmFailure>;

/// Time limit of most commands to QEMU's monitor.
inline constexpr Milliseconds kMonitorLimit(30000);

/// A running virtual machine: its console, its agent and QEMU's monitor. The destructor ends it.
/// Not thread-safe; different machines are independent.
class Vm {
 public:
  /// Errors: kHost with QEMU's own error message.
  [[nodiscard]] static VmResult<Vm> start(const VmSetup& setup);

  /// Waits until the agent is ready. Errors: kTimeout, kEnded, kGarbage, kInterrupted.
  [[nodiscard]] VmResult<Json> wait_for_agent(Milliseconds limit);
  /// Sends one request to the agent and returns its reply.
  [[nodiscard]] VmResult<Json> request(Json request, Milliseconds limit);
  /// Ends the machine through its agent, with `code`, and checks QEMU's exit status.
  [[nodiscard]] VmResult<void> quit(int code, int exit_status, Milliseconds limit);
  /// Sends one command to QEMU's monitor and returns its result.
  [[nodiscard]] VmResult<Json> monitor(const std::string& command, Json arguments,
                                       Milliseconds limit);

  /// Returns the guest's console output; only the end of it if it is very long.
  [[nodiscard]] const std::string& console() const { return console_; }
  /// Discards the console output so far, because it belongs to an earlier scenario.
  void clear_console();
  [[nodiscard]] pid_t pid() const { return qemu_.pid(); }

  /// Serves a shell in the guest: sends `input` to the console and passes its output to `seen`
  /// until the machine or `input` ends.
  void relay_console(int input, const std::function<void(std::string_view)>& seen);

 private:
  explicit Vm(ChildProcess qemu) : qemu_(std::move(qemu)) {}

  /// Reads from all ports until `done` returns true. Errors: kTimeout, kEnded, kInterrupted.
  [[nodiscard]] VmResult<void> pump(Clock::time_point deadline, const std::function<bool()>& done);
  void read_ports();
  [[nodiscard]] VmResult<void> connect(const VmSetup& setup);
  [[nodiscard]] VmResult<Json> next_line(std::deque<std::string>& lines,
                                         Clock::time_point deadline);

  ChildProcess qemu_;
  UniqueFd output_;  ///< QEMU's own output
  UniqueFd console_port_;
  UniqueFd agent_port_;
  UniqueFd monitor_port_;
  int interrupt_fd_ = -1;
  std::string console_;
  std::string agent_buffer_;
  std::string monitor_buffer_;
  std::deque<std::string> agent_lines_;
  std::deque<std::string> monitor_lines_;
  std::int64_t next_id_ = 1;
  bool monitor_ready_ = false;
  std::size_t panic_searched_ = 0;
};

}  // namespace pinfold::harness
