#include "pinfold/enforce/cgroups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "pinfold/api/pod.hpp"

namespace pinfold::enforce {
namespace {

constexpr const char* kCpus = "cpuset.cpus";
constexpr const char* kMems = "cpuset.mems";
constexpr std::string_view kPodPrefix = "pod";

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// True if the groups below `path` have a controller of cgroup v2.
Result<bool> is_enabled(Hierarchy& hierarchy, const std::string& path, Controller controller) {
  PINFOLD_LET(auto enabled, hierarchy.fs->read(path, "cgroup.subtree_control"));
  return (" " + enabled + " ").find(fmt::format(" {} ", to_string(controller))) !=
         std::string::npos;
}

/// Gives the groups below `path` a controller of cgroup v2; writes only what is not so already.
Result<void> enable(Hierarchy& hierarchy, const std::string& path, Controller controller) {
  PINFOLD_LET(auto enabled, is_enabled(hierarchy, path, controller));
  if (enabled) return {};
  return hierarchy.fs->write(path, "cgroup.subtree_control",
                             fmt::format("+{}", to_string(controller)));
}

}  // namespace

Result<Cgroups> Cgroups::make(std::vector<Hierarchy> hierarchies, KernelFacts facts,
                              CgroupFsOpener open_elsewhere) {
  Cgroups cgroups;
  cgroups.open_elsewhere_ = std::move(open_elsewhere);
  cgroups.hierarchies_ = std::move(hierarchies);
  cgroups.facts_ = std::move(facts);
  PINFOLD_TRY(cgroups.prepare());
  return cgroups;
}

std::string_view Cgroups::mode() const {
  bool v1 = false;
  bool v2 = false;
  for (const Hierarchy& hierarchy : hierarchies_) {
    (hierarchy.root.version == CgroupVersion::kV2 ? v2 : v1) = true;
  }
  return v1 && v2 ? "hybrid" : v2 ? "v2" : "v1";
}

std::vector<std::string> Cgroups::warnings() const {
  static constexpr std::pair<Controller, const char*> kUses[] = {
      {Controller::kCpu, "quotas and weights"},
      {Controller::kMemory, "memory limits"},
      {Controller::kHugetlb, "huge page limits"}};
  std::vector<std::string> out;
  for (const auto& [controller, what] : kUses) {
    if (facts_.controllers.contains(controller)) continue;
    if (controller == Controller::kHugetlb && facts_.hugepage_sizes.empty()) continue;
    out.push_back(fmt::format("controller '{}' is not available below '{}': {} are not enforced",
                              to_string(controller), root(), what));
  }
  return out;
}

/// Makes the controllers available to groups below the root.
Result<void> Cgroups::prepare() {
  facts_.controllers.clear();
  for (Hierarchy& hierarchy : hierarchies_) {
    for (const Controller controller : hierarchy.root.controllers) {
      if (hierarchy.root.version == CgroupVersion::kV2) {
        auto enabled = enable(hierarchy, "", controller);
        if (!enabled && enabled.error().sys_errno == EBUSY) {
          return fail(
              ErrorCode::kUnsupported,
              fmt::format("'{}' has processes of its own, and cgroup v2 lets no controller be "
                          "enabled below such a group: move them into a group beside the pods",
                          hierarchy.root.directory));
        }
        // Only the cpuset is what Pinfold cannot do without; warnings() tells of the others.
        if (!enabled && controller != Controller::kCpuset) continue;
        if (!enabled) return fail(std::move(enabled).error().wrap("enable controller 'cpuset'"));
      }
      facts_.controllers.emplace(controller, hierarchy.root.version);
    }
  }
  return {};
}

Hierarchy* Cgroups::hierarchy_of(std::string_view file) {
  const auto controller = controller_of(file);
  for (Hierarchy& hierarchy : hierarchies_) {
    const auto& has = hierarchy.root.controllers;
    if (controller && std::find(has.begin(), has.end(), *controller) != has.end()) {
      return &hierarchy;
    }
  }
  return nullptr;
}

Result<Cgroups::Place> Cgroups::place_of(const GroupName& name) {
  PINFOLD_LET(auto path, relative_path(name));
  const auto adopted = adopted_.find(name);
  if (adopted != adopted_.end()) return Place{adopted->second.fs.get(), ""};
  return Place{hierarchies_.front().fs.get(), std::move(path)};
}

Result<CpuSet> Cgroups::read_list(const Place& place, const std::string& file) {
  PINFOLD_LET(auto text, place.fs->read(place.path, file));
  PINFOLD_LET_WRAP(auto set, CpuSet::parse(text), fmt::format("'{}/{}'", place.path, file));
  return set;
}

Result<CpuSet> Cgroups::machine_cpus() {
  return read_list({hierarchies_.front().fs.get(), ""},
                   cpuset_is_v2() ? "cpuset.cpus.effective" : kCpus);
}

Result<NodeSet> Cgroups::machine_mems() {
  return read_list({hierarchies_.front().fs.get(), ""},
                   cpuset_is_v2() ? "cpuset.mems.effective" : kMems);
}

Result<CpuSet> Cgroups::effective_cpus(const GroupName& name) {
  PINFOLD_LET(auto place, place_of(name));
  return read_list(place, cpuset_is_v2() ? "cpuset.cpus.effective" : "cpuset.effective_cpus");
}

Result<NodeSet> Cgroups::effective_mems(const GroupName& name) {
  PINFOLD_LET(auto place, place_of(name));
  return read_list(place, cpuset_is_v2() ? "cpuset.mems.effective" : "cpuset.effective_mems");
}

Result<void> Cgroups::apply(const Step& step) {
  PINFOLD_LET(auto path, relative_path(step.group));
  const auto run = [&]() -> Result<void> {
    if (const auto adopted = adopted_.find(step.group); adopted != adopted_.end()) {
      return apply_to_adopted(step, {adopted->second.fs.get(), ""});
    }
    switch (step.kind) {
      case Step::Kind::kCreate:
        return create(step.group, path);
      case Step::Kind::kRemove:
        return remove(step.group, path);
      case Step::Kind::kCpus:
      case Step::Kind::kMems:
        return set_list(step, path);
      case Step::Kind::kValue:
        return set_value(step, path);
      case Step::Kind::kVerify:
        return verify(step);
    }
    return {};
  };
  PINFOLD_TRY_WRAP(run(), to_string(step));
  return {};
}

Result<void> Cgroups::create(const GroupName& name, const std::string& path) {
  for (Hierarchy& hierarchy : hierarchies_) {
    PINFOLD_TRY(hierarchy.fs->make_group(path));
    if (hierarchy.root.version == CgroupVersion::kV1 && &hierarchy == &hierarchies_.front()) {
      // Pages follow cpuset.mems, as they do on cgroup v2.
      auto moves = hierarchy.fs->write(path, "cpuset.memory_migrate", "1");
      if (!moves && moves.error().code != ErrorCode::kNotFound) return moves;
    }
    if (!name.is_pod()) continue;
    for (const Controller controller : hierarchy.root.controllers) {
      const auto in_use = facts_.controllers.find(controller);
      if (in_use == facts_.controllers.end()) continue;
      if (hierarchy.root.version == CgroupVersion::kV2) {
        PINFOLD_TRY(enable(hierarchy, path, controller));
      } else if (controller == Controller::kCpuset) {
        // With this flag on, a new container would start with a copy of the pod's CPUs.
        auto cleared = hierarchy.fs->write(path, "cgroup.clone_children", "0");
        if (!cleared && cleared.error().code != ErrorCode::kNotFound) return cleared;
      }
    }
  }
  return {};
}

Result<void> Cgroups::set_list(const Step& step, const std::string& path) {
  const char* const file = step.kind == Step::Kind::kCpus ? kCpus : kMems;
  CpuSet set = step.set;
  if (set.empty() && !cpuset_is_v2()) {  // v1 has no "as my parent": it takes a copy
    PINFOLD_LET(set, read_list({hierarchies_.front().fs.get(), parent_of(path)}, file));
  }
  PINFOLD_TRY(set_and_read_back({hierarchies_.front().fs.get(), path}, file, set));
  if (step.group.is_pod() || step.set.empty()) return {};
  PINFOLD_LET(auto effective, step.kind == Step::Kind::kCpus ? effective_cpus(step.group)
                                                             : effective_mems(step.group));
  if (step.set.contains_all(effective)) return {};
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("'{}' is effectively on '{}' although its {} is '{}': its parent has none "
                  "of these, or they are offline",
                  path, effective.to_string(), file, step.set.to_string()));
}

Result<void> Cgroups::set_and_read_back(const Place& place, const char* file, const CpuSet& set) {
  PINFOLD_TRY(place.fs->write(place.path, file, set.to_string()));
  PINFOLD_LET(auto observed, read_list(place, file));
  if (observed == set) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the kernel has '{}' in '{}/{}', expected '{}'", observed.to_string(),
                          place.path, file, set.to_string()));
}

Result<void> Cgroups::set_value(const Step& step, const std::string& path) {
  Hierarchy* const hierarchy = hierarchy_of(step.file);
  if (hierarchy == nullptr) {
    return fail(ErrorCode::kUnsupported, fmt::format("no hierarchy has '{}'", step.file));
  }
  PINFOLD_TRY(hierarchy->fs->write(path, step.file, step.value));
  PINFOLD_LET(auto observed, hierarchy->fs->read(path, step.file));
  if (observed == step.value) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("the kernel has '{}' in '{}/{}', expected '{}'",
                                                   observed, path, step.file, step.value));
}

Result<void> Cgroups::verify(const Step& step) {
  PINFOLD_LET(auto effective, effective_cpus(step.group));
  if (effective == step.set) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' runs on '{}', expected '{}'", to_string(step.group),
                          effective.to_string(), step.set.to_string()));
}

Result<GroupSettings> Cgroups::observe_group(const GroupName& name, const GroupSettings* desired,
                                             const GroupSettings* parent) {
  PINFOLD_LET(auto path, relative_path(name));
  GroupSettings group;
  const auto own = [&](const char* file, const CpuSet& desired_one, const CpuSet* parents,
                       auto machine) -> Result<CpuSet> {
    auto set = read_list({hierarchies_.front().fs.get(), path}, file);
    // Without the controller it runs on what the parent has.
    if (!set && !group.is_complete) return CpuSet{};
    if (!set || set->empty() || cpuset_is_v2() || !desired_one.empty()) return set;
    // cgroup v1 has no "as my parent", only a copy that is equal.
    if (parents != nullptr && !parents->empty()) return *set == *parents ? CpuSet{} : *set;
    auto all = machine();
    if (!all) return all;
    return *set == *all ? CpuSet{} : *set;
  };
  static const GroupSettings kNothing;
  const GroupSettings& desired_one = desired == nullptr ? kNothing : *desired;
  group.is_complete = is_complete(name, path);
  PINFOLD_LET(auto cpus, own(kCpus, desired_one.cpus, parent == nullptr ? nullptr : &parent->cpus,
                             [this] { return machine_cpus(); }));
  PINFOLD_LET(auto mems, own(kMems, desired_one.mems, parent == nullptr ? nullptr : &parent->mems,
                             [this] { return machine_mems(); }));
  group.cpus = std::move(cpus);
  group.mems = std::move(mems);
  for (const auto& [file, value] : desired_one.values) {
    Hierarchy* const hierarchy = hierarchy_of(file);
    if (hierarchy == nullptr) continue;
    auto observed = hierarchy->fs->read(path, file);
    if (observed) group.values.emplace(file, *std::move(observed));
  }
  if (desired != nullptr && group.cpus == desired->cpus) group.isolation = desired->isolation;
  return group;
}

/// True for a group of cgroup v1 that was made, but not given anything: it has nothing, while an
/// empty set of cgroup v2 has what the parent has.
bool Cgroups::is_blank(const std::string& path) {
  if (cpuset_is_v2()) return false;
  return hierarchies_.front().fs->read(path, kCpus).value_or("").empty() ||
         hierarchies_.front().fs->read(path, kMems).value_or("").empty();
}

/// False for a group whose creation was interrupted, or that lost a part since.
bool Cgroups::is_complete(const GroupName& name, const std::string& path) {
  for (Hierarchy& hierarchy : hierarchies_) {
    if (!hierarchy.fs->read(path, "cgroup.procs")) return false;
    for (const Controller controller : hierarchy.root.controllers) {
      if (!facts_.controllers.contains(controller)) continue;
      if (controller == Controller::kCpuset && !hierarchy.fs->read(path, kCpus)) return false;
      if (hierarchy.root.version == CgroupVersion::kV1 || !name.is_pod()) continue;
      if (!is_enabled(hierarchy, path, controller).value_or(false)) return false;
    }
  }
  return true;
}

Result<Layout> Cgroups::observe(const Layout& desired) {
  Layout layout;
  CgroupFs& fs = *hierarchies_.front().fs;
  const auto add = [&](const GroupName& name, const GroupSettings* parent) -> Result<void> {
    const auto desired_one = desired.find(name);
    if (is_blank(to_string(name))) {
      if (desired_one == desired.end()) layout.emplace(name, GroupSettings{});
      return {};
    }
    PINFOLD_LET(
        auto group,
        observe_group(name, desired_one == desired.end() ? nullptr : &desired_one->second, parent));
    layout.emplace(name, std::move(group));
    return {};
  };
  PINFOLD_LET(auto pods, fs.children(""));
  for (const std::string& directory : pods) {
    if (!directory.starts_with(kPodPrefix)) continue;
    const GroupName pod(PodUid(directory.substr(kPodPrefix.size())));
    if (!is_safe_name(pod.pod.value)) continue;  // not one of ours
    PINFOLD_TRY(add(pod, nullptr));
    PINFOLD_LET(auto containers, fs.children(directory));
    for (const std::string& container : containers) {
      if (!is_safe_name(container) || adopted_.contains({pod.pod, container})) continue;
      const auto parent = layout.find(pod);
      PINFOLD_TRY(add({pod.pod, container}, parent == layout.end() ? nullptr : &parent->second));
    }
  }
  PINFOLD_TRY(observe_adopted(desired, layout));
  return layout;
}

}  // namespace pinfold::enforce
