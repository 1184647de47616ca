#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "agent.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::guest {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxCapture = 128U << 10;  // bytes of each stream that are reported

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  (void)!pipe2(ends, O_CLOEXEC);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

struct SpawnedProgram {
  pid_t pid = -1;
  UniqueFd out;
  UniqueFd err;
  std::string error;  ///< not empty: no child was started
};

/// Runs between fork and exec. On failure writes the reason to `report` and exits.
[[noreturn]] void become(const Spawn& spawn, int in, int out, int err, int report) {
  const auto give_up = [report](const std::string& what, int sys_errno) {
    const std::string text = describe_errno(what, sys_errno);
    (void)!write(report, text.data(), text.size());
    _exit(127);
  };
  (void)setsid();
  (void)signal(SIGPIPE, SIG_DFL);
  (void)dup2(in, 0);
  (void)dup2(out, 1);
  (void)dup2(err, 2);
  for (const std::string& group : spawn.cgroups) {
    const int failed = write_text(group + "/cgroup.procs", "0", O_WRONLY);
    if (failed != 0) give_up(group + "/cgroup.procs", failed);
  }
  if (spawn.cpu >= 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(spawn.cpu), &one);
    (void)sched_setaffinity(0, sizeof one, &one);
  }
  if (spawn.kill_at) be_traced();
  std::vector<char*> argv;
  for (const std::string& argument : spawn.argv) argv.push_back(const_cast<char*>(argument.data()));
  argv.push_back(nullptr);
  std::vector<char*> variables;
  for (char** own = environ; *own != nullptr; ++own) variables.push_back(*own);
  for (const std::string& pair : spawn.environment) {
    variables.push_back(const_cast<char*>(pair.data()));
  }
  variables.push_back(nullptr);
  (void)execvpe(argv[0], argv.data(), variables.data());
  give_up(spawn.argv[0], errno);
  _exit(127);
}

SpawnedProgram start_child(const Spawn& spawn) {
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  Pipe report = make_pipe();
  const UniqueFd in(memfd_create("input", MFD_CLOEXEC));
  if (!spawn.input.empty()) {
    (void)!write(in.get(), spawn.input.data(), spawn.input.size());
    (void)lseek(in.get(), 0, SEEK_SET);
  }
  SpawnedProgram child;
  child.pid = fork();
  if (child.pid < 0) {
    child.error = describe_errno("fork", errno);
    return child;
  }
  if (child.pid == 0) {
    become(spawn, in.get(), out.write.get(), err.write.get(), report.write.get());
  }
  report.write = UniqueFd();
  char text[512];
  const ssize_t got = read(report.read.get(), text, sizeof text);  // 0: exec closed it
  if (got > 0) {
    child.error.assign(text, static_cast<std::size_t>(got));
    (void)waitpid(child.pid, nullptr, 0);
    child.pid = -1;
  }
  child.out = std::move(out.read);
  child.err = std::move(err.read);
  return child;
}

/// Reads what is available. Returns false at the end of the stream.
bool drain(int fd, std::string& into) {
  char chunk[4096];
  const ssize_t got = read(fd, chunk, sizeof chunk);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  const std::size_t room = kMaxCapture - std::min(into.size(), kMaxCapture);
  into.append(chunk, std::min(room, static_cast<std::size_t>(got)));
  return got > 0;
}

int remaining_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

/// Makes SIGCHLD readable through a descriptor for poll, for the lifetime of the object.
class ChildSignals {
 public:
  ChildSignals() {
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &signals, &before_);
    fd_ = UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ChildSignals(const ChildSignals&) = delete;
  ChildSignals& operator=(const ChildSignals&) = delete;
  ~ChildSignals() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Consumes the signal, so that the descriptor is not readable until the next one.
  void clear() const {
    signalfd_siginfo ignored{};
    (void)!read(fd(), &ignored, sizeof ignored);
  }

 private:
  sigset_t before_{};
  UniqueFd fd_;
};

/// Reads both streams until the child ends; returns false if the deadline passes first. Reaps other
/// processes during that time: a container runtime waits until those of its container are gone.
bool collect(Agent& agent, const SpawnedProgram& child, Clock::time_point deadline,
             std::string& out, std::string& err) {
  const UniqueFd ended(static_cast<int>(syscall(SYS_pidfd_open, child.pid, 0)));
  const ChildSignals signals;
  pollfd watched[] = {{child.out.get(), POLLIN, 0},
                      {child.err.get(), POLLIN, 0},
                      {ended.get(), POLLIN, 0},
                      {signals.fd(), POLLIN, 0}};
  bool over = false;
  while (!over || Clock::now() < deadline) {
    reap(agent, child.pid);
    // The pipes may still hold output from just before the child's end: poll them once more.
    const int ready = poll(watched, over ? 2 : 4, over ? 0 : remaining_ms(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return over;
    signals.clear();
    if (watched[0].revents != 0 && !drain(watched[0].fd, out)) watched[0].fd = -1;
    if (watched[1].revents != 0 && !drain(watched[1].fd, err)) watched[1].fd = -1;
    over = over || watched[2].revents != 0;
  }
  return true;
}

/// Like collect, for a traced child. Sets wait_status if it has ended.
bool collect_traced(const SpawnedProgram& child, Tracer& tracer, Clock::time_point deadline,
                    std::string& out, std::string& err, std::optional<int>& wait_status) {
  const ChildSignals signals;
  pollfd watched[] = {
      {child.out.get(), POLLIN, 0}, {child.err.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
  while (true) {
    int status = 0;
    pid_t pid = 0;
    // The child leads a session, so its process group contains all of its threads.
    while (!wait_status && (pid = waitpid(-child.pid, &status, __WALL | WNOHANG)) > 0) {
      if (tracer.on_stop(pid, status) == TraceStop::kEnded) wait_status = status;
    }
    const int ready = poll(watched, 3, wait_status ? 0 : remaining_ms(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return wait_status.has_value();
    signals.clear();
    if (watched[0].revents != 0 && !drain(watched[0].fd, out)) watched[0].fd = -1;
    if (watched[1].revents != 0 && !drain(watched[1].fd, err)) watched[1].fd = -1;
  }
}

}  // namespace

void describe_end(Json& report, int wait_status) {
  if (WIFEXITED(wait_status)) report["status"] = WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) report["signal"] = WTERMSIG(wait_status);
}

Json run_to_end(Agent& agent, const Spawn& spawn) {
  const Clock::time_point begin = Clock::now();
  const SpawnedProgram child = start_child(spawn);
  if (child.pid < 0) return refuse(child.error);
  Json report = {{"ok", true}, {"timedOut", false}};
  std::string out;
  std::string err;
  std::optional<int> ended;
  bool in_time = false;
  if (spawn.kill_at) {
    Tracer tracer(child.pid, *spawn.kill_at);
    in_time = collect_traced(child, tracer, begin + spawn.time_limit, out, err, ended);
    report["callsSeen"] = tracer.seen();
  } else {
    in_time = collect(agent, child, begin + spawn.time_limit, out, err);
  }
  if (!in_time) {
    report["timedOut"] = true;
    (void)kill(-child.pid, SIGKILL);  // the whole session, including its children
  }
  int wait_status = ended.value_or(0);
  if (!ended) (void)waitpid(child.pid, &wait_status, 0);
  reap(agent);
  describe_end(report, wait_status);
  report["stdout"] = out;
  report["stderr"] = err;
  report["elapsedMs"] =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
  return report;
}

Json start_program(Agent& agent, const std::string& name, const Spawn& spawn,
                   bool wait_for_report) {
  if (agent.running.contains(name)) return refuse("'" + name + "' is already running");
  const SpawnedProgram child = start_child(spawn);
  if (child.pid < 0) return refuse(child.error);
  Running program;
  program.pid = child.pid;
  Json report = {{"ok", true}, {"pid", child.pid}};
  if (wait_for_report) {
    const Clock::time_point deadline = Clock::now() + spawn.time_limit;
    std::string text;
    pollfd watched = {child.out.get(), POLLIN, 0};
    while (text.find('\n') == std::string::npos && poll(&watched, 1, remaining_ms(deadline)) > 0 &&
           drain(watched.fd, text)) {
    }
    const Json said = Json::parse(text, nullptr, false);
    if (!said.is_object()) {
      (void)kill(-child.pid, SIGKILL);
      int wait_status = 0;
      (void)waitpid(child.pid, &wait_status, 0);
      std::string complaint;
      (void)drain(child.err.get(), complaint);
      Json failure = refuse("'" + name + "' did not start: " + complaint);
      describe_end(failure, wait_status);
      return failure;
    }
    program.address = said.value("address", std::uint64_t{0});
    program.bytes = said.value("bytes", std::uint64_t{0});
    program.page = std::max(said.value("page", std::uint64_t{0}), std::uint64_t{4096});
  }
  agent.running[name] = program;
  return report;
}

Json stop_program(Agent& agent, const std::string& name) {
  const auto found = agent.running.find(name);
  if (found == agent.running.end()) return refuse("'" + name + "' was not started");
  Json report = {{"ok", true}};
  if (!found->second.ended) {
    (void)kill(-found->second.pid, SIGKILL);
    (void)waitpid(found->second.pid, &found->second.wait_status, 0);
  }
  describe_end(report, found->second.wait_status);
  agent.running.erase(found);
  return report;
}

void reap(Agent& agent, pid_t except) {
  while (true) {
    siginfo_t next{};  // its pid is 0 if no child has ended
    if (waitid(P_ALL, 0, &next, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    const pid_t pid = next.si_pid;
    int wait_status = 0;
    if (pid <= 0 || pid == except || waitpid(pid, &wait_status, WNOHANG) != pid) return;
    for (auto& [name, program] : agent.running) {
      if (program.pid != pid) continue;
      program.ended = true;
      program.wait_status = wait_status;
    }
  }
}

}  // namespace pinfold::guest
