#include <sys/signalfd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "command.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/cli/run.hpp"

int main(int argc, char** argv) {
  // Turn interrupts into readable input, so that every wait sees them and cleans up.
  sigset_t interrupts;
  (void)sigemptyset(&interrupts);
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) (void)sigaddset(&interrupts, one);
  (void)pthread_sigmask(SIG_BLOCK, &interrupts, nullptr);
  (void)std::signal(SIGPIPE, SIG_IGN);
  const pinfold::UniqueFd interrupt(signalfd(-1, &interrupts, SFD_CLOEXEC | SFD_NONBLOCK));
  try {
    return pinfold::cli::run(
        pinfold::harness::harness_command(interrupt.get()), argc, argv,
        [](const std::string& message, bool /*is_usage*/) {
          (void)pinfold::harness::report({pinfold::ErrorCode::kInvalidArgument, 0, message});
        });
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "pinfold-harness: %s\n", error.what());
    return pinfold::harness::kUsageError;
  }
}
