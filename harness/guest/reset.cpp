#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "baseline.hpp"

// Scenarios on the same machine use one guest, one after the other. Between two of them the agent
// ends and removes everything that the first one left behind, and then checks that the guest is as
// it was before. docs/harness-design.md explains why.

namespace pinfold::guest {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kResetLimit(10);
constexpr unsigned kPauseUs = 2000;

/// Calls `step` until it returns false, but not beyond the deadline.
template <class Step>
void repeat(Clock::time_point deadline, Step step) {
  while (step() && Clock::now() < deadline) (void)usleep(kPauseUs);
}

void end_processes(Agent& agent, const Facts& before, Clock::time_point deadline) {
  repeat(deadline, [&] {
    bool any = false;
    for (const auto& [pid, facts] : processes()) {
      if (before.contains(pid)) continue;
      (void)kill(static_cast<pid_t>(std::strtol(pid.c_str(), nullptr, 10)), SIGKILL);
      any = true;
    }
    reap(agent);
    return any;
  });
}

/// Thaws new frozen groups: on version 1, processes in a frozen group do not end.
void thaw(const Agent& agent, const Facts& before) {
  for (const auto& [path, facts] : groups(agent)) {
    if (!before.contains(path) && path.ends_with("/freezer.state")) {
      (void)write_text(path, "THAWED", O_WRONLY);
    }
  }
}

void unmount(const Facts& before) {
  std::vector<std::pair<long, std::string>> added;
  for (const auto& [mount, facts] : mounts()) {
    if (before.contains(mount)) continue;
    char* point = nullptr;
    const long id = std::strtol(mount.c_str(), &point, 10);
    added.emplace_back(id, point + 1);
  }
  std::sort(added.rbegin(), added.rend());  // latest mount first
  for (const auto& [id, point] : added) (void)umount2(point.c_str(), MNT_DETACH);
}

/// Removes new groups, deepest first. The kernel may take a moment until a group is empty.
void remove_groups(const Agent& agent, const Facts& before, Clock::time_point deadline) {
  repeat(deadline, [&] {
    const Facts now = groups(agent);
    bool any = false;
    for (auto it = now.rbegin(); it != now.rend(); ++it) {
      if (it->second != kIsGroup || before.contains(it->first)) continue;
      any = rmdir(it->first.c_str()) != 0 || any;
    }
    return any;
  });
}

void remove_files(const Facts& before) {
  const Facts now = files();
  for (auto it = now.rbegin(); it != now.rend(); ++it) {
    if (!before.contains(it->first)) (void)std::remove(it->first.c_str());
  }
}

/// Writes back values that differ. Those that cannot be written remain a difference.
void write_back(const Facts& before, const Facts& now) {
  for (const auto& [path, value] : before) {
    const auto found = now.find(path);
    if (found == now.end() || found->second == value) continue;
    if (path.ends_with("/cgroup.subtree_control")) {
      std::istringstream names(found->second);
      for (std::string name; names >> name;) {
        if ((" " + value + " ").find(" " + name + " ") == std::string::npos) {
          (void)write_text(path, "-" + name, O_WRONLY);
        }
      }
      std::istringstream wanted(value);
      for (std::string name; wanted >> name;) (void)write_text(path, "+" + name, O_WRONLY);
    } else {
      (void)write_text(path, value, O_WRONLY);
    }
  }
}

/// Returns the first difference; "" if there is none.
std::string difference(const Facts& before, const Facts& now) {
  for (const auto& [name, value] : before) {
    const auto found = now.find(name);
    if (found == now.end()) return joined({"'", name, "' (", value, ") is gone"});
    if (found->second != value) {
      return joined({"'", name, "' was '", value, "', now it is '", found->second, "'"});
    }
  }
  for (const auto& [name, value] : now) {
    if (!before.contains(name)) return joined({"'", name, "' (", value, ") did not exist"});
  }
  return "";
}

}  // namespace

Json remember(Agent& agent) {
  auto baseline = std::make_shared<Baseline>();
  baseline->processes = processes();
  baseline->mounts = mounts();
  baseline->groups = groups(agent);
  baseline->files = files();
  baseline->kernel = kernel();
  baseline->clock = clock_offset();
  agent.baseline = std::move(baseline);
  return {{"ok", true}};
}

Json reset(Agent& agent) {
  if (!agent.baseline) return refuse("the guest has no recorded state");
  if (agent.disk) return refuse("a disk is never reset");
  const Baseline& before = *agent.baseline;
  const Clock::time_point deadline = Clock::now() + kResetLimit;
  thaw(agent, before.groups);
  end_processes(agent, before.processes, deadline);
  agent.running.clear();
  agent.sampler = {};
  agent.command_cpu = -1;
  drop_witness(agent);
  unmount(before.mounts);
  remove_groups(agent, before.groups, deadline);
  write_back(before.groups, groups(agent));
  write_back(before.kernel, kernel());
  remove_files(before.files);

  if (std::chrono::abs(clock_offset() - before.clock) > std::chrono::seconds(1)) {
    return refuse("the clock was set");
  }
  const std::pair<const Facts&, Facts> looks[] = {{before.processes, processes()},
                                                  {before.mounts, mounts()},
                                                  {before.groups, groups(agent)},
                                                  {before.files, files()},
                                                  {before.kernel, kernel()}};
  for (const auto& [was, is] : looks) {
    if (std::string found = difference(was, is); !found.empty()) return refuse(std::move(found));
  }
  return {{"ok", true}};
}

}  // namespace pinfold::guest
