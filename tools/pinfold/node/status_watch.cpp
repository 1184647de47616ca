#include "node/status_watch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <system_error>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/picture/text.hpp"

namespace pinfold::tools {
namespace {

Result<void> write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return {};
  }
  const int error = errno;
  return fail(
      Error{ErrorCode::kIo, error,
            "write standard output: " + std::error_code(error, std::generic_category()).message()});
}

/// The alternate screen of a terminal, which leaves no trace afterwards. Keys are not echoed, and
/// messages to the same terminal are dropped.
class Screen {
 public:
  Screen() { enter(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() { leave(); }

  void enter() {
    if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
      has_keys_ = true;
      termios quiet = before_;
      quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      (void)::tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
    }
    if (::isatty(STDERR_FILENO) != 0) {
      messages_ = UniqueFd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
      const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
      if (nowhere) (void)::dup2(nowhere.get(), STDERR_FILENO);
    }
    (void)write_out("\x1b[?1049h\x1b[?25l");  // the alternate screen, without a cursor
  }

  void leave() {
    (void)write_out("\x1b[?25h\x1b[?1049l");
    if (messages_) (void)::dup2(messages_.get(), STDERR_FILENO);
    messages_ = UniqueFd();
    if (has_keys_) (void)::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  /// Overwrites the screen with a single write, so that nothing flickers.
  [[nodiscard]] static Result<void> show(const std::string& text) {
    winsize size{};
    const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    std::string out = "\x1b[H";
    std::string_view end_of_line;
    for (const std::string& line : cut_to_screen(text, is_known ? size.ws_row : std::size_t{24},
                                                 is_known ? size.ws_col : std::size_t{80})) {
      out += std::string(end_of_line) + line + "\x1b[K";  // erases the rest of the line
      end_of_line = "\r\n";
    }
    return write_out(out + "\x1b[J");
  }
  [[nodiscard]] bool has_keys() const { return has_keys_; }

 private:
  termios before_{};
  bool has_keys_ = false;
  UniqueFd messages_;
};

enum class Wake { kTime, kEnd, kStop };

/// Waits for a signal, a key, or the next frame.
class FrameTimer {
 public:
  FrameTimer() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH}) {
      sigaddset(&signals, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signals_ = UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC));
  }

  [[nodiscard]] Wake wait(std::chrono::milliseconds interval, bool has_keys) const {
    pollfd fds[] = {{signals_.get(), POLLIN, 0}, {has_keys ? STDIN_FILENO : -1, POLLIN, 0}};
    if (::poll(fds, 2, static_cast<int>(interval.count())) <= 0) return Wake::kTime;
    if (fds[0].revents != 0) {
      signalfd_siginfo signal{};
      if (::read(signals_.get(), &signal, sizeof signal) != sizeof signal) return Wake::kEnd;
      if (signal.ssi_signo == SIGWINCH) return Wake::kTime;
      return signal.ssi_signo == SIGTSTP ? Wake::kStop : Wake::kEnd;
    }
    char key = 0;
    const bool is_read = ::read(STDIN_FILENO, &key, 1) == 1;
    return !is_read || key == 'q' ? Wake::kEnd : Wake::kTime;
  }

 private:
  UniqueFd signals_;
};

}  // namespace

Result<ExitStatus> watch_frames(std::chrono::milliseconds interval,
                                const std::function<Result<WatchFrame>()>& draw) {
  // Draw the first frame before taking the screen, so that its warnings stay readable afterwards.
  PINFOLD_LET(auto frame, draw());
  const FrameTimer timer;
  const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
  std::optional<Screen> screen;
  if (is_terminal) screen.emplace();
  while (true) {
    PINFOLD_TRY(is_terminal ? Screen::show(frame.text) : write_out(frame.text + "\n"));
    const Wake wake = timer.wait(interval, screen && screen->has_keys());
    if (wake == Wake::kEnd) return frame.status;
    if (wake == Wake::kStop) {
      if (screen) screen->leave();
      (void)::raise(SIGSTOP);
      if (screen) screen->enter();
    }
    PINFOLD_LET(frame, draw());
  }
}

}  // namespace pinfold::tools
