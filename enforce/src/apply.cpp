#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "enable.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/enforce/nested.hpp"
#include "pinfold/enforce/processes.hpp"

/// Applies one step of a plan to the kernel and checks the result.
namespace pinfold::enforce {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

Result<void> create_part(const Group::Part& part, bool has_cpusets, bool is_pod,
                         const KernelFacts& facts) {
  const bool is_v1 = part.hierarchy->version == CgroupVersion::kV1;
  const auto set_if_exists = [&](const char* file, const char* value) -> Result<void> {
    auto done = Group::fs(part).write(part.path, file, value);
    if (!done && done.error().code == ErrorCode::kNotFound) return {};
    return done;
  };
  PINFOLD_TRY(Group::fs(part).make_group(part.path));
  if (is_v1 && has_cpusets) {  // pages follow cpuset.mems, as on cgroup v2
    PINFOLD_TRY(set_if_exists("cpuset.memory_migrate", "1"));
  }
  if (!is_pod) return {};
  Result<void> result;  // if one controller is refused, the others are still enabled
  for (const Controller controller : part.hierarchy->controllers) {
    if (!facts.controllers.contains(controller)) continue;
    Result<void> done;
    if (!is_v1) {
      done = enable(part, controller);
    } else if (controller == Controller::kCpuset) {
      // If this flag is on, a new container starts with a copy of the pod's CPUs.
      done = set_if_exists("cgroup.clone_children", "0");
    }
    if (!done && result) result = std::move(done);
  }
  return result;
}

/// Creates the group in every hierarchy; a failure in one (memory) does not stop the others
/// (cpuset).
Result<void> create(const Step& step, const Group& group, const KernelFacts& facts) {
  Result<void> result;
  for (const Group::Part& part : group.parts) {
    const bool has_cpusets = &part == &group.parts.front();
    auto done = create_part(part, has_cpusets, step.group.is_pod(), facts);
    if (!done && result) result = std::move(done);
  }
  return result;
}

/// Removes a group and the groups that a container made below it; none of them has a process.
Result<void> remove_with_below(CgroupFs& fs, const std::string& path, int depth) {
  constexpr int kMaxDepth = 32;
  const auto below = fs.children(path);
  if (!below && is_gone(below.error())) return {};
  if (depth < kMaxDepth) {
    for (const std::string& child : below.value_or(std::vector<std::string>())) {
      PINFOLD_TRY(remove_with_below(fs, fmt::format("{}/{}", path, child), depth + 1));
    }
  }
  return fs.remove_group(path);
}

/// Removes the group from all hierarchies, but only if no process is left in any of them.
Result<void> remove(const Group& group) {
  constexpr auto kPause = std::chrono::milliseconds(10);
  constexpr int kTries = 100;
  for (int tries = 1;; ++tries) {
    PINFOLD_LET(const auto pids, processes(group));
    if (!pids.empty()) {
      return fail(ErrorCode::kBusy, fmt::format("processes still run in it: {}", to_list(pids)));
    }
    Result<void> removed;
    for (const Group::Part& part : group.parts) {
      removed = group.is_container ? remove_with_below(Group::fs(part), part.path, 0)
                                   : Group::fs(part).remove_group(part.path);
      if (!removed) break;
    }
    if (removed) return {};
    // A process that has just ended leaves cgroup.procs before it releases the group.
    const Group::Part& part = group.cpuset();
    const auto below = part.fs->children(part.path);
    const bool has_groups = below && !below->empty();
    if (removed.error().sys_errno != EBUSY || has_groups || tries >= kTries) return removed;
    std::this_thread::sleep_for(kPause);
  }
}

Result<void> set_and_read_back(const Group& group, const char* file, const CpuSet& set) {
  const Group::Part& part = group.cpuset();
  // The containers of a pod have their own steps.
  const MayWrite others = [](const std::string& name) { return !is_safe_name(name); };
  PINFOLD_TRY(write_set(group, file, set, group.is_container ? MayWrite() : others));
  PINFOLD_LET(const auto observed, read_set(group, file));
  if (observed == set) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the kernel has '{}' in '{}/{}', expected '{}'", observed.to_string(),
                          part.path, file, set.to_string()));
}

/// Gives a group its parent's set. cgroup v1 cannot express "same as the parent", and cgroup v2
/// refuses it to a group that has another set and processes in or below it: these groups get a
/// copy.
Result<void> set_as_parent(const Group& group, bool is_cpus) {
  if (group.is_adopted()) return {};  // keeps what its runtime gave it
  const char* const file = is_cpus ? kCpusFile : kMemsFile;
  if (group.is_v2()) {
    auto cleared = set_and_read_back(group, file, CpuSet());
    if (cleared || cleared.error().sys_errno != ENOSPC) return cleared;
  }
  Group parent = group;
  parent.parts.front().path = parent_of(group.cpuset().path);
  if (!group.is_v2()) {
    PINFOLD_LET(const auto set, read_set(parent, file));
    return set_and_read_back(group, file, set);
  }
  PINFOLD_LET(const auto set, is_cpus ? effective_cpus(parent) : effective_mems(parent));
  return set_and_read_back(group, file, set);
}

Result<void> set_list(const Step& step, const Group& group) {
  const bool is_cpus = step.kind == Step::Kind::kCpus;
  const char* const file = is_cpus ? kCpusFile : kMemsFile;
  if (step.set.empty()) return set_as_parent(group, is_cpus);
  PINFOLD_TRY(set_and_read_back(group, file, step.set));
  if (step.group.is_pod()) return {};
  PINFOLD_LET(const auto effective, is_cpus ? effective_cpus(group) : effective_mems(group));
  if (step.set.contains_all(effective)) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' is effectively on '{}' although its {} is '{}': these are offline, "
                          "or not in the cpuset of its parent",
                          group.is_adopted() ? group.directory : group.label, effective.to_string(),
                          file, step.set.to_string()));
}

const Group::Part* part_with(const Group& group, const std::string& file) {
  const auto controller = controller_of(file);
  const auto part =
      std::find_if(group.parts.begin(), group.parts.end(), [&](const Group::Part& one) {
        const auto& has = one.hierarchy->controllers;
        return controller && std::find(has.begin(), has.end(), *controller) != has.end();
      });
  return part == group.parts.end() ? nullptr : &*part;
}

/// Explains why a value was refused if errno does not say it; "" if unknown.
std::string cause_of(const Step& step, const Group& group, const Error& error) {
  const Group::Part* const part = part_with(group, step.file);
  if (step.kind != Step::Kind::kValue || part == nullptr) return "";
  const std::string directory = part->hierarchy->directory + "/" + part->path;
  const bool is_weight = step.file == "cpu.weight" || step.file == "cpu.shares";
  if (is_weight && error.sys_errno == EINVAL &&
      part->fs->read(part->path, "cpu.idle").value_or("") == "1") {
    return fmt::format("cpu.idle is 1, so {} cannot be written: echo 0 > '{}/cpu.idle'", step.file,
                       directory);
  }
  if (step.file == "memory.limit_in_bytes" && error.sys_errno == EBUSY) {
    const auto used = part->fs->read(part->path, "memory.usage_in_bytes");
    return fmt::format(
        "'{}' uses {} bytes, so {} cannot become {}: the kernel cannot reclaim "
        "enough of them",
        directory, used.value_or("more"), step.file, step.value);
  }
  return "";
}

Result<void> set_value(const Step& step, const Group& group) {
  const Group::Part* const part = part_with(group, step.file);
  if (part == nullptr) {
    return fail(ErrorCode::kUnsupported, fmt::format("no hierarchy has '{}'", step.file));
  }
  PINFOLD_TRY(Group::fs(*part).write(part->path, step.file, step.value));
  PINFOLD_LET(const auto observed, part->fs->read(part->path, step.file));
  if (observed == step.value) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("the kernel has '{}' in '{}/{}', expected '{}'",
                                                   observed, part->path, step.file, step.value));
}

Result<void> verify(const Step& step, const Group& group) {
  PINFOLD_LET(const auto effective, effective_cpus(group));
  if (effective == step.set) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("'{}' runs on '{}', expected '{}'", group.label,
                                                   effective.to_string(), step.set.to_string()));
}

Result<void> apply_to_group(const Step& step, const Group& group, const KernelFacts& facts) {
  switch (step.kind) {
    case Step::Kind::kCreate:
      return create(step, group, facts);
    case Step::Kind::kRemove:
      return remove(group);
    case Step::Kind::kCpus:
    case Step::Kind::kMems:
      return set_list(step, group);
    case Step::Kind::kValue:
      return set_value(step, group);
    case Step::Kind::kVerify:
      return verify(step, group);
    case Step::Kind::kConfine:
    case Step::Kind::kFollow:
      break;
  }
  return {};
}

}  // namespace

Result<void> Cgroups::apply(const Step& step) {
  if (step.is_foreign()) return apply_foreign(step);
  // The runtime creates, limits and removes an adopted group.
  const bool is_ours = !is_adopted(step.group) || step.kind == Step::Kind::kCpus ||
                       step.kind == Step::Kind::kMems || step.kind == Step::Kind::kVerify;
  if (!is_ours) return {};
  PINFOLD_LET_WRAP(const auto handle, group(step.group), to_string(step));
  auto done = apply_to_group(step, handle, facts_);
  if (done) return {};
  Error error = std::move(done).error();
  const std::string cause = cause_of(step, handle, error);
  if (cause.empty()) return fail(std::move(error).wrap(to_string(step)));
  error.message = fmt::format("{}: {}", to_string(step.group), cause);
  return fail(std::move(error));
}

}  // namespace pinfold::enforce
