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
#include <optional>

#include "agent.hpp"

/// Repeatedly reads the same file of all groups. QEMU may run one CPU at a time, so the sampler
/// shares a CPU with the processes that it watches and preempts them: it samples between their
/// system calls, not just between their time slices.
namespace pinfold::guest {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCpu = 0;
constexpr std::size_t kMaxText = 16 << 20;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of a signal handler
volatile std::sig_atomic_t g_end = 0;
void on_end(int /*signal*/) { g_end = 1; }

/// One sample: group names and the content of their files, sorted by name.
using Look = std::vector<std::pair<std::string, std::string>>;

/// A group and its files, held open.
struct SampledGroup {
  std::string name;
  UniqueFd file;
  UniqueFd events;  ///< only with only_in_use
};

/// Reads a group's file; nullopt if the group was removed.
std::optional<std::string> content(const UniqueFd& file) {
  char text[256];
  const ssize_t got = pread(file.get(), text, sizeof text, 0);
  if (got < 0) return std::nullopt;
  const bool has_end = got > 0 && text[got - 1] == '\n';
  return std::string(text, static_cast<std::size_t>(has_end ? got - 1 : got));
}

/// The groups below a root: a sample is one read of a file, or two, for each.
class Groups {
 public:
  explicit Groups(SampleRequest request)
      : request_(std::move(request)), changes_(inotify_init1(IN_NONBLOCK)) {
    find();
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;
  ~Groups() = default;

  /// Takes one sample. Returns false if groups were created or removed meanwhile.
  bool look(Look& look) {
    if (has_changed() || is_file_missing_) find();
    look.resize(groups_.size());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      auto text = content(groups_[i].file);
      if (text && groups_[i].events) {
        const auto events = content(groups_[i].events);
        text = !events ? std::nullopt : events->starts_with("populated 0") ? "" : text;
      }
      if (!text) {
        find();
        return false;
      }
      look[i] = {groups_[i].name, std::move(*text)};
    }
    return !has_changed();
  }

 private:
  bool has_changed() {
    alignas(inotify_event) char events[4096];
    bool changed = false;
    while (read(changes_.get(), events, sizeof events) > 0) changed = true;
    return changed;
  }

  void find() {
    groups_.clear();
    is_file_missing_ = false;
    std::error_code failed;
    watch(request_.root);
    for (std::filesystem::recursive_directory_iterator it(request_.root, failed), end;
         !failed && it != end; it.increment(failed)) {
      if (!it->is_directory(failed)) continue;
      watch(it->path());
      SampledGroup group{it->path().string().substr(request_.root.size() + 1),
                         opened(it->path() / request_.file), UniqueFd()};
      if (request_.only_in_use) group.events = opened(it->path() / "cgroup.events");
      if (!group.file || (request_.only_in_use && !group.events)) {
        is_file_missing_ = true;
        continue;
      }
      groups_.push_back(std::move(group));
    }
    std::sort(groups_.begin(), groups_.end(),
              [](const SampledGroup& a, const SampledGroup& b) { return a.name < b.name; });
  }
  static UniqueFd opened(const std::filesystem::path& file) {
    return UniqueFd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  }
  void watch(const std::string& folder) {
    (void)inotify_add_watch(changes_.get(), folder.c_str(), IN_CREATE | IN_DELETE | IN_ONLYDIR);
  }

  SampleRequest request_;
  UniqueFd changes_;
  std::vector<SampledGroup> groups_;
  /// A group gets its file when the controller is enabled above it; no event reports that.
  bool is_file_missing_ = false;
};

/// Binds the process to kCpu, with a real-time priority.
void take_cpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(kCpu, &one);
  (void)sched_setaffinity(0, sizeof one, &one);
  const sched_param urgent = {1};
  (void)sched_setscheduler(0, SCHED_FIFO, &urgent);
}

/// Sleeps in proportion to the time taken, which grows with the host's load: with a fixed time a
/// slow machine would leave nothing for other processes.
void leave_cpu_to_others(std::chrono::nanoseconds taken) {
  const timespec span = {0, std::clamp<long>(4 * taken.count(), 200'000, 999'999'999)};
  (void)nanosleep(&span, nullptr);
}

/// Returns entries of `now` that differ from `before`, and names that were removed; both inputs are
/// sorted by name. A group that is not in use has no content.
std::string difference(const Look& before, const Look& now) {
  std::string text;
  const auto is_in = [](const Look& look, const Look::value_type& group) {
    return std::binary_search(look.begin(), look.end(), group);
  };
  const auto names = [](const Look& look, const std::string& name) {
    const auto at = std::lower_bound(look.begin(), look.end(), Look::value_type{name, ""});
    return at != look.end() && at->first == name;
  };
  for (const auto& group : now) {
    if (!is_in(before, group)) text.append(group.first).append(" ").append(group.second) += '\n';
  }
  for (const auto& [name, list] : before) {
    if (!names(now, name)) text.append(name) += '\n';
  }
  return text;
}

[[noreturn]] void sample(const SampleRequest& request, int results) {
  struct sigaction action {};
  action.sa_handler = on_end;
  (void)sigaction(SIGTERM, &action, nullptr);
  take_cpu();
  Groups groups(request);
  const Clock::time_point started = Clock::now();
  const auto milliseconds = [started] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started).count();
  };
  std::uint64_t looks = 0;
  std::vector<std::int64_t> times;  // of the states
  std::string changes;
  Look before;
  Look now;
  Look confirmed;
  bool is_known = false;  // whether `before` is the directly preceding sample
  while (g_end == 0) {
    const Clock::time_point begin = Clock::now();
    // A sample reads its files one after another, so only what two consecutive samples share is
    // known to have existed at one time. After a change it therefore samples twice in a row.
    for (int i = 0; i < 2; ++i) {
      const bool is_whole = groups.look(now);
      if (is_whole) ++looks;
      const bool is_same = is_whole && is_known && now == before;
      std::swap(before, now);
      is_known = is_whole;
      if (!is_same) continue;
      if (before != confirmed && changes.size() < kMaxText) {
        times.push_back(milliseconds());
        changes.append(difference(confirmed, before)) += '\n';
        confirmed = before;
      }
      break;
    }
    leave_cpu_to_others(Clock::now() - begin);
  }
  const Json report = {{"looks", looks},
                       {"states", times.size()},
                       {"timesMs", times},
                       {"elapsedMs", milliseconds()},
                       {"overflow", changes.size() >= kMaxText},
                       {"changes", changes}};
  const std::string text = report.dump();
  const bool written =
      write(results, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(written ? 0 : 1);
}

}  // namespace

Json start_sampler(Agent& agent, const SampleRequest& request) {
  if (agent.sampler.pid >= 0) return refuse("the sampler is already running");
  UniqueFd results(memfd_create("samples", MFD_CLOEXEC));
  if (!results) return refuse(describe_errno("memfd_create", errno));
  const pid_t pid = fork();
  if (pid < 0) return refuse(describe_errno("fork", errno));
  if (pid == 0) sample(request, results.get());
  agent.sampler = {pid, std::move(results), kCpu};
  return {{"ok", true}};
}

Json stop_sampler(Agent& agent) {
  if (agent.sampler.pid < 0) return refuse("the sampler does not run");
  (void)kill(agent.sampler.pid, SIGTERM);
  int wait_status = 0;
  (void)waitpid(agent.sampler.pid, &wait_status, 0);
  std::string text;
  char chunk[4096];
  (void)lseek(agent.sampler.results.get(), 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(agent.sampler.results.get(), chunk, sizeof chunk)) > 0;) {
    text.append(chunk, static_cast<std::size_t>(got));
  }
  agent.sampler = {};
  Json report = Json::parse(text, nullptr, false);
  if (!report.is_object()) {
    Json failure = refuse("the sampler did not stop");
    describe_end(failure, wait_status);
    return failure;
  }
  report["ok"] = true;
  return report;
}

}  // namespace pinfold::guest
