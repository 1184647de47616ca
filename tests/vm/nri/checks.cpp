#include "checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cri.hpp"
#include "foreign.hpp"
#include "pinfold/checkpoint/store.hpp"

namespace pinfold::driver {
namespace {

constexpr const char* kCgroups = "/sys/fs/cgroup";
constexpr const char* kAllCpus = "0-7";
constexpr const char* kStateDir = "/var/lib/pinfold";
constexpr std::size_t kIdLength = 64;  ///< of a container

std::string read_all(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

CpuSet read_cpus(const std::filesystem::path& file) {
  const std::string text = read_all(file);
  return CpuSet::parse(text.substr(0, text.find('\n'))).value_or(CpuSet());
}

Json status() {
  return Json::parse(output_of("pinfold status -o json --config /etc/pinfold/config.yaml"), nullptr,
                     false);
}

/// The desired CPUs of one container, from the service's state.
struct Desired {
  std::string directory;
  CpuSet cpus;
};

using Name = std::pair<std::string, std::string>;  ///< UID of a pod, name of a container

std::map<Name, Desired> desired_containers() {
  std::map<Name, Desired> desired;
  const Json all = status();
  for (const Json& pod : all.at("pods")) {
    for (const Json& container : pod.at("containers")) {
      desired[{pod.at("uid"), container.at("name")}] = {
          container.value("cgroupPath", ""),
          CpuSet::parse(container.at("cpus").get<std::string>()).value_or(CpuSet())};
    }
  }
  return desired;
}

/// Returns what is wrong with the CPUs of a running container; "" if nothing is.
std::string wrong_cpus(const Pod& pod, const Container& container, const Desired& desired) {
  const std::string title = pod.name() + "/" + container.name;
  if (!desired.directory.ends_with("/" + container.id)) {
    return fmt::format("{} '{}' is not adopted, but '{}'", title, container.id, desired.directory);
  }
  const int exclusive = pod.exclusive_of(container.name);
  if (exclusive > 0 && static_cast<int>(desired.cpus.size()) != exclusive) {
    return fmt::format("{}: decided: {}", title, desired.cpus.to_string());
  }
  const CpuSet has = read_cpus(desired.directory + "/cpuset.cpus.effective");
  if (has == desired.cpus) return "";
  return fmt::format("{}: CPUs {}, expected {}", title, has.to_string(), desired.cpus.to_string());
}

/// Returns groups with processes that can run on exclusive CPUs of another.
std::string wrong_groups(const std::map<std::string, CpuSet>& exclusive) {
  const std::string kubepods = std::string(kCgroups) + "/kubepods";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kubepods)) {
    if (!entry.is_directory()) continue;
    const std::string group = entry.path();
    if (read_all(group + "/cgroup.procs").empty()) continue;
    const CpuSet has = read_cpus(group + "/cpuset.cpus.effective");
    for (const auto& [owner, cpus] : exclusive) {
      const bool is_its_own = group == owner || group.starts_with(owner + "/");
      if (is_its_own || !has.intersects(cpus)) continue;
      return fmt::format("{}: CPUs {}, of them exclusive to {}: {}", group, has.to_string(), owner,
                         (has & cpus).to_string());
    }
  }
  return "";
}

/// Compares the running containers with the service's state and the kernel. Returns "" if all is
/// right.
std::string wrong_containers() {
  const auto desired = desired_containers();
  std::map<std::string, CpuSet> exclusive;
  for (const Sandbox& sandbox : sandboxes()) {
    for (const Container& container : sandbox.containers) {
      const bool has_group = sandbox.pod.number < kFirstWithoutGroups;
      if (!container.runs || !has_group) continue;
      const auto found = desired.find({sandbox.pod.uid(), container.name});
      if (found == desired.end()) {
        return fmt::format("{}/{} is not known", sandbox.pod.name(), container.name);
      }
      if (std::string wrong = wrong_cpus(sandbox.pod, container, found->second); !wrong.empty()) {
        return wrong;
      }
      if (sandbox.pod.exclusive_of(container.name) > 0) {
        exclusive[found->second.directory] = found->second.cpus;
      }
    }
  }
  return wrong_groups(exclusive);
}

/// Returns a pod that the service has but the runtime does not; "" if there is none.
std::string left_pod() {
  const auto known = sandboxes();
  for (const auto& [name, desired] : desired_containers()) {
    const bool is_known =
        std::any_of(known.begin(), known.end(),
                    [&uid = name.first](const auto& one) { return one.pod.uid() == uid; });
    if (!is_known) return fmt::format("pod '{}' is left", name.first);
  }
  return "";
}

/// Returns a group that no longer belongs to any pod; "" if there is none.
std::string left_group(EmptyGroups allowed) {
  const std::string kubepods = std::string(kCgroups) + "/kubepods";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kubepods)) {
    const std::string name = entry.path().filename();
    if (!entry.is_directory() || name == "burstable" || name == "besteffort") continue;
    const bool is_empty = read_all(entry.path() / "cgroup.procs").empty();
    if (is_empty && allowed == EmptyGroups::kOfRuntime) continue;
    return fmt::format("group '{}' is left", entry.path().string());
  }
  return "";
}

/// Returns what the service has in addition to `before`; "" if nothing.
std::string grown(const Footprint& before) {
  const Footprint now = footprint();
  for (const std::string& name : now.state_files) {
    const std::string file = fmt::format("{}/{}", kStateDir, name);
    std::error_code gone;
    const auto size = std::filesystem::file_size(file, gone);
    const bool may_stay =
        name == checkpoint::kJournalFileName && size <= checkpoint::Store::kKeptJournal;
    if (gone || may_stay) continue;
    if (!before.state_files.contains(name)) return fmt::format("file '{}'", file);
  }
  std::vector<std::string> more;
  std::set_difference(now.open_files.begin(), now.open_files.end(), before.open_files.begin(),
                      before.open_files.end(), std::back_inserter(more));
  return more.empty() ? "" : fmt::format("more open files: {}", fmt::join(more, ", "));
}

/// Asks repeatedly until the answer is empty, which it must be after the service's next look.
template <class Question>
void expect_none_soon(const std::string& when, Question ask) {
  constexpr double kLook = 30;
  const auto begin = Clock::now();
  for (std::string left; !(left = ask()).empty();) {
    if (seconds_since(begin) > kLook) complain(fmt::format("{}: {}", when, left));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

}  // namespace

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) complain(command);
  char chunk[4096];
  for (std::size_t got = 0; (got = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) {
    text.append(chunk, got);
  }
  (void)pclose(pipe);
  return text;
}

void run(const std::string& command) {
  // A service started this way must not inherit this program's open files.
  (void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe): glibc's is
  if (status != 0) complain(fmt::format("'{}': status {}", command, status));
}

CpuSet cpus_of_group(const std::string& group) {
  return read_cpus(kCgroups + group + "/cpuset.cpus");
}

void expect_right_state(const std::string& when) {
  expect_none_soon(when, wrong_containers);
  expect_none_soon(when, left_pod);
}

Footprint footprint() {
  Footprint all;
  for (const auto& entry : std::filesystem::directory_iterator(kStateDir)) {
    all.state_files.insert(entry.path().filename());
  }
  const std::string pid = output_of("cat /run/pinfold/pid");
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + pid.substr(0, pid.find('\n')) + "/fd")) {
    std::error_code gone;
    const std::string name = std::filesystem::read_symlink(entry.path(), gone);
    const bool has_number = name.starts_with("socket:") || name.starts_with("pipe:");
    if (!gone) all.open_files.insert(has_number ? name.substr(0, name.find(':')) : name);
  }
  return all;
}

Forgotten forgotten_groups() {
  Forgotten all;
  const std::string kubepods = std::string(kCgroups) + "/kubepods";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kubepods)) {
    if (!entry.is_directory() || entry.path().filename().string().size() != kIdLength) continue;
    auto& groups = read_all(entry.path() / "cgroup.procs").empty() ? all.empty : all.running;
    groups.push_back(entry.path());
  }
  return all;
}

void end_forgotten(const Forgotten& groups) {
  for (const std::string& group : groups.running) std::ofstream(group + "/cgroup.kill") << 1;
  expect_none_soon("after all", [&] {
    const auto running = forgotten_groups().running;
    return running.empty() ? "" : fmt::format("processes do not end: {}", running.front());
  });
}

void expect_nothing_left(const Footprint& before, EmptyGroups empty_groups) {
  expect_right_state("after all");
  if (const std::string left = left_group(empty_groups); !left.empty()) {
    complain("after all: " + left);
  }
  expect_none_soon("after all", [&before] { return grown(before); });
  const std::string pool = status().value("sharedPool", "");
  if (pool != kAllCpus) {
    complain(fmt::format("after all: shared pool {}, expected {}", pool, kAllCpus));
  }
}

}  // namespace pinfold::driver
