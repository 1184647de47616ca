#include "pinfold/enforce/cgroups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "enable.hpp"

namespace pinfold::enforce {
namespace {

/// Returns true if the kernel refused a controller that this caller cannot have.
bool is_refusal(const Error& error) {
  constexpr int kRefusals[] = {ENOENT, EACCES, EPERM, EROFS, EINVAL, EOPNOTSUPP};
  return std::find(std::begin(kRefusals), std::end(kRefusals), error.sys_errno) !=
         std::end(kRefusals);
}

/// Makes a group's part from a path below the root.
Group::Part part_of(const Hierarchy& hierarchy, std::string path) {
  return {hierarchy.fs.get(), &hierarchy.root, std::move(path)};
}

}  // namespace

Result<Cgroups> Cgroups::make(std::vector<Hierarchy> hierarchies, KernelFacts facts,
                              CgroupFsOpener open_elsewhere, CgroupResolver resolve) {
  Cgroups cgroups;
  cgroups.resolve_ = std::move(resolve);
  cgroups.open_elsewhere_ = std::move(open_elsewhere);
  cgroups.hierarchies_ = std::move(hierarchies);
  cgroups.facts_ = std::move(facts);
  PINFOLD_TRY(cgroups.prepare());
  return cgroups;
}

Cgroups Cgroups::make_to_read(std::vector<Hierarchy> hierarchies, KernelFacts facts) {
  Cgroups cgroups;
  cgroups.open_elsewhere_ = open_named_cgroup_fs;
  cgroups.resolve_ = canonical_directory;
  cgroups.hierarchies_ = std::move(hierarchies);
  cgroups.facts_ = std::move(facts);
  cgroups.facts_.controllers.clear();
  for (const Hierarchy& hierarchy : cgroups.hierarchies_) {
    const bool is_v2 = hierarchy.root.version == CgroupVersion::kV2;
    for (const Controller controller : hierarchy.root.controllers) {
      // If the root does not exist yet, it will get every available controller.
      const bool is_usable = !is_v2 || controller == Controller::kCpuset ||
                             is_enabled(part_of(hierarchy, ""), controller).value_or(true);
      if (is_usable) cgroups.facts_.controllers.emplace(controller, hierarchy.root.version);
    }
  }
  return cgroups;
}

std::string_view Cgroups::mode() const {
  const auto has = [this](CgroupVersion version) {
    return std::any_of(hierarchies_.begin(), hierarchies_.end(),
                       [&](const Hierarchy& one) { return one.root.version == version; });
  };
  if (!has(CgroupVersion::kV1)) return "v2";
  return has(CgroupVersion::kV2) ? "hybrid" : "v1";
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
    const auto refusal = refusals_.find(controller);
    if (refusal != refusals_.end()) out.back() += fmt::format(" ({})", refusal->second);
  }
  return out;
}

/// Enables the controllers for the groups below the root.
Result<void> Cgroups::prepare() {
  facts_.controllers.clear();
  for (const Hierarchy& hierarchy : hierarchies_) {
    for (const Controller controller : hierarchy.root.controllers) {
      PINFOLD_LET_WRAP(const bool is_usable, make_usable(hierarchy, controller),
                       fmt::format("enable controller '{}'", to_string(controller)));
      if (is_usable) facts_.controllers.emplace(controller, hierarchy.root.version);
    }
  }
  return {};
}

/// Returns false if the kernel refuses the controller (see warnings()). Any other error is
/// returned: ignoring it would leave containers silently without limits.
Result<bool> Cgroups::make_usable(const Hierarchy& hierarchy, Controller controller) {
  if (hierarchy.root.version == CgroupVersion::kV1) return true;
  const Group::Part root = part_of(hierarchy, "");
  PINFOLD_LET(const bool is_on, is_enabled(root, controller));
  if (is_on) return true;
  auto enabled = switch_on(root, controller);
  if (enabled) return true;
  if (enabled.error().sys_errno == EBUSY) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("'{}' itself has processes, and cgroup v2 enables no controller below "
                            "such a group: move them into another group",
                            hierarchy.root.directory));
  }
  // Only cpuset is indispensable.
  if (controller == Controller::kCpuset || !is_refusal(enabled.error())) {
    return fail(std::move(enabled).error());
  }
  refusals_.emplace(controller, std::move(enabled).error().message);
  return false;
}

const std::string* Cgroups::find_adopted(const GroupName& name) const {
  return name.is_pod() ? nullptr : adopted_.find(name.id());
}

std::string Cgroups::directory(const GroupName& name) const {
  const std::string* const adopted = find_adopted(name);
  return adopted != nullptr ? *adopted : root() + "/" + to_string(name);
}

Result<Group> Cgroups::find(const GroupName& name) const {
  const std::string* const adopted = find_adopted(name);
  return adopted != nullptr ? open_adopted(name, *adopted) : own_group(name);
}

Group Cgroups::find_root() const {
  Group group{{"", root(), {}, nullptr}};
  for (const Hierarchy& hierarchy : hierarchies_) group.parts.push_back(part_of(hierarchy, ""));
  return group;
}

Result<Group> Cgroups::open_other(const std::string& directory) const {
  PINFOLD_LET(std::shared_ptr<CgroupFs> fs, open_elsewhere_(directory));
  Group::Part part{fs.get(), &hierarchies_.front().root, ""};
  return Group{{directory, directory, {std::move(part)}, std::move(fs)}};
}

Result<Group> Cgroups::own_group(const GroupName& name) const {
  PINFOLD_LET(const auto path, relative_path(name));
  Group group{{path, root() + "/" + path, {}, nullptr, !name.is_pod()}};
  for (const Hierarchy& hierarchy : hierarchies_) group.parts.push_back(part_of(hierarchy, path));
  return group;
}

Result<Group> Cgroups::open_adopted(const GroupName& name, const std::string& directory) const {
  PINFOLD_LET(auto label, relative_path(name));
  PINFOLD_LET(std::shared_ptr<CgroupFs> fs, open_elsewhere_(directory));
  Group::Part part{fs.get(), &hierarchies_.front().root, ""};
  return Group{{std::move(label), directory, {std::move(part)}, std::move(fs), true}};
}

Result<std::vector<GroupName>> Cgroups::groups_of_pod(const PodUid& pod) const {
  std::vector<GroupName> groups;
  const GroupName own(pod);
  const auto containers = hierarchies_.front().fs->children(to_string(own));
  if (!containers && !is_gone(containers.error())) return fail(containers.error());
  if (containers) groups.push_back(own);
  for (const std::string& container : containers.value_or(std::vector<std::string>{})) {
    GroupName name(pod, container);
    if (relative_path(name) && !is_adopted(name)) groups.push_back(std::move(name));
  }
  if (const auto* const adopted = adopted_.find(pod)) {
    for (const auto& [container, directory] : *adopted) groups.emplace_back(pod, container);
  }
  return groups;
}

void Cgroups::remove_replaced(const ContainerId& container) {
  const auto group = own_group(container);
  if (!group || directory(container) == group->directory) return;
  for (const Group::Part& part : group->parts) {
    // A group with processes stays, but is no longer observed: the container uses another one now.
    (void)Group::fs(part).remove_group(part.path);
  }
}

Result<CpuSet> Cgroups::machine_cpus() const {
  const GroupReader root = root_group();
  return root.is_v2() ? effective_cpus(root) : read_set(root, kCpusFile);
}

Result<CpuSet> Cgroups::cpus_with_partitions(const Layout& groups) const {
  PINFOLD_LET(CpuSet cpus, machine_cpus());
  if (!root_group().is_v2()) return cpus;
  for (const auto& [name, settings] : groups) {
    if (name.is_pod()) continue;
    const auto existing = group(name);
    auto own = existing ? effective_cpus(*existing) : fail(Error(existing.error()));
    if (own) cpus |= *own;  // an unreadable group fails on its own, in the plan
  }
  return cpus;
}

Result<NodeSet> Cgroups::machine_mems() const {
  const GroupReader root = root_group();
  return root.is_v2() ? effective_mems(root) : read_set(root, kMemsFile);
}

}  // namespace pinfold::enforce
