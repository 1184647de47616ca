#include "strike.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/reg.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "temp_dir.hpp"

namespace pinfold::test {
namespace {

struct Call {
  const char* name;
  std::vector<int> errors;
};

const std::map<std::uint64_t, Call>& calls() {
  static const std::map<std::uint64_t, Call> kCalls = {
      {SYS_read, {"read", {EIO, EINTR}}},
      {SYS_pread64, {"pread64", {EIO, EINTR}}},
      {SYS_getdents64, {"getdents64", {EIO}}},
      {SYS_write, {"write", {EIO, ENOSPC, EINTR}}},
      {SYS_pwrite64, {"pwrite64", {EIO, ENOSPC}}},
      {SYS_fallocate, {"fallocate", {EIO, ENOSPC}}},
      {SYS_ftruncate, {"ftruncate", {EIO, ENOSPC}}},
      {SYS_fsync, {"fsync", {EIO, ENOSPC}}},
      {SYS_fdatasync, {"fdatasync", {EIO, ENOSPC}}},
      {SYS_rename, {"rename", {EIO, ENOSPC}}},
      {SYS_renameat, {"renameat", {EIO, ENOSPC}}},
      {SYS_renameat2, {"renameat2", {EIO, ENOSPC}}},
      {SYS_mkdir, {"mkdir", {EIO, ENOSPC}}},
      {SYS_mkdirat, {"mkdirat", {EIO, ENOSPC}}},
      {SYS_unlink, {"unlink", {EIO, EROFS}}},
      {SYS_unlinkat, {"unlinkat", {EIO, EROFS}}},
      {SYS_rmdir, {"rmdir", {EIO, EBUSY}}},
      {SYS_openat, {"openat", {EIO, EMFILE, EINTR}}},
      {SYS_fcntl, {"fcntl", {ENOLCK, EINTR}}},
      {SYS_flock, {"flock", {ENOLCK, EINTR}}},
      {SYS_mmap, {"mmap", {ENOMEM}}},
      {SYS_mremap, {"mremap", {ENOMEM}}},
      {SYS_close, {"close", {EIO}}},
      {SYS_newfstatat, {"newfstatat", {EIO}}},
      {SYS_munmap, {"munmap", {ENOMEM}}},
      // The kernel reports no error for these that a program could handle.
      {SYS_brk, {"brk", {}}},
      {SYS_pipe2, {"pipe2", {}}},  // only sanitizers make pipes
      {SYS_futex, {"futex", {}}},
      {SYS_exit_group, {"exit_group", {}}},
      {SYS_exit, {"exit", {}}},
  };
  return kCalls;
}

/// Redirects the streams, asks to be traced and becomes the program.
[[noreturn]] void become(const std::vector<std::string>& argv, const std::string& directory,
                         const std::string& input, const std::array<std::string, 2>& outputs) {
  std::vector<char*> raw;
  raw.reserve(argv.size() + 1);
  for (const std::string& word : argv) raw.push_back(const_cast<char*>(word.c_str()));  // NOLINT
  raw.push_back(nullptr);
  (void)::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // leak detection needs ptrace itself
  constexpr int kOutput = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int in = ::open(input.c_str(), O_RDONLY | O_CLOEXEC);
  const int out = ::open(outputs[0].c_str(), kOutput, 0600);
  const int err = ::open(outputs[1].c_str(), kOutput, 0600);
  if (in < 0 || out < 0 || err < 0 || ::chdir(directory.c_str()) != 0) ::_exit(125);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(125);
  (void)::raise(SIGSTOP);
  ::execv(raw[0], raw.data());
  ::_exit(126);
}

/// Part of a program's memory that is one mapping of a file.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_libc = false;
};

/// The mapping that holds an address; empty if there is none.
Mapping mapping_of(pid_t pid, std::uint64_t address) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream in(line);
    Mapping mapping;
    char dash = 0;
    in >> std::hex >> mapping.begin >> dash >> mapping.end;
    mapping.is_libc = line.find("/libc.so") != std::string::npos;
    if (mapping.begin <= address && address < mapping.end) return mapping;
  }
  return {};
}

/// Follows one run, system call by system call.
class Tracer {
 public:
  Tracer(pid_t child, const Strike& strike) : child_(child), strike_(strike) {}

  /// Runs until every traced process has ended. Returns the wait status of the first one.
  int follow(std::vector<std::uint64_t>& calls) {
    int status = 0;
    if (::waitpid(child_, &status, 0) != child_ || !WIFSTOPPED(status)) {
      throw std::runtime_error("programs cannot be traced here");
    }
    ::ptrace(PTRACE_SETOPTIONS, child_, nullptr,
             PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                 PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC);
    ::ptrace(PTRACE_SYSCALL, child_, nullptr, nullptr);
    int of_child = 0;
    for (;;) {
      const pid_t pid = ::waitpid(-1, &status, __WALL);
      if (pid < 0) {
        if (errno == EINTR) continue;
        return of_child;
      }
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        if (pid == child_) of_child = status;
        continue;
      }
      ::ptrace(PTRACE_SYSCALL, pid, nullptr, on_stop(pid, status, calls));
    }
  }

 private:
  /// Returns the signal to deliver.
  long on_stop(pid_t pid, int status, std::vector<std::uint64_t>& calls) {
    const int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) {
      on_call(pid, calls);
      return 0;
    }
    if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8))) {
      code_.clear();
      runs_ = true;
      return 0;
    }
    return signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
  }

  bool is_of_libc(pid_t pid, std::uint64_t address) {
    for (const Mapping& mapping : code_) {
      if (mapping.begin <= address && address < mapping.end) return mapping.is_libc;
    }
    code_.push_back(mapping_of(pid, address));
    return code_.back().is_libc;
  }

  void on_call(pid_t pid, std::vector<std::uint64_t>& calls) {
    __ptrace_syscall_info info{};
    if (!runs_ || ::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0) return;
    if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
      if (std::exchange(failing_, 0) == pid) answer(pid);
      return;
    }
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return;
    if (!is_of_libc(pid, info.instruction_pointer)) return;
    const bool is_struck = calls.size() == strike_.at;
    calls.push_back(info.entry.nr);
    if (!is_struck || strike_.kind == Strike::Kind::kNone) return;
    if (strike_.kind == Strike::Kind::kKill) {
      ::kill(child_, SIGKILL);
      return;
    }
    failing_ = pid;
    ::ptrace(PTRACE_POKEUSER, pid, offsetof(user_regs_struct, orig_rax), -1L);
  }

  /// Makes the skipped call return the error.
  void answer(pid_t pid) const {
    ::ptrace(PTRACE_POKEUSER, pid, offsetof(user_regs_struct, rax),
             static_cast<long>(-strike_.error));
  }

  pid_t child_;
  Strike strike_;
  std::vector<Mapping> code_;  ///< from where calls were made
  bool runs_ = false;
  pid_t failing_ = 0;
};

}  // namespace

Struck run_struck(const std::vector<std::string>& argv, const std::string& directory,
                  const std::string& input, const Strike& strike) {
  const TempDir outputs;
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) become(argv, directory, input, {outputs / "out", outputs / "err"});
  Struck struck;
  const int status = Tracer(child, strike).follow(struck.calls);
  const auto content = [&](const std::string& name) {
    std::ifstream in(outputs / name, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  struck.outcome = {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                    content("out"), content("err")};
  return struck;
}

std::string name_of_call(std::uint64_t call) {
  const auto known = calls().find(call);
  return known != calls().end() ? known->second.name : "system call " + std::to_string(call);
}

std::vector<int> errors_of_call(std::uint64_t call) {
  const auto known = calls().find(call);
  return known != calls().end() ? known->second.errors : std::vector<int>{EIO};
}

}  // namespace pinfold::test
