#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

namespace pinfold {

/// How long a run of a hook took, in seconds. CPU time varies less under other load.
struct HookRun {
  bool is_ok = false;
  int exit_status = -1;  ///< -1: a signal ended it, or it could not run
  double cpu = 0;
  double wall = 0;
};

/// Runs a hook to its end, with a file as its input.
inline HookRun run_hook(std::vector<std::string> words, const std::string& input) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  (void)::posix_spawn_file_actions_init(&actions);
  (void)::posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
  (void)::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  const auto begin = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), nullptr);
  (void)::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage usage{};
  HookRun run;
  const bool has_run = failed == 0 && ::wait4(child, &status, 0, &usage) == child;
  if (has_run && WIFEXITED(status)) run.exit_status = WEXITSTATUS(status);
  run.is_ok = run.exit_status == 0;
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  run.cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  run.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

}  // namespace pinfold
