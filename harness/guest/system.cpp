#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "agent.hpp"

#if defined(__x86_64__)
#include <sys/io.h>
#endif

// What PID 1 does to the system.
namespace pinfold::guest {

void note(const std::string& text) {
  (void)std::fprintf(stderr, "pinfold-guest: %s\n", text.c_str());
  (void)std::fflush(stderr);
}

void mount_or_note(const char* type, const char* where) {
  (void)mkdir(where, 0755);
  if (mount(type, where, type, MS_NOSUID, nullptr) != 0) note(describe_errno(where, errno));
}

void end_machine([[maybe_unused]] int code) {
  sync();
#if defined(__x86_64__)
  constexpr unsigned short kDebugExitPort = 0xf4;
  if (ioperm(kDebugExitPort, 4, 1) == 0) outb(static_cast<unsigned char>(code), kDebugExitPort);
#endif
  (void)reboot(RB_POWER_OFF);  // only if the machine does not have that port
  while (true) (void)pause();
}

}  // namespace pinfold::guest
