#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "pinfold/enforce/cgroups.hpp"

/// The part of Cgroups that deals with groups outside the root, which a container runtime made.
namespace pinfold::enforce {
namespace {

constexpr const char* kCpus = "cpuset.cpus";
constexpr const char* kMems = "cpuset.mems";

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Result<void> Cgroups::adopt(const GroupName& name, const std::string& directory) {
  PINFOLD_LET(auto path, relative_path(name));
  PINFOLD_LET(auto fs, open_elsewhere_(directory));
  PINFOLD_TRY_WRAP(fs->read("", kCpus), fmt::format("'{}' has no cpuset", directory));
  adopted_.insert_or_assign(name, Adopted{directory, std::move(fs)});
  if (directory == root() + "/" + path) return {};
  for (Hierarchy& hierarchy : hierarchies_) {
    // One with processes stays, and is not looked at: whoever put them there has another group now.
    (void)hierarchy.fs->remove_group(path);
  }
  return {};
}

std::string Cgroups::adopted(const GroupName& name) const {
  const auto found = adopted_.find(name);
  return found == adopted_.end() ? "" : found->second.directory;
}

Result<std::string> Cgroups::directory_of(pid_t process) const {
  PINFOLD_LET(auto mounts, parse_mountinfo(read_all("/proc/self/mountinfo")));
  const std::string file = fmt::format("/proc/{}/cgroup", process);
  PINFOLD_LET_WRAP(auto directory,
                   group_of_process(read_all(file), mounts, hierarchies_.front().root.version),
                   fmt::format("'{}'", file));
  return directory;
}

/// What a step is for a group that is made and removed by somebody else.
Result<void> Cgroups::apply_to_adopted(const Step& step, const Place& place) {
  switch (step.kind) {
    case Step::Kind::kRemove:
      adopted_.erase(step.group);
      return {};
    case Step::Kind::kCreate:
    case Step::Kind::kValue:
      return {};
    case Step::Kind::kVerify:
      return verify(step);
    case Step::Kind::kCpus:
    case Step::Kind::kMems:
      break;
  }
  // "As its parent" is what the runtime gave it.
  if (step.set.empty()) return {};
  const bool is_cpus = step.kind == Step::Kind::kCpus;
  PINFOLD_TRY(set_and_read_back(place, is_cpus ? kCpus : kMems, step.set));
  PINFOLD_LET(auto effective, is_cpus ? effective_cpus(step.group) : effective_mems(step.group));
  if (step.set.contains_all(effective)) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' is effectively on '{}': its parent has none of '{}'",
                          adopted(step.group), effective.to_string(), step.set.to_string()));
}

Result<void> Cgroups::observe_adopted(const Layout& desired, Layout& layout) {
  static const GroupSettings kNothing;
  for (auto it = adopted_.begin(); it != adopted_.end();) {
    const auto& [name, group] = *it;
    const auto found = desired.find(name);
    const GroupSettings& desired_one = found == desired.end() ? kNothing : found->second;
    const Place place{group.fs.get(), ""};
    auto cpus = read_list(place, kCpus);
    auto mems = read_list(place, kMems);
    if (!cpus || !mems) {  // removed by its runtime
      it = adopted_.erase(it);
      continue;
    }
    GroupSettings observed;
    if (!desired_one.cpus.empty()) observed.cpus = *std::move(cpus);
    if (!desired_one.mems.empty()) observed.mems = *std::move(mems);
    if (observed.cpus == desired_one.cpus) observed.isolation = desired_one.isolation;
    // A layout has no container without its pod; it counts as new then, and is given its sets
    // again.
    if (layout.contains(name.parent())) layout.insert_or_assign(name, std::move(observed));
    ++it;
  }
  return {};
}

}  // namespace pinfold::enforce
