#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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
constexpr const char* kSamplerName = "sampler";

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

/// The groups below a root. A sample reads one or two files of each.
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
  /// A group has its file once the controller is enabled above it; no event reports that.
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

Json sample(const SampleRequest& request) {
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
  while (!recorder_ends()) {
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
  return {{"looks", looks},
          {"states", times.size()},
          {"timesMs", times},
          {"elapsedMs", milliseconds()},
          {"overflow", changes.size() >= kMaxText},
          {"changes", changes}};
}

}  // namespace

Json start_sampler(Agent& agent, const SampleRequest& request) {
  Json reply = start_recorder(agent.sampler, kSamplerName, [&request] { return sample(request); });
  if (reply.value("ok", false)) agent.command_cpu = kCpu;
  return reply;
}

Json stop_sampler(Agent& agent) {
  agent.command_cpu = -1;
  return stop_recorder(agent.sampler, kSamplerName);
}

}  // namespace pinfold::guest
