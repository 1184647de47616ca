#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent.hpp"

namespace pinfold::guest {
namespace {

#if defined(__x86_64__)
constexpr const char* kPort = "/dev/ttyS1";  // ttyS0 is the console
#else
constexpr const char* kPort = "/dev/ttyS0";  // the console is not a ttyS
#endif
constexpr std::size_t kMaxLine = 1U << 20;

void attach_console() {
  const int console = open("/dev/console", O_RDWR | O_CLOEXEC);
  if (console < 0) return;
  for (const int fd : {0, 1, 2}) (void)dup2(console, fd);
}

int open_port() {
  const int port = open(kPort, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (port < 0) return -1;
  termios settings{};
  if (tcgetattr(port, &settings) != 0) return -1;
  cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  (void)cfsetspeed(&settings, B115200);
  return tcsetattr(port, TCSANOW, &settings) == 0 ? port : -1;
}

bool send(int port, const Json& message) {
  std::string line = message.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t sent = write(port, rest.data(), rest.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

Json hello() {
  int failed = 0;
  const std::string uptime = read_text("/proc/uptime", failed);
  return {{"event", "hello"},
          {"protocol", 1},
          {"kernel", read_text("/proc/sys/kernel/osrelease", failed)},
          {"uptime", uptime.substr(0, uptime.find(' '))}};
}

void answer(Agent& agent, std::string_view line) {
  const Json request = Json::parse(line, nullptr, false);
  if (!request.is_object()) {
    (void)send(agent.port, {{"event", "bad-request"}, {"line", std::string(line.substr(0, 200))}});
    return;
  }
  Json reply = handle(agent, request);
  reply["id"] = request.value("id", Json());
  (void)send(agent.port, reply);
  if (request.value("op", "") == "quit") {
    (void)tcdrain(agent.port);
    end_machine(request.value("code", 0));
  }
}

[[noreturn]] void serve(Agent& agent) {
  (void)send(agent.port, hello());
  std::string buffer;
  char chunk[4096];
  while (true) {
    const ssize_t got = read(agent.port, chunk, sizeof chunk);
    reap(agent);
    if (got < 0 && errno != EINTR) note(describe_errno(kPort, errno));
    if (got <= 0) {
      (void)usleep(10000);
      continue;
    }
    buffer.append(chunk, static_cast<std::size_t>(got));
    std::size_t end = 0;
    while ((end = buffer.find('\n')) != std::string::npos) {
      const std::string line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      answer(agent, line);
    }
    if (buffer.size() > kMaxLine) buffer.clear();
  }
}

/// Links busybox under the names of its programs, unless the host has done that.
void install_busybox() {
  if (access("/bin/sh", X_OK) == 0) return;
  for (const char* folder : {"/sbin", "/usr", "/usr/bin", "/usr/sbin"}) (void)mkdir(folder, 0755);
  const pid_t child = fork();
  if (child == 0) {
    (void)execl("/bin/busybox", "busybox", "--install", "-s", nullptr);
    _exit(127);
  }
  int status = 0;
  (void)waitpid(child, &status, 0);
  if (access("/bin/sh", X_OK) != 0) note(describe_errno("/bin/busybox --install", errno));
}

[[noreturn]] void init_main() {
  mount_or_note("proc", "/proc");
  mount_or_note("sysfs", "/sys");
  mount_or_note("devtmpfs", "/dev");
  mount_or_note("tmpfs", "/run");
  mount_or_note("tmpfs", "/tmp");
  attach_console();
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread
  (void)setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
  (void)setenv("HOME", "/root", 1);
  // NOLINTEND(concurrency-mt-unsafe)
  (void)signal(SIGPIPE, SIG_IGN);
  install_busybox();
  Agent agent;
  set_up_cgroups(agent);
  agent.port = open_port();
  if (agent.port < 0) {
    note(describe_errno(kPort, errno));
    end_machine(1);
  }
  serve(agent);
}

}  // namespace

}  // namespace pinfold::guest

int main(int argc, char** argv) {
  if (argc >= 2 && std::strcmp(argv[1], "payload") == 0) {
    return pinfold::guest::payload_main(argc - 1, argv + 1);
  }
  if (argc >= 2 && std::strcmp(argv[1], "kill-at") == 0) {
    return pinfold::guest::kill_at_main(argc - 1, argv + 1);
  }
  if (argc == 2 && std::strcmp(argv[1], "pause") == 0) return pinfold::guest::pause_main();
  if (argc == 2 && std::strcmp(argv[1], "restless") == 0) return pinfold::guest::restless_main();
  if (argc == 2 && std::strcmp(argv[1], "hog") == 0) return pinfold::guest::hog_main();
  if (getpid() != 1) {
    (void)std::fprintf(stderr,
                       "pinfold-guest: expected to be the first process of a virtual machine\n");
    return 2;
  }
  try {
    pinfold::guest::init_main();
  } catch (...) {  // out of memory: end the machine, so that the host sees a result
    pinfold::guest::end_machine(1);
  }
}
