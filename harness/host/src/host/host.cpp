#include "pinfold/harness/host.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/harness/process.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr QemuVersion kOldestQemu = {7, 2};
constexpr QemuVersion kOldestWithCaches = {10, 0};  // the option smp-cache

/// Memory that every guest touches: QEMU, firmware, kernel, initramfs and a scenario's programs.
constexpr std::uint64_t kGuestBase = 320 * kMiB;
/// The guest's kernel touches one part in this many of its memory to manage it.
constexpr std::uint64_t kManagedPart = 50;

std::uint64_t needed_by(const VmMachine& machine) {
  return kGuestBase + machine.memory() / kManagedPart;
}

std::string version_text(const QemuVersion& version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

/// Returns the text for an errno: "Read-only file system".
std::string reason_of(int error) {
  return std::error_code(error, std::generic_category()).message();
}

/// Returns the number after a name in /proc/meminfo, in bytes.
std::optional<std::uint64_t> meminfo_bytes(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + name.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t kib = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), kib);
  if (read.ec != std::errc() || kib > (std::uint64_t{1} << 50U)) return std::nullopt;
  return kib * 1024;
}

/// Returns the number in a control file; nullopt if there is none or it is "max".
std::optional<std::uint64_t> control_value(const fs::path& file) {
  const auto text = read_file(file);
  std::uint64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

/// Returns the cgroup v2 path of this process; "/" if there is none.
std::string own_group(const fs::path& root) {
  const auto text = read_file(root / "proc/self/cgroup");
  constexpr std::string_view kVersion2 = "0::";
  for (std::size_t at = 0; text && at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const std::string line = text->substr(at, end - at);
    if (line.starts_with(kVersion2)) return line.substr(kVersion2.size());
    at = end + 1;
  }
  return "/";
}

}  // namespace

Result<void> check_cache(const fs::path& folder, std::uint64_t room) {
  constexpr std::string_view kElsewhere = "set PINFOLD_CACHE to another one";
  std::error_code failed;
  fs::create_directories(folder, failed);
  std::string probe = (folder / ".probe-XXXXXX").string();
  const int error = failed ? failed.value() : 0;
  const UniqueFd file(error != 0 ? -1 : mkostemp(probe.data(), O_CLOEXEC));
  if (!file) {
    const int reason = error != 0 ? error : errno;
    return fail({ErrorCode::kIo, reason,
                 fmt::format("cache '{}': {}, expected a folder that can be written; {}",
                             folder.string(), reason_of(reason), kElsewhere)});
  }
  fs::remove(probe, failed);
  const fs::space_info space = fs::space(folder, failed);
  if (failed || space.available >= room) return {};
  return fail(
      ErrorCode::kIo,
      fmt::format("cache '{}': {} MiB free, expected {} MiB for kernels and snapshots; free "
                  "some (`pinfold-harness clean` removes snapshots), or {}",
                  folder.string(), space.available / kMiB, room / kMiB, kElsewhere));
}

Result<QemuVersion> parse_qemu_version(std::string_view text) {
  constexpr std::string_view kBefore = "version ";
  QemuVersion version;
  const std::size_t at = text.find(kBefore);
  const char* const end = text.data() + text.size();
  if (at != std::string_view::npos) {
    const auto major = std::from_chars(text.data() + at + kBefore.size(), end, version.major);
    if (major.ec == std::errc() && major.ptr != end && *major.ptr == '.' &&
        std::from_chars(major.ptr + 1, end, version.minor).ec == std::errc()) {
      return version;
    }
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected QEMU emulator version N.N",
                          text.substr(0, std::min<std::size_t>(text.find('\n'), 60))));
}

Result<std::string> check_qemu(const std::string& qemu, const VmMachine& machine) {
  const std::string help =
      fmt::format("install it (package qemu-system-{}), or name another with --qemu",
                  machine.platform.arch == Arch::kArm64 ? "arm" : "x86");
  const QemuVersion oldest = machine.caches > 1 ? kOldestWithCaches : kOldestQemu;
  const auto ran = ask_program({qemu, "--version"}, Milliseconds(10000));
  if (!ran || ran->exit_status == 127) {
    return fail(ErrorCode::kNotFound,
                fmt::format("QEMU '{}': {}, expected QEMU {} or later; {}", qemu,
                            ran ? "not found" : ran.error().message, version_text(oldest), help));
  }
  const auto version = parse_qemu_version(ran->output);
  if (version && *version >= oldest) return ran->output;
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("QEMU '{}': {}, expected {} or later{}; {}", qemu,
                  version ? version_text(*version) : version.error().message, version_text(oldest),
                  machine.caches > 1 ? " for several last-level caches in a die" : "", help));
}

Result<HostMemory> host_memory(const fs::path& root) {
  PINFOLD_LET(const auto meminfo, read_file(root / "proc/meminfo"));
  const auto available = meminfo_bytes(meminfo, "MemAvailable:");
  if (!available) {
    return fail(ErrorCode::kInvalidArgument, "/proc/meminfo: expected a line MemAvailable");
  }
  HostMemory memory = {*available, "MemAvailable of /proc/meminfo"};
  // From this process's group up to the root: each may have a limit. In a container the root has
  // it.
  fs::path group = fs::path(own_group(root)).relative_path();
  while (true) {
    const fs::path folder = root / "sys/fs/cgroup" / group;
    const auto most = control_value(folder / "memory.max");
    const auto used = control_value(folder / "memory.current");
    if (most && used && *most - std::min(*most, *used) < memory.free) {
      memory = {*most - std::min(*most, *used),
                fmt::format("memory.max of the control group '/{}'", group.string())};
    }
    if (group.empty()) return memory;
    group = group.parent_path();
  }
}

Result<void> check_memory(const VmMachine& machine, const HostMemory& memory) {
  const std::uint64_t needed = needed_by(machine);
  if (memory.free >= needed) return {};
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("memory: {} MiB free ({}), expected {} MiB for a guest of {} MiB; end "
                  "other programs, or give the machine less memory",
                  memory.free / kMiB, memory.limit, needed / kMiB, machine.memory() / kMiB));
}

Result<void> check_memory(std::vector<const VmMachine*> machines, int jobs,
                          const HostMemory& memory) {
  std::sort(machines.begin(), machines.end(),
            [](const VmMachine* a, const VmMachine* b) { return a->memory() > b->memory(); });
  const std::size_t count = std::min(machines.size(), static_cast<std::size_t>(jobs));
  if (count == 0) return {};
  PINFOLD_TRY(check_memory(*machines.front(), memory));
  std::uint64_t needed = 0;
  for (std::size_t i = 0; i < count; ++i) needed += needed_by(*machines[i]);
  if (memory.free >= needed) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("memory: {} MiB free ({}), expected {} MiB for {} guests at once, of up "
                          "to {} MiB; end other programs, or use fewer --jobs",
                          memory.free / kMiB, memory.limit, needed / kMiB, count,
                          machines.front()->memory() / kMiB));
}

}  // namespace pinfold::harness
