#include <fcntl.h>
#include <linux/limits.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "agent.hpp"

/// Stops a program at every system call, and kills it at one of them.
namespace pinfold::guest {
namespace {

/// A system call on a file, with the index (from 0) of its path or descriptor argument.
struct FileCall {
  long number;
  const char* name;
  int path;
  int descriptor;
  int second_path = -1;
};
constexpr FileCall kCalls[] = {
    {SYS_openat, "open", 1, -1},        {SYS_openat2, "open", 1, -1},
    {SYS_write, "write", -1, 0},        {SYS_pwrite64, "write", -1, 0},
    {SYS_writev, "write", -1, 0},       {SYS_fsync, "fsync", -1, 0},
    {SYS_fdatasync, "fsync", -1, 0},    {SYS_ftruncate, "truncate", -1, 0},
    {SYS_renameat, "rename", 1, -1, 3}, {SYS_renameat2, "rename", 1, -1, 3},
    {SYS_unlinkat, "remove", 1, -1},    {SYS_mkdirat, "mkdir", 1, -1},
#if defined(__x86_64__)  // newer architectures do not have these
    {SYS_open, "open", 0, -1},          {SYS_rename, "rename", 0, -1, 1},
    {SYS_unlink, "remove", 0, -1},      {SYS_rmdir, "remove", 0, -1},
    {SYS_mkdir, "mkdir", 0, -1},
#endif
};

using Arguments = std::array<unsigned long long, 6>;

std::string text_at(pid_t pid, unsigned long long address) {
  std::string text(PATH_MAX, '\0');
  std::size_t got = 0;
  while (got < text.size()) {  // page by page: the next page may not be mapped
    const std::size_t room = 4096 - (address + got) % 4096;
    iovec local = {text.data() + got, std::min(room, text.size() - got)};
    iovec remote = {reinterpret_cast<void*>(address + got), local.iov_len};  // NOLINT
    const ssize_t read = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (read <= 0) break;
    got += static_cast<std::size_t>(read);
    if (text.find('\0') < got) break;
  }
  return text.substr(0, std::min(text.find('\0'), got));
}

std::string file_behind(pid_t pid, unsigned long long descriptor) {
  const std::string link = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor);
  std::string target(PATH_MAX, '\0');
  const ssize_t size = readlink(link.c_str(), target.data(), target.size());
  target.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return target;
}

/// Returns true for the path "/x/a/b" and the end "a/b"; false for "/xa/b".
bool ends_with_path(const std::string& path, const std::string& end) {
  if (end.empty()) return true;
  return path == end || (end.front() == '/' && path.ends_with(end)) || path.ends_with("/" + end);
}

bool touches(pid_t pid, const FileCall& call, const Arguments& arguments, const std::string& file) {
  if (file.empty()) return true;
  if (call.descriptor >= 0) return ends_with_path(file_behind(pid, arguments[0]), file);
  for (const int path : {call.path, call.second_path}) {
    if (path < 0) continue;
    const auto index = static_cast<std::size_t>(path);
    if (ends_with_path(text_at(pid, arguments[index]), file)) return true;
  }
  return false;
}

/// Returns true if the thread is about to make a system call that matches the point.
bool matches(pid_t pid, const KillPoint& point) {
  __ptrace_syscall_info info{};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0) return false;
  if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return false;
  const auto* call = std::find_if(std::begin(kCalls), std::end(kCalls), [&](const FileCall& one) {
    return static_cast<unsigned long long>(one.number) == info.entry.nr;
  });
  if (call == std::end(kCalls) || (!point.call.empty() && point.call != call->name)) return false;
  Arguments arguments{};
  std::copy(std::begin(info.entry.args), std::end(info.entry.args), arguments.begin());
  return touches(pid, *call, arguments, point.file);
}

}  // namespace

void be_traced() {
  sigset_t stop_at_exec;  // container runtimes block all signals in their hooks
  (void)sigemptyset(&stop_at_exec);
  (void)sigaddset(&stop_at_exec, SIGTRAP);
  (void)pthread_sigmask(SIG_UNBLOCK, &stop_at_exec, nullptr);
  (void)ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
}

TraceStop Tracer::on_stop(pid_t pid, int wait_status) {
  if (WIFEXITED(wait_status) || WIFSIGNALED(wait_status)) {
    return pid == leader_ ? TraceStop::kEnded : TraceStop::kGoesOn;
  }
  int signal = WSTOPSIG(wait_status);
  if (!prepared_) {  // the stop at exec
    constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE;
    (void)ptrace(PTRACE_SETOPTIONS, pid, nullptr, kOptions);
    prepared_ = true;
    signal = 0;
  } else if (signal == (SIGTRAP | 0x80)) {
    signal = 0;
    if (matches(pid, point_) && ++seen_ == point_.number) {
      (void)kill(leader_, SIGKILL);
      return TraceStop::kKilled;
    }
  } else if (signal == SIGTRAP || signal == SIGSTOP) {
    signal = 0;  // a new thread
  }
  (void)ptrace(PTRACE_SYSCALL, pid, nullptr, static_cast<long>(signal));
  return TraceStop::kGoesOn;
}

int kill_at_main(int argc, char** argv) {
  if (argc < 5) return 2;
  const auto word = [argv](int i) { return std::string_view(argv[i]) == "any" ? "" : argv[i]; };
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    be_traced();
    (void)execvp(argv[4], argv + 4);
    _exit(127);
  }
  Tracer tracer(child, {word(1), word(2), std::atoi(argv[3])});
  int wait_status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &wait_status, __WALL)) > 0) {
    const TraceStop stop = tracer.on_stop(pid, wait_status);
    if (stop == TraceStop::kKilled) (void)dprintf(2, "kill-at: killed %s\n", argv[4]);
    if (stop == TraceStop::kEnded) break;
  }
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace pinfold::guest
