#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "kernel_files.hpp"
#include "pinfold/enforce/cgroups.hpp"

/// Detects and opens the hierarchies of the running kernel.
namespace pinfold::enforce {
namespace {

/// Returns 2 MiB for "hugepages-2048kB", 0 for anything else.
std::uint64_t hugepage_bytes(std::string_view directory) {
  constexpr std::string_view kPrefix = "hugepages-";
  constexpr std::string_view kSuffix = "kB";
  if (!directory.starts_with(kPrefix) || !directory.ends_with(kSuffix)) return 0;
  const std::string_view digits =
      directory.substr(kPrefix.size(), directory.size() - kPrefix.size() - kSuffix.size());
  std::uint64_t kib = 0;
  return read_number(digits, kib) ? kib * 1024 : 0;
}

/// Returns the size as the hugetlb controller names its files: "64KB", "2MB", "1GB".
std::string hugepage_name(std::uint64_t bytes) {
  constexpr std::uint64_t kKi = 1024;
  constexpr std::uint64_t kMi = kKi * 1024;
  constexpr std::uint64_t kGi = kMi * 1024;
  if (bytes >= kGi) return fmt::format("{}GB", bytes / kGi);
  if (bytes >= kMi) return fmt::format("{}MB", bytes / kMi);
  return fmt::format("{}KB", bytes / kKi);
}

KernelFacts facts_of_this_kernel() {
  KernelFacts facts;
  if (const long page = ::sysconf(_SC_PAGESIZE); page > 0) {
    facts.page_size = static_cast<std::uint64_t>(page);
  }
  for (const std::string& directory : list_kernel_directory("/sys/kernel/mm/hugepages")) {
    const std::uint64_t bytes = hugepage_bytes(directory);
    if (bytes != 0) facts.hugepage_sizes.emplace(hugepage_name(bytes), bytes);
  }
  return facts;
}

Result<std::string> real_path(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) {
    return fail_errno(errno, fmt::format("cgroup root '{}'", path));
  }
  return std::string(resolved);
}

std::string directory_above(const std::string& directory) {
  return directory.substr(0, directory.rfind('/'));
}

/// A cpuset of cgroup v1 starts empty: copies the parent's sets to the root.
Result<void> fill_v1_root(Hierarchy& cpuset) {
  for (const char* file : {kCpusFile, kMemsFile}) {
    PINFOLD_LET(const auto has, cpuset.fs->read("", file));
    if (!has.empty()) continue;
    PINFOLD_LET(auto parent, open_cgroup_fs(directory_above(cpuset.root.directory)));
    PINFOLD_LET(auto inherited, parent->read("", file));
    if (inherited.empty()) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("'{}' is empty, and so is that of its parent group: write the CPUs "
                              "or memory nodes that they may use into both",
                              cpuset.root.directory + "/" + file));
    }
    PINFOLD_TRY(cpuset.fs->write("", file, inherited));
  }
  return {};
}

/// Opens a root directory and creates missing ones: `root` exists in the hierarchy that the caller
/// named, but perhaps not in the others. Container runtimes do the same.
Result<std::unique_ptr<CgroupFs>> open_or_make(const std::string& directory) {
  auto fs = open_cgroup_fs(directory);
  const std::size_t slash = directory.rfind('/');
  if (fs || fs.error().code != ErrorCode::kNotFound || slash == 0) return fs;
  PINFOLD_LET(auto parent, open_or_make(directory.substr(0, slash)));
  PINFOLD_TRY(parent->make_group(directory.substr(slash + 1)));
  return open_cgroup_fs(directory);
}

/// Resolves the path of a directory that need not exist, but whose parent must.
Result<std::string> real_path_or_new(const std::string& path) {
  auto real = real_path(path);
  if (real || real.error().code != ErrorCode::kNotFound) return real;
  const std::string trimmed = path.substr(0, path.find_last_not_of('/') + 1);
  const std::size_t slash = trimmed.rfind('/');
  if (slash == std::string::npos || slash == 0) return real;
  PINFOLD_LET(const auto parent, real_path(trimmed.substr(0, slash)));
  return parent + trimmed.substr(slash);
}

/// Returns `cgroup.controllers` of a group, or what it would contain if the group existed.
std::string controllers_at(const std::string& directory) {
  std::string controllers = read_kernel_file(directory + "/cgroup.controllers");
  if (!controllers.empty()) return controllers;
  return read_kernel_file(directory.substr(0, directory.rfind('/')) + "/cgroup.subtree_control");
}

/// Records whether cgroup.procs lists all processes. cgroup v2 writes 0 for those that it cannot
/// name.
void note_hidden_processes(std::vector<HierarchyRoot>& roots) {
  constexpr ino_t kOfTheHost = 0xEFFFFFFC;  // PROC_PID_INIT_INO of the kernel
  struct stat pid_namespace {};
  const bool is_host =
      ::stat("/proc/self/ns/pid", &pid_namespace) == 0 && pid_namespace.st_ino == kOfTheHost;
  for (HierarchyRoot& root : roots) {
    root.lists_all_processes = is_host || root.version == CgroupVersion::kV2;
  }
}

/// A group that does not exist: no children, no files.
class AbsentCgroupFs final : public CgroupFs {
 public:
  explicit AbsentCgroupFs(std::string directory) : directory_(std::move(directory)) {}

  Result<void> make_group(const std::string& /*group*/) override { return absent(); }
  Result<void> remove_group(const std::string& /*group*/) override { return absent(); }
  Result<std::vector<std::string>> children(const std::string& /*group*/) override {
    return std::vector<std::string>{};
  }
  Result<std::string> read(const std::string& /*group*/, const std::string& /*file*/) override {
    return absent();
  }
  Result<void> write(const std::string& /*group*/, const std::string& /*file*/,
                     std::string_view /*value*/) override {
    return absent();
  }

 private:
  [[nodiscard]] tl::unexpected<Error> absent() const {
    return fail_errno(ENOENT, fmt::format("'{}'", directory_));
  }
  std::string directory_;
};

}  // namespace

void restore_root(Cgroups& cgroups, const CpuSet& needed) {
  const Group root = cgroups.root_group();
  if (root.is_v2()) return;
  const auto has = read_set(root, kCpusFile);
  if (!has || has->contains_all(needed)) return;
  const auto parent = cgroups.open_elsewhere(directory_above(root.directory));
  if (!parent) return;
  const auto above = read_set(*parent, kCpusFile);
  if (!above) return;
  // If this fails, applying the plan will show it.
  const Group::Part& part = root.cpuset();
  (void)Group::fs(part).write(part.path, kCpusFile, (*has | (needed & *above)).to_string());
}

Result<Cgroups> Cgroups::open(const std::string& root, const CgroupFsWrapper& wrap) {
  PINFOLD_LET(auto real, real_path(root));
  PINFOLD_LET(auto mounts, parse_mountinfo(read_kernel_file("/proc/self/mountinfo")));
  PINFOLD_LET(auto roots, locate(mounts, real, [](const std::string& directory) {
                return read_kernel_file(directory + "/cgroup.controllers");
              }));
  note_hidden_processes(roots);
  std::vector<Hierarchy> hierarchies;
  for (HierarchyRoot& found : roots) {
    PINFOLD_LET(std::unique_ptr<CgroupFs> fs, open_or_make(found.directory));
    if (wrap) fs = wrap(std::move(fs), found);
    hierarchies.push_back({std::move(found), std::move(fs)});
  }
  if (hierarchies.front().root.version == CgroupVersion::kV1) {
    PINFOLD_TRY(fill_v1_root(hierarchies.front()));
  }
  return make(std::move(hierarchies), facts_of_this_kernel());
}

Result<Cgroups> open_cgroups_to_read(const std::string& root, const CgroupFsWrapper& wrap) {
  PINFOLD_LET(const auto real, real_path_or_new(root));
  PINFOLD_LET(auto mounts, parse_mountinfo(read_kernel_file("/proc/self/mountinfo")));
  PINFOLD_LET(auto roots, locate(mounts, real, controllers_at));
  note_hidden_processes(roots);
  std::vector<Hierarchy> hierarchies;
  for (HierarchyRoot& found : roots) {
    auto fs = open_cgroup_fs(found.directory);
    if (fs && wrap) fs = wrap(*std::move(fs), found);
    if (!fs && fs.error().code == ErrorCode::kNotFound) {
      // A second cgroup2 mount, whose controllers are not available to the root.
      const bool is_other_mount = found.version == CgroupVersion::kV2 && !hierarchies.empty();
      if (is_other_mount) continue;
      fs = std::make_unique<AbsentCgroupFs>(found.directory);
    }
    if (!fs) return fail(std::move(fs).error());
    hierarchies.push_back({std::move(found), *std::move(fs)});
  }
  return Cgroups::make_to_read(std::move(hierarchies), facts_of_this_kernel());
}

Result<Cgroups> open_cgroups(const std::string& root, const CgroupFsWrapper& wrap) {
  if (::mkdir(root.c_str(), 0755) != 0 && errno != EEXIST) {
    return fail_errno(errno, fmt::format("cgroup root '{}'", root));
  }
  return Cgroups::open(root, wrap);
}

}  // namespace pinfold::enforce
