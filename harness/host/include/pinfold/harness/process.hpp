#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/base/read_file.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::harness {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

/// How a child process is started.
struct ChildOptions {
  std::vector<std::string> argv;
  std::filesystem::path folder{};  ///< its working directory; "": the caller's
  int output = -1;                 ///< becomes its stdout and stderr; -1: /dev/null
  std::vector<int> inherited{};    ///< become its descriptors 3, 4 and so on; -1: skip one
};

/// A child process that cannot outlive this one: its process group is killed when the object is
/// destroyed, and the kernel kills it when this process dies.
class ChildProcess {
 public:
  /// Errors: kNotFound if the program does not exist, kIo.
  [[nodiscard]] static Result<ChildProcess> start(const ChildOptions& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Returns a descriptor for poll that is readable once the process has ended.
  [[nodiscard]] int ended_fd() const { return ended_.get(); }
  /// Returns the wait status once the process has ended.
  [[nodiscard]] std::optional<int> wait_status();
  /// Waits for the end, at most until `deadline`.
  [[nodiscard]] std::optional<int> wait_until(Clock::time_point deadline);
  /// Kills the process group and reaps the process.
  void kill_now();

 private:
  ChildProcess() = default;

  pid_t pid_ = -1;
  UniqueFd ended_;
  std::optional<int> status_;
};

/// The result of a program that has run to its end.
struct Finished {
  int exit_status = 0;  ///< 128 + the signal number if it was killed
  std::string output;   ///< stdout and stderr
};

/// Returns a line with a file's path and attributes that change when its content does. Accepts text
/// that names no file.
[[nodiscard]] std::string file_facts(const std::filesystem::path& file);

/// Runs a program to its end. Errors: kNotFound, kIo, kBusy if it runs longer than `limit`.
[[nodiscard]] Result<Finished> run_program(const std::vector<std::string>& argv,
                                           Milliseconds limit);
/// Like run_program, for a program whose output depends only on its arguments: caches a success
/// until this process ends or a file among the arguments changes.
[[nodiscard]] Result<Finished> ask_program(const std::vector<std::string>& argv,
                                           Milliseconds limit);

/// Writes atomically: to a temporary file in the same directory, then renames it.
[[nodiscard]] Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);
/// Checks that write_file() can write a file, for results that a program has much later. Errors:
/// its.
[[nodiscard]] Result<void> check_writable(const std::filesystem::path& path);

}  // namespace pinfold::harness
