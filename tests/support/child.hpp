#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pinfold::test {

/// A child process that waits; the destructor kills and reaps it.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    while (true) ::pause();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill();
    reap();
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill() const { (void)::kill(pid_, SIGKILL); }
  /// Waits for its end and leaves it a zombie, so that its number is not reused.
  void wait() const {
    siginfo_t ignored{};
    (void)::waitid(P_PID, static_cast<id_t>(pid_), &ignored, WEXITED | WNOWAIT);
  }
  void reap() const { (void)::waitpid(pid_, nullptr, 0); }

 private:
  pid_t pid_;
};

}  // namespace pinfold::test
