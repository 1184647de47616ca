#include "kernel.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "os.hpp"
#include "pinfold/gate/line.hpp"

namespace pinfold::gate {
namespace {

constexpr std::size_t kSmallFile = 4096;
constexpr std::size_t kListSize = 32768;  // of any list below CpuBits::kMaxCpus
/// The largest CPU state file; 500 pods need about 60 KB.
constexpr std::size_t kLargestState = std::size_t{4} << 20U;

// Buffers that exist from the start, so that no step can run out of memory.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::array<char, kSmallFile> g_groups;
std::array<char, kListSize> g_list;
std::array<char, kLargestState> g_state;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// Returns what is between the mount and the path of a group.
std::string_view hierarchy(const GroupPath& group, std::string_view controller) {
  return group.is_v1 ? controller : "";
}

/// Reads the CPUs on which a group can run, from the nearest group above that has the controller.
CpuBits effective_cpus(const Options& options, GroupPath group) {
  const std::string_view file = group.is_v1 ? "/cpuset.effective_cpus" : "/cpuset.cpus.effective";
  for (;;) {
    const auto list =
        read_file({options.cgroup_mount, hierarchy(group, "/cpuset"), group.path, file}, g_list);
    if (list) return CpuBits::parse(*list).value_or(CpuBits());
    if (group.path.empty()) return {};
    group.path = group.path.substr(0, group.path.rfind('/'));
  }
}

bool has_whole_quota(const Options& options, const GroupPath& group) {
  std::array<char, kSmallFile> quota{};
  std::array<char, kSmallFile> period{};
  const auto read = [&](std::string_view file, std::span<char> buffer) {
    return read_file({options.cgroup_mount, hierarchy(group, "/cpu"), group.path, file}, buffer)
        .value_or("");
  };
  if (group.is_v1) {
    return is_whole_cpus(read("/cpu.cfs_quota_us", quota), read("/cpu.cfs_period_us", period));
  }
  const TwoWords words = split_words(read("/cpu.max", quota));
  return is_whole_cpus(words.first, words.second);
}

/// A file mapped to memory, read-only.
class Mapping {
 public:
  explicit Mapping(const Fd& fd) {
    struct stat status = {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !is_trusted(status)) return;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (at != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(at), size};
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    // munmap takes a mutable pointer, but does not write.
    if (!bytes_.empty()) (void)::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  static bool is_trusted(const struct stat& status) {
    const bool is_own = status.st_uid == 0 || status.st_uid == ::geteuid();
    return S_ISREG(status.st_mode) && is_own && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

std::optional<ProcessGroups> groups_of(std::int64_t pid) {
  std::array<char, 32> number{};
  const std::string_view name = Line(number).add(pid).view();
  const auto text = read_file({"/proc/", name, "/cgroup"}, g_groups);
  return text ? parse_process_groups(*text) : std::nullopt;
}

ShownCpus observe(const Options& options, const HookedContainer& container,
                  const ProcessGroups& groups) {
  const bool is_limited = is_guaranteed(groups.cpu.path) && has_whole_quota(options, groups.cpu);
  return {effective_cpus(options, groups.cpuset), is_limited || asks_exclusive(container)};
}

bool write_cpus(const Options& options, const GroupPath& group, const CpuBits& cpus) {
  const std::string_view list = cpus.print(g_list);
  const Fd fd(open_path(
      {options.cgroup_mount, hierarchy(group, "/cpuset"), group.path, "/cpuset.cpus"}, O_WRONLY));
  return fd && ::write(fd.get(), list.data(), list.size()) == static_cast<ssize_t>(list.size());
}

std::string_view directory_of(const Options& options, const GroupPath& group,
                              std::span<char> buffer) {
  Line path(buffer);
  path.add(options.cgroup_mount).add(hierarchy(group, "/cpuset")).add(group.path);
  return path.fits() ? path.view() : "";
}

std::optional<DecidedCpus> decision_of(const Options& options, const StateName& owner) {
  const auto boot = read_file({"/proc/sys/kernel/random/boot_id"}, g_list);
  const Fd fd(
      open_path({options.state_dir, "/.pinfold_snapshot"}, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  const Mapping mapping(fd);
  if (!boot || mapping.bytes().empty()) return std::nullopt;
  return read_decision(mapping.bytes(), *boot, owner, g_state);
}

}  // namespace pinfold::gate
