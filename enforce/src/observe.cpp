#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "blank.hpp"
#include "enable.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/enforce/cgroups.hpp"

/// Reads the kernel's state as a layout.
namespace pinfold::enforce {
namespace {

/// Returns false for a group whose creation was interrupted, or that has lost a part since.
Result<bool> is_complete(const GroupReader& group, bool is_pod, const KernelFacts& facts) {
  for (const GroupReader::Part& part : group.parts) {
    PINFOLD_LET(const auto processes, read_if_exists(part, "cgroup.procs"));
    if (!processes) return false;
    for (const Controller controller : part.hierarchy->controllers) {
      if (!facts.controllers.contains(controller)) continue;
      if (controller == Controller::kCpuset) {
        PINFOLD_LET(const auto cpus, read_if_exists(part, kCpusFile));
        if (!cpus) return false;
      }
      if (part.hierarchy->version == CgroupVersion::kV1 || !is_pod) continue;
      const auto enabled = is_enabled(part, controller);
      if (!enabled && !is_gone(enabled.error())) return fail(enabled.error());
      if (!enabled.value_or(false)) return false;
    }
  }
  return true;
}

Result<Values> read_values(const GroupReader& group, const Values& desired) {
  Values values;
  for (const auto& [file, value] : desired) {
    const auto controller = controller_of(file);
    for (const GroupReader::Part& part : group.parts) {
      const auto& has = part.hierarchy->controllers;
      if (!controller || std::find(has.begin(), has.end(), *controller) == has.end()) continue;
      PINFOLD_LET(auto observed, read_if_exists(part, file));
      if (observed) values.emplace(file, *std::move(observed));
      break;
    }
  }
  return values;
}

/// Observes groups one by one into a layout; a pod comes before its containers.
class LayoutObserver {
 public:
  LayoutObserver(const Cgroups& cgroups, const Layout& desired)
      : cgroups_(cgroups), desired_(desired) {}

  /// Adds the group of a pod with those of the containers in it.
  void add_own_groups(const PodUid& pod) {
    const GroupName own(pod);
    const GroupReader::Part part = cgroups_.root_group().cpuset();
    const auto containers = part.fs->children(to_string(own));
    // Another process is removing it if the root no longer lists it either.
    if (!containers && is_gone(containers.error()) && !is_listed(part, to_string(own))) return;
    add(own);
    if (!containers) fail_to_read(own, containers.error());
    for (const std::string& container : containers ? *containers : desired_containers(pod, part)) {
      const GroupName name(pod, container);
      if (is_safe_name(container) && !cgroups_.is_adopted(name)) add(name);
    }
  }

  /// Adds an adopted group, unless its runtime has removed it. Its pod's group, if any, comes
  /// first.
  void add_adopted(const GroupName& name) {
    const auto found = desired_.find(name);
    const auto settings =
        cgroups_.observe_adopted(name, found == desired_.end() ? GroupSettings{} : found->second);
    if (!settings) return fail_to_read(name, settings.error());
    if (*settings) layout_.insert_or_assign(name, **settings);
  }

  [[nodiscard]] Layout layout() && { return std::move(layout_); }

 private:
  [[nodiscard]] static bool is_listed(const GroupReader::Part& root, const std::string& name) {
    const auto names = root.fs->children("").value_or(std::vector<std::string>());
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  void add(const GroupName& name) {
    const auto desired = desired_.find(name);
    const auto settings = read(name, desired == desired_.end() ? nullptr : &desired->second);
    if (!settings) return fail_to_read(name, settings.error());
    if (*settings) layout_.emplace(name, **settings);
  }

  /// An unreadable group may use any CPUs of its parent; everything will be written to it again.
  void fail_to_read(const GroupName& name, const Error& error) {
    GroupSettings unknown;
    unknown.is_complete = false;
    unknown.problem = error.message;
    layout_.insert_or_assign(name, std::move(unknown));
  }

  /// Returns the existing containers of a pod whose groups cannot be listed.
  [[nodiscard]] std::vector<std::string> desired_containers(const PodUid& pod,
                                                            const GroupReader::Part& root) const {
    std::vector<std::string> names;
    for (auto it = desired_.upper_bound(GroupName(pod));
         it != desired_.end() && it->first.pod == pod; ++it) {
      const auto exists = root.fs->children(to_string(it->first));
      if (exists || !is_gone(exists.error())) names.push_back(it->first.container);
    }
    return names;
  }

  /// Reads one group; nullopt if it counts as not created.
  Result<std::optional<GroupSettings>> read(const GroupName& name,
                                            const GroupSettings* desired) const {
    PINFOLD_LET(const GroupReader group, cgroups_.group(name));
    PINFOLD_LET(const bool blank, is_blank(group));
    if (blank) return desired == nullptr ? std::optional(GroupSettings{}) : std::nullopt;
    PINFOLD_LET(auto settings, observe(name, group, desired));
    return std::optional(std::move(settings));
  }

  Result<GroupSettings> observe(const GroupName& name, const GroupReader& group,
                                const GroupSettings* desired) const {
    const auto pod = layout_.find(name.parent());
    const GroupSettings* const parent =
        name.is_pod() || pod == layout_.end() ? nullptr : &pod->second;
    GroupSettings settings;
    PINFOLD_LET(settings.is_complete, is_complete(group, name.is_pod(), cgroups_.facts()));
    const auto set_of = [&](const char* file, CpuSet GroupSettings::*member,
                            auto root) -> Result<CpuSet> {
      auto set = read_set(group, file);
      if (!set && is_gone(set.error())) settings.is_complete = false;  // removed just now
      if (!set && !settings.is_complete) return CpuSet{};              // no cpuset: as the parent
      const bool is_own = desired != nullptr && !(desired->*member).empty();
      if (!set || set->empty() || is_own) return set;
      // "Same as the parent" can also be an equal copy: see Cgroups::apply.
      if (parent != nullptr && !(parent->*member).empty()) {
        return *set == parent->*member ? CpuSet{} : *set;
      }
      PINFOLD_LET(const CpuSet all, root());
      return *set == all ? CpuSet{} : *set;
    };
    PINFOLD_LET(settings.cpus, set_of(kCpusFile, &GroupSettings::cpus,
                                      [this] { return cgroups_.machine_cpus(); }));
    PINFOLD_LET(settings.mems, set_of(kMemsFile, &GroupSettings::mems,
                                      [this] { return cgroups_.machine_mems(); }));
    if (desired == nullptr) return settings;
    PINFOLD_LET(settings.values, read_values(group, desired->values));
    if (settings.cpus == desired->cpus) settings.isolation = desired->isolation;
    return settings;
  }

  const Cgroups& cgroups_;
  const Layout& desired_;
  Layout layout_;
};

}  // namespace

Result<std::optional<GroupSettings>> Cgroups::observe_adopted(const GroupName& name,
                                                              const GroupSettings& desired) const {
  const auto group = this->group(name);
  if (!group && is_gone(group.error())) return std::nullopt;
  if (!group) return fail(group.error());
  const auto cpus = read_set(*group, kCpusFile);
  const auto mems = read_set(*group, kMemsFile);
  for (const auto* const set : {&cpus, &mems}) {
    if (!*set && !is_gone(set->error())) return fail(set->error());
  }
  if (!cpus || !mems) return std::nullopt;
  GroupSettings settings;
  if (!desired.cpus.empty()) settings.cpus = *cpus;
  if (!desired.mems.empty()) settings.mems = *mems;
  if (settings.cpus == desired.cpus) settings.isolation = desired.isolation;
  return settings;
}

Result<Layout> Cgroups::observe(const Layout& desired) const {
  LayoutObserver observer(*this, desired);
  CgroupFiles& fs = *hierarchies_.front().fs;
  PINFOLD_LET(const auto directories, fs.children(""));
  for (const std::string& directory : directories) {
    const auto pod = pod_of_group(directory);
    if (!pod) continue;  // not made by Pinfold
    observer.add_own_groups(*pod);
  }
  for (const auto& entry : adopted_) observer.add_adopted(entry.id());
  return std::move(observer).layout();
}

Layout Cgroups::observe_pod(const PodUid& pod, const Layout& desired) const {
  LayoutObserver observer(*this, desired);
  observer.add_own_groups(pod);
  if (const auto* const adopted = adopted_.find(pod)) {
    for (const auto& [container, directory] : *adopted) observer.add_adopted({pod, container});
  }
  return std::move(observer).layout();
}

}  // namespace pinfold::enforce
