#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>

#include "agent.hpp"

/// Reads the same file of all groups again and again. It runs on the CPU of those whom it watches
/// and preempts them, because QEMU may run one CPU at a time: so it looks between two of their
/// system calls, not just between two of their time slices.
namespace pinfold::guest {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCpu = 0;
constexpr std::size_t kMaxStates = 5000;

volatile std::sig_atomic_t g_end = 0;
void on_end(int /*signal*/) { g_end = 1; }

/// The groups below a root with their files held open, so that a look is one read for each.
class Groups {
 public:
  Groups(std::string root, std::string file)
      : root_(std::move(root)), file_(std::move(file)), changes_(inotify_init1(IN_NONBLOCK)) {
    find();
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;
  ~Groups() {
    forget();
    (void)close(changes_);
  }

  /// One look: "podX/a 0-3\npodX/b 4\n". Nothing if groups came or went meanwhile.
  bool look(std::string& state) {
    if (has_changed()) find();
    state.clear();
    for (const auto& [name, fd] : files_) {
      char text[256];
      const ssize_t got = pread(fd, text, sizeof text, 0);
      if (got < 0) {
        find();
        return false;
      }
      state.append(name).append(" ").append(text, static_cast<std::size_t>(got));
      if (got == 0 || state.back() != '\n') state += '\n';
    }
    return !has_changed();
  }

 private:
  bool has_changed() {
    alignas(inotify_event) char events[4096];
    bool changed = false;
    while (read(changes_, events, sizeof events) > 0) changed = true;
    return changed;
  }

  void forget() {
    for (const auto& [name, fd] : files_) (void)close(fd);
    files_.clear();
  }

  void find() {
    forget();
    std::error_code failed;
    watch(root_);
    for (std::filesystem::recursive_directory_iterator it(root_, failed), end; !failed && it != end;
         it.increment(failed)) {
      if (!it->is_directory(failed)) continue;
      watch(it->path());
      const int fd = open((it->path() / file_).c_str(), O_RDONLY | O_CLOEXEC);
      if (fd >= 0) files_.emplace_back(it->path().string().substr(root_.size() + 1), fd);
    }
    std::sort(files_.begin(), files_.end());
  }
  void watch(const std::string& folder) {
    (void)inotify_add_watch(changes_, folder.c_str(), IN_CREATE | IN_DELETE | IN_ONLYDIR);
  }

  std::string root_;
  std::string file_;
  int changes_;
  std::vector<std::pair<std::string, int>> files_;
};

/// On this CPU, before everybody who is not as urgent.
void take_cpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(kCpu, &one);
  (void)sched_setaffinity(0, sizeof one, &one);
  const sched_param urgent = {1};
  (void)sched_setscheduler(0, SCHED_FIFO, &urgent);
}

void sleep_for(std::chrono::nanoseconds time) {
  const timespec span = {0, std::clamp<long>(time.count(), 200'000, 20'000'000)};
  (void)nanosleep(&span, nullptr);
}

[[noreturn]] void sample(const std::string& root, const std::string& file, int results) {
  struct sigaction action {};
  action.sa_handler = on_end;
  (void)sigaction(SIGTERM, &action, nullptr);
  take_cpu();
  Groups groups(root, file);
  std::map<std::string, std::uint64_t> states;
  std::uint64_t looks = 0;
  std::string before;
  std::string now;
  bool overflow = false;
  while (g_end == 0) {
    const Clock::time_point begin = Clock::now();
    const bool whole = groups.look(now);
    if (whole) ++looks;
    // The files of one look are read one after the other: what two looks running have in common was
    // there at one time.
    if (whole && now == before) {
      if (states.size() < kMaxStates || states.contains(now)) {
        ++states[now];
      } else {
        overflow = true;
      }
    } else if (whole) {
      before = now;
      continue;  // confirm at once
    } else {
      before.clear();
    }
    sleep_for(4 * (Clock::now() - begin));  // the others get most of the time
  }
  Json report = {{"looks", looks}, {"overflow", overflow}, {"states", Json::array()}};
  for (const auto& [state, count] : states) {
    report["states"].push_back({{"groups", state}, {"looks", count}});
  }
  const std::string text = report.dump();
  const bool written =
      write(results, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(written ? 0 : 1);
}

}  // namespace

Json start_sampler(Agent& agent, const std::string& root, const std::string& file) {
  if (agent.sampler.pid >= 0) return refuse("the sampler runs already");
  const int results = memfd_create("samples", MFD_CLOEXEC);
  if (results < 0) return refuse(describe_errno("memfd_create", errno));
  const pid_t pid = fork();
  if (pid < 0) return refuse(describe_errno("fork", errno));
  if (pid == 0) sample(root, file, results);
  agent.sampler = {pid, results, kCpu};
  return {{"ok", true}};
}

Json stop_sampler(Agent& agent) {
  if (agent.sampler.pid < 0) return refuse("the sampler does not run");
  (void)kill(agent.sampler.pid, SIGTERM);
  int wait_status = 0;
  (void)waitpid(agent.sampler.pid, &wait_status, 0);
  std::string text;
  char chunk[4096];
  (void)lseek(agent.sampler.results, 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(agent.sampler.results, chunk, sizeof chunk)) > 0;) {
    text.append(chunk, static_cast<std::size_t>(got));
  }
  (void)close(agent.sampler.results);
  agent.sampler = {};
  Json report = Json::parse(text, nullptr, false);
  if (!report.is_object()) {
    Json failure = refuse("the sampler came to no end");
    describe_end(failure, wait_status);
    return failure;
  }
  report["ok"] = true;
  return report;
}

}  // namespace pinfold::guest
