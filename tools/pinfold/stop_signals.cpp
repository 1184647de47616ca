#include "stop_signals.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace pinfold::tools {

StopSignals::StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  fd_ = UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

StopSignals::~StopSignals() {
  (void)wait(std::chrono::milliseconds(0));  // a pending signal would end the program: consume it
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::wait(std::chrono::milliseconds timeout) {
  if (has_come_) return true;
  pollfd fd{fd_.get(), POLLIN, 0};
  (void)::poll(&fd, 1, static_cast<int>(timeout.count()));
  signalfd_siginfo signal{};
  while (::read(fd_.get(), &signal, sizeof signal) == sizeof signal) has_come_ = true;
  return has_come_;
}

}  // namespace pinfold::tools
