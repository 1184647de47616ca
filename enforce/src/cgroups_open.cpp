#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "pinfold/enforce/cgroups.hpp"

/// Finds and opens the hierarchies of the running kernel.
namespace pinfold::enforce {
namespace {

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// "hugepages-2048kB" to 2 MiB; 0 for anything else.
std::uint64_t hugepage_bytes(std::string_view directory) {
  constexpr std::string_view kPrefix = "hugepages-";
  constexpr std::string_view kSuffix = "kB";
  if (!directory.starts_with(kPrefix) || !directory.ends_with(kSuffix)) return 0;
  const std::string_view digits =
      directory.substr(kPrefix.size(), directory.size() - kPrefix.size() - kSuffix.size());
  std::uint64_t kib = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), kib);
  return error == std::errc() && end == digits.data() + digits.size() ? kib * 1024 : 0;
}

/// As the hugetlb controller names its files: "64KB", "2MB", "1GB".
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
  DIR* const dir = ::opendir("/sys/kernel/mm/hugepages");
  if (dir == nullptr) return facts;
  while (const dirent* entry = ::readdir(dir)) {  // NOLINT(concurrency-mt-unsafe): own stream
    const std::uint64_t bytes = hugepage_bytes(entry->d_name);
    if (bytes != 0) facts.hugepage_sizes.emplace(hugepage_name(bytes), bytes);
  }
  ::closedir(dir);
  return facts;
}

Result<std::string> real_path(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) {
    return fail_errno(errno, fmt::format("cgroup root '{}'", path));
  }
  return std::string(resolved);
}

/// A cpuset of cgroup v1 starts with nothing; the root of our groups takes what its parent has.
Result<void> fill_v1_root(Hierarchy& cpuset) {
  const std::string& directory = cpuset.root.directory;
  for (const char* file : {"cpuset.cpus", "cpuset.mems"}) {
    auto has = cpuset.fs->read("", file);
    if (!has) return fail(std::move(has).error());
    if (!has->empty()) continue;
    PINFOLD_LET(auto parent, open_cgroup_fs(directory.substr(0, directory.rfind('/'))));
    PINFOLD_LET(auto inherited, parent->read("", file));
    PINFOLD_TRY(cpuset.fs->write("", file, inherited));
  }
  return {};
}

/// The root is there in the hierarchy that the caller named; in the others it may have to be made,
/// as a container runtime does.
Result<std::unique_ptr<CgroupFs>> open_or_make(const std::string& directory) {
  auto fs = open_cgroup_fs(directory);
  const std::size_t slash = directory.rfind('/');
  if (fs || fs.error().code != ErrorCode::kNotFound || slash == 0) return fs;
  PINFOLD_LET(auto parent, open_or_make(directory.substr(0, slash)));
  PINFOLD_TRY(parent->make_group(directory.substr(slash + 1)));
  return open_cgroup_fs(directory);
}

}  // namespace

void Cgroups::restore_root(const CpuSet& needed) {
  if (cpuset_is_v2()) return;
  const std::string& directory = root();
  auto parent = open_cgroup_fs(directory.substr(0, directory.rfind('/')));
  const auto has = read_list({hierarchies_.front().fs.get(), ""}, "cpuset.cpus");
  if (!parent || !has || has->contains_all(needed)) return;
  const auto above = CpuSet::parse((*parent)->read("", "cpuset.cpus").value_or(""));
  if (!above) return;
  // What cannot be restored shows when the plan is applied.
  (void)hierarchies_.front().fs->write("", "cpuset.cpus", (*has | (needed & *above)).to_string());
}

Result<Cgroups> Cgroups::open(const std::string& root, const CgroupFsWrapper& wrap) {
  PINFOLD_LET(auto real, real_path(root));
  PINFOLD_LET(auto mounts, parse_mountinfo(read_all("/proc/self/mountinfo")));
  PINFOLD_LET(auto roots, locate(mounts, real, [](const std::string& directory) {
                return read_all(directory + "/cgroup.controllers");
              }));
  std::vector<Hierarchy> hierarchies;
  for (HierarchyRoot& found : roots) {
    PINFOLD_LET(std::unique_ptr<CgroupFs> fs, open_or_make(found.directory));
    if (wrap) fs = wrap(std::move(fs), found);
    hierarchies.push_back({std::move(found), std::move(fs)});
  }
  Hierarchy& cpuset = hierarchies.front();
  if (cpuset.root.version == CgroupVersion::kV1) {
    PINFOLD_TRY(fill_v1_root(cpuset));
  }
  return make(std::move(hierarchies), facts_of_this_kernel());
}

Result<Cgroups> open_cgroups(const std::string& root, const CgroupFsWrapper& wrap) {
  if (::mkdir(root.c_str(), 0755) != 0 && errno != EEXIST) {
    return fail_errno(errno, fmt::format("cgroup root '{}'", root));
  }
  return Cgroups::open(root, wrap);
}

}  // namespace pinfold::enforce
