#include "model_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "model_cpusets.hpp"
#include "model_partitions.hpp"

namespace pinfold::test {
namespace {

using enforce::CgroupVersion;

CpuSet parsed(const std::string& text) {
  auto set = CpuSet::parse(text);
  return set ? *set : CpuSet{};
}

/// Returns the files that a cgroup v2 controller adds to the groups below one that enables it.
std::map<std::string, std::string> files_of(const std::string& controller, bool has_exclusive) {
  if (controller == "cpu") {
    return {{"cpu.max", "max 100000"}, {"cpu.weight", "100"}, {"cpu.idle", "0"}};
  }
  if (controller == "memory") {
    return {
        {"memory.max", "max"}, {"memory.high", "max"}, {"memory.low", "0"}, {"memory.min", "0"}};
  }
  if (controller == "hugetlb") return {{"hugetlb.2MB.max", "max"}};
  std::map<std::string, std::string> files = {
      {"cpuset.cpus", ""}, {"cpuset.mems", ""}, {"cpuset.cpus.partition", "member"}};
  if (has_exclusive) files.emplace("cpuset.cpus.exclusive", "");
  return files;
}
constexpr const char* kControllers[] = {"cpuset", "cpu", "memory", "hugetlb"};

class ModelFs final : public enforce::CgroupFs {
 public:
  explicit ModelFs(ModelKernel& kernel) : kernel_(&kernel) {}

  Result<void> make_group(const std::string& group) override {
    const std::size_t slash = group.rfind('/');
    ModelKernel::Dir* parent =
        kernel_->find(slash == std::string::npos ? "" : group.substr(0, slash));
    const std::string name = slash == std::string::npos ? group : group.substr(slash + 1);
    if (parent == nullptr) return fail_errno(ENOENT, "create " + group);
    if (const int error = fault("create", group, ""); error != 0) {
      return fail_errno(error, "create " + group);
    }
    if (parent->children.contains(name)) return {};
    kernel_->log.push_back("create " + group);
    auto& child = parent->children[name];
    child = std::make_unique<ModelKernel::Dir>();
    child->parent = parent;
    child->files = {{"cgroup.procs", ""}};
    if (kernel_->version == CgroupVersion::kV1) {
      child->files.insert({{"cgroup.clone_children", "0"},
                           {"cpuset.cpus", ""},
                           {"cpuset.mems", ""},
                           {"cpuset.cpu_exclusive", "0"},
                           {"cpuset.sched_load_balance", "1"},
                           {"cpuset.memory_migrate", "0"},
                           {"cpu.idle", "0"},
                           {"cpu.shares", "1024"},
                           {"cpu.cfs_quota_us", "-1"},
                           {"cpu.cfs_period_us", "100000"},
                           {"memory.limit_in_bytes", "9223372036854771712"},
                           {"hugetlb.2MB.limit_in_bytes", "9223372036852678656"}});
    } else {
      child->files.insert({{"cgroup.subtree_control", ""}});
      const std::string enabled = " " + parent->files["cgroup.subtree_control"];
      for (const std::string controller : kControllers) {
        if (enabled.find(" " + controller + " ") == std::string::npos) continue;
        child->files.merge(files_of(controller, kernel_->has_exclusive));
      }
    }
    return {};
  }

  Result<void> remove_group(const std::string& group) override {
    ModelKernel::Dir* dir = kernel_->find(group);
    if (dir == nullptr) return {};
    if (!dir->children.empty() || !dir->processes.empty()) {
      return fail_errno(EBUSY, "remove " + group);
    }
    kernel_->log.push_back("remove " + group);
    dir->parent->children.erase(group.substr(group.rfind('/') + 1));
    return {};
  }

  Result<std::vector<std::string>> children(const std::string& group) override {
    ModelKernel::Dir* dir = kernel_->find(group);
    if (dir == nullptr) return fail_errno(ENOENT, "list " + group);
    const std::string& unlistable = kernel_->unlistable;
    if (!unlistable.empty() && kernel_->find(unlistable) == dir)
      return fail_errno(EIO, "list " + group);
    std::vector<std::string> names;
    for (const auto& [name, child] : dir->children) names.push_back(name);
    return names;
  }

  Result<std::string> read(const std::string& group, const std::string& file) override {
    ModelKernel::Dir* dir = kernel_->find(group);
    if (dir == nullptr) return fail_errno(ENOENT, fmt::format("read {}/{}", group, file));
    if (const int error = fault("read", group, file); error != 0) {
      return fail_errno(error, fmt::format("read {}/{}", group, file));
    }
    if (file == kernel_->unreadable) return fail_errno(EIO, fmt::format("read {}/{}", group, file));
    if (file == "cgroup.procs") {
      std::set<int> listed = dir->processes;
      if (!kernel_->lists_all_processes) listed.erase(0);
      return fmt::format("{}", fmt::join(listed, "\n"));
    }
    if (!dir->has_cpuset && file.starts_with("cpuset.")) {
      return fail_errno(ENOENT, fmt::format("read {}/{}", group, file));
    }
    const bool v1 = kernel_->version == CgroupVersion::kV1;
    if (file == (v1 ? "cpuset.effective_cpus" : "cpuset.cpus.effective")) {
      return kernel_->effective(*dir, "cpuset.cpus").to_string();
    }
    if (file == (v1 ? "cpuset.effective_mems" : "cpuset.mems.effective")) {
      return kernel_->effective(*dir, "cpuset.mems").to_string();
    }
    if (kernel_->is_linux7 && file == "cpuset.cpus.isolated" && dir->parent == nullptr) {
      return ModelPartitions(*kernel_).isolated(*dir).to_string();
    }
    if (kernel_->is_linux7 && file == "cpuset.cpus.exclusive.effective") {
      return ModelPartitions(*kernel_).owned(*dir).to_string();
    }
    const auto it = dir->files.find(file);
    if (it == dir->files.end()) return fail_errno(ENOENT, fmt::format("read {}/{}", group, file));
    return it->second;
  }

  Result<void> write(const std::string& group, const std::string& file,
                     std::string_view value) override {
    const auto failed = [&](int error) {
      return fail_errno(error, fmt::format("write {}/{}", group, file));
    };
    ModelKernel::Dir* dir = kernel_->find(group);
    if (dir == nullptr) return failed(ENOENT);
    if (const int error = fault("write", group, file); error != 0) return failed(error);
    if (kernel_->writes_until_failure == 0) return failed(EIO);
    if (kernel_->writes_until_failure > 0) --kernel_->writes_until_failure;
    kernel_->log.push_back(fmt::format("write {} {} {}", group, file, value));
    if (file == "cgroup.procs") {
      if (!can_enter(*dir)) return failed(ENOSPC);
      const int process = std::stoi(std::string(value));
      take_out(kernel_->root, process);
      dir->processes.insert(process);
      return {};
    }
    if (file == "cgroup.kill" && kernel_->has_kill) {
      kill_all(*dir);
      return {};
    }
    const auto it = dir->files.find(file);
    if (it == dir->files.end()) return failed(ENOENT);
    if (file == "cgroup.subtree_control") {
      value.starts_with('-') ? disable(*dir, std::string(value.substr(1)))
                             : enable(*dir, std::string(value.substr(1)));
      return {};
    }
    if (const int error = set_value(*dir, file, std::string(value)); error != 0) {
      return failed(error);
    }
    if (kernel_->distort) dir->files[file] = kernel_->distort(file, std::string(value));
    return {};
  }

 private:
  [[nodiscard]] int fault(const char* what, const std::string& group,
                          const std::string& file) const {
    return kernel_->fault ? kernel_->fault(what, group, file) : 0;
  }
  [[nodiscard]] bool can_enter(const ModelKernel::Dir& dir) const {
    return !kernel_->effective(dir, "cpuset.cpus").empty() &&
           !kernel_->effective(dir, "cpuset.mems").empty();
  }
  static void take_out(ModelKernel::Dir& dir, int process) {
    dir.processes.erase(process);
    for (const auto& [name, child] : dir.children) take_out(*child, process);
  }
  static void kill_all(ModelKernel::Dir& dir) {
    dir.processes.clear();
    for (const auto& [name, child] : dir.children) kill_all(*child);
  }
  void enable(ModelKernel::Dir& dir, const std::string& controller) {
    std::string& enabled = dir.files["cgroup.subtree_control"];
    if ((" " + enabled).find(" " + controller + " ") != std::string::npos) return;
    enabled += controller + " ";
    for (const auto& [name, child] : dir.children) {
      child->files.merge(files_of(controller, kernel_->has_exclusive));
    }
  }
  void disable(ModelKernel::Dir& dir, const std::string& controller) {
    std::string& enabled = dir.files["cgroup.subtree_control"];
    if (const std::size_t at = enabled.find(controller + " "); at != std::string::npos) {
      enabled.erase(at, controller.size() + 1);
    }
    for (const auto& [name, child] : dir.children) {
      for (const auto& [file, value] : files_of(controller, kernel_->has_exclusive)) {
        child->files.erase(file);
      }
    }
  }
  /// Sets a value. Returns 0 or the errno.
  [[nodiscard]] int set_value(ModelKernel::Dir& dir, const std::string& file,
                              const std::string& value) {
    if (kernel_->is_linux7 && file.starts_with("cpuset.cpus")) return set_cpus(dir, file, value);
    const ModelCpusets cpusets(*kernel_);
    if (file == "cpuset.cpus" || file == "cpuset.mems") {
      return cpusets.write_set(dir, file, parsed(value));
    }
    if (file == "cpuset.cpus.partition") return cpusets.write_partition(dir, value);
    if (file == "cpuset.cpus.exclusive") ModelCpusets::write_exclusive(dir, value);
    if (file == "cpuset.cpu_exclusive") return ModelCpusets::write_cpu_exclusive(dir, value);
    if (file == "cpu.idle") return set_idle(dir, value);
    const bool is_weight = file == "cpu.weight" || file == "cpu.shares";
    if (is_weight && dir.files["cpu.idle"] == "1") return EINVAL;
    if (file == "memory.limit_in_bytes" && value != "-1" && std::stoull(value) < dir.memory_use) {
      return EBUSY;
    }
    if (file.starts_with("cpu.cfs_")) {
      if (const int error = check_quota(dir, file, std::stol(value)); error != 0) return error;
    }
    dir.files[file] = value;
    return 0;
  }

  [[nodiscard]] int set_cpus(ModelKernel::Dir& dir, const std::string& file,
                             const std::string& value) const {
    const ModelPartitions partitions(*kernel_);
    if (file == ModelCpusets::kPartition) return partitions.write_partition(dir, value);
    if (file == ModelCpusets::kExclusive) return partitions.write_exclusive(dir, parsed(value));
    return partitions.write_cpus(dir, parsed(value));
  }

  /// Sets cpu.idle. The kernel changes the weight as well: an idle group has the smallest one,
  /// which cannot be written.
  [[nodiscard]] static int set_idle(ModelKernel::Dir& dir, const std::string& value) {
    if (value != "0" && value != "1") return EINVAL;
    if (std::exchange(dir.files["cpu.idle"], value) == value) return 0;
    const auto shares = dir.files.find("cpu.shares");
    if (shares != dir.files.end()) shares->second = value == "1" ? "3" : "1024";
    const auto weight = dir.files.find("cpu.weight");
    if (weight != dir.files.end()) weight->second = value == "1" ? "0" : "100";
    return 0;
  }

  static double ratio(const ModelKernel::Dir& dir, const std::string& file, long value) {
    const auto get = [&](const char* name) {
      const auto it = dir.files.find(name);
      return it == dir.files.end() ? -1L : std::stol(it->second);
    };
    const long quota = file == "cpu.cfs_quota_us" ? value : get("cpu.cfs_quota_us");
    const long period = file == "cpu.cfs_period_us" ? value : get("cpu.cfs_period_us");
    return quota < 0 ? 1e30 : static_cast<double>(quota) / static_cast<double>(period);
  }

  [[nodiscard]] static int check_quota(const ModelKernel::Dir& dir, const std::string& file,
                                       long value) {
    if (value < 1000 && value != -1) return EINVAL;
    const double mine = ratio(dir, file, value);
    if (mine > 1e29) return 0;
    if (dir.parent != nullptr && mine > ratio(*dir.parent, "", 0)) return EINVAL;
    for (const auto& [name, child] : dir.children) {
      const double theirs = ratio(*child, "", 0);
      if (theirs < 1e29 && theirs > mine) return EINVAL;
    }
    return 0;
  }

  ModelKernel* kernel_;
};

/// A CgroupFs whose root is one group of the model.
class GroupFs final : public enforce::CgroupFs {
 public:
  GroupFs(std::unique_ptr<enforce::CgroupFs> fs, std::string group)
      : fs_(std::move(fs)), group_(std::move(group)) {}
  Result<void> make_group(const std::string& group) override { return fs_->make_group(at(group)); }
  Result<void> remove_group(const std::string& group) override {
    return fs_->remove_group(at(group));
  }
  Result<std::vector<std::string>> children(const std::string& group) override {
    return fs_->children(at(group));
  }
  Result<std::string> read(const std::string& group, const std::string& file) override {
    return fs_->read(at(group), file);
  }
  Result<void> write(const std::string& group, const std::string& file,
                     std::string_view value) override {
    return fs_->write(at(group), file, value);
  }

 private:
  [[nodiscard]] std::string at(const std::string& group) const {
    return group.empty() ? group_ : group_ + "/" + group;
  }
  std::unique_ptr<enforce::CgroupFs> fs_;
  std::string group_;
};

}  // namespace

bool is_populated(const ModelKernel::Dir& dir) {
  return !dir.processes.empty() ||
         std::any_of(dir.children.begin(), dir.children.end(),
                     [](const auto& child) { return is_populated(*child.second); });
}

ModelKernel::ModelKernel(CgroupVersion which, CpuSet all_cpus, CpuSet all_mems)
    : version(which), cpus(std::move(all_cpus)), mems(std::move(all_mems)), possible_cpus(cpus) {
  root.files = {{"cgroup.procs", ""},
                {"cgroup.subtree_control", ""},
                {"cpuset.cpus.exclusive", ""},
                {"cpuset.cpu_exclusive", "1"},
                {"cpuset.cpus", version == CgroupVersion::kV1 ? cpus.to_string() : ""},
                {"cpuset.mems", version == CgroupVersion::kV1 ? mems.to_string() : ""}};
  root.is_exclusive = true;
}

ModelKernel::Dir* ModelKernel::find(const std::string& group) {
  Dir* dir = &root;
  std::size_t begin = 0;
  while (dir != nullptr && begin < group.size()) {
    const std::size_t end = std::min(group.find('/', begin), group.size());
    const auto child = dir->children.find(group.substr(begin, end - begin));
    dir = child == dir->children.end() ? nullptr : child->second.get();
    begin = end + 1;
  }
  return dir;
}

CpuSet ModelKernel::effective(const Dir& dir, const std::string& file) const {
  if (is_linux7 && file == "cpuset.cpus") return ModelPartitions(*this).effective(dir);
  const ModelCpusets cpusets(*this);
  return file == "cpuset.cpus" ? cpusets.effective_cpus(dir) : cpusets.effective_mems(dir);
}

std::unique_ptr<enforce::CgroupFs> ModelKernel::fs() { return std::make_unique<ModelFs>(*this); }

void ModelKernel::make_path(const std::string& group) {
  for (std::size_t end = 0; end < group.size();) {
    const std::string above = group.substr(0, end);
    if (version == CgroupVersion::kV2) {
      find(above)->files["cgroup.subtree_control"] = "cpuset cpu memory hugetlb ";
    }
    end = std::min(group.find('/', end == 0 ? 0 : end + 1), group.size());
    const std::string path = group.substr(0, end);
    if (find(path) != nullptr) continue;
    if (!fs()->make_group(path)) throw std::runtime_error("make " + path);
    if (version == CgroupVersion::kV2) continue;
    for (const char* const file : {"cpuset.cpus", "cpuset.mems"}) {
      find(path)->files[file] = find(above)->files[file];
    }
  }
}

namespace {

void lose_cpus(ModelKernel::Dir& dir, const CpuSet& online) {
  std::string& cpus = dir.files["cpuset.cpus"];
  cpus = (parsed(cpus) & online).to_string();
  for (const auto& [name, child] : dir.children) {
    lose_cpus(*child, online);
    if (!ModelCpusets::own(*child, "cpuset.cpus").empty()) continue;
    dir.processes.merge(child->processes);
    child->processes.clear();
  }
}

}  // namespace

void ModelKernel::set_online(const CpuSet& online) {
  if (online == cpus) return;
  cpus = online;
  if (is_linux7) return ModelPartitions(*this).settle_online(root);
  if (version == CgroupVersion::kV2) return ModelCpusets(*this).settle_online(root);
  lose_cpus(root, online);
  root.files["cpuset.cpus"] = online.to_string();
}

Result<std::string> ModelKernel::canonical(const std::string& directory) const {
  if (!directory.starts_with('/')) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': expected an absolute path", directory));
  }
  std::string path = std::filesystem::path(directory).lexically_normal();
  while (path.size() > 1 && path[1] == '/') path.erase(0, 1);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  for (const auto& [name, target] : links) {
    if (path == name || path.starts_with(name + "/")) path.replace(0, name.size(), target);
  }
  return path;
}

enforce::Cgroups ModelKernel::cgroups(const std::string& below, const Wrapper& wrap) {
  if (!below.empty()) make_path(below);
  enforce::HierarchyRoot top;
  top.version = version;
  top.processes = processes;
  top.lists_all_processes = lists_all_processes;
  top.directory = below.empty() ? "/model" : "/model/" + below;
  top.controllers.assign(std::begin(enforce::kAllControllers), std::end(enforce::kAllControllers));
  std::vector<enforce::Hierarchy> hierarchies;
  std::unique_ptr<enforce::CgroupFs> at_root = fs();
  if (!below.empty()) at_root = std::make_unique<GroupFs>(std::move(at_root), below);
  if (wrap) at_root = wrap(std::move(at_root), below);
  hierarchies.push_back({std::move(top), std::move(at_root)});
  enforce::KernelFacts facts;
  facts.hugepage_sizes = {{"2MB", std::uint64_t{2} << 20}};
  auto cgroups = enforce::Cgroups::make(
      std::move(hierarchies), facts,
      [this, wrap](const std::string& spelt) -> Result<std::unique_ptr<enforce::CgroupFs>> {
        PINFOLD_LET(const std::string directory, canonical(spelt));
        const bool is_inside = directory == "/model" || directory.starts_with("/model/");
        const std::string group = directory.size() > 7 ? directory.substr(7) : "";
        if (!is_inside || find(group) == nullptr) return fail_errno(ENOENT, "open " + directory);
        std::unique_ptr<enforce::CgroupFs> found = std::make_unique<GroupFs>(fs(), group);
        return wrap ? wrap(std::move(found), group) : std::move(found);
      },
      [this](const std::string& directory, const enforce::HierarchyRoot& /*cpusets*/) {
        return canonical(directory);
      });
  if (!cgroups) throw std::runtime_error(cgroups.error().message);
  return *std::move(cgroups);
}

}  // namespace pinfold::test
