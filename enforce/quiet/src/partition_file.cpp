#include "partition_file.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "knob_file.hpp"
#include "pinfold/quiet/knob.hpp"
#include "pinfold/types/named.hpp"
#include "systemd_units.hpp"

namespace pinfold::quiet {
namespace {

std::string file_of(const std::string& directory) { return directory + "/cpuset.cpus.partition"; }

bool is_unit(std::string_view name) {
  return name.ends_with(".scope") || name.ends_with(".slice") || name.ends_with(".service");
}

/// Waits for systemd, which answers before it writes. Returns false if it has not written.
bool is_written(const std::string& directory, const std::string& before) {
  constexpr int kLooks = 20;
  constexpr std::chrono::milliseconds kPause{5};
  for (int look = 0; look < kLooks; ++look) {
    if (read_value(file_of(directory)) != before) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

/// Reads a list of CPUs; empty if it cannot be read.
CpuSet cpus_in(const std::string& file) {
  const auto list = read_value(file);
  return list ? CpuSet::parse(*list).value_or(CpuSet()) : CpuSet();
}

/// Has systemd set the partition of a unit, together with the CPUs that the unit has in the kernel:
/// systemd writes both, and may know of older CPUs. Returns false if it cannot.
bool write_by_systemd(const std::string& root, const std::string& directory,
                      const std::string& value) {
  const std::string unit = directory.substr(directory.rfind('/') + 1);
  if (!is_unit(unit)) return false;
  const auto before = read_value(file_of(root + directory));
  const CpuSet cpus = cpus_in(root + directory + "/cpuset.cpus");
  if (!before || cpus.empty()) return false;  // systemd requires CPUs
  return write_unit_partition(root, unit, cpus, value) && is_written(root + directory, *before);
}

/// Checks the value that the kernel has now, such as "isolated invalid (Parent is not a partition
/// root)". Since Linux 7.0 a partition lacks the CPUs that another one has, and is valid.
Result<void> check(const std::string& directory, const std::string& value) {
  PINFOLD_LET(const auto has, read_value(file_of(directory)));
  if (has != value) {
    return fail(ErrorCode::kUnsupported, fmt::format("the kernel has '{}' in '{}', expected '{}'",
                                                     has, file_of(directory), value));
  }
  const CpuSet effective = cpus_in(directory + "/cpuset.cpus.effective");
  const CpuSet lacking = cpus_in(directory + "/cpuset.cpus") - effective;
  if (value == kMemberPartition || effective.empty() || lacking.empty()) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the partition lacks {}, which another cgroup has exclusively",
                          cpus_named(lacking)));
}

}  // namespace

Result<std::string> read_partition(const std::string& directory) {
  PINFOLD_LET(auto value, read_value(file_of(directory)));
  const bool is_invalid = value.find(' ') != std::string::npos;
  return is_invalid ? std::string(kMemberPartition) : value;
}

bool PartitionWriter::ask_systemd(const std::string& directory, const std::string& value) {
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kMost{50};
  if (!asks_systemd_) return false;
  const auto begin = steady_clock::now();
  const bool is_done = write_by_systemd(root_, directory, value);
  asks_systemd_ = is_done || steady_clock::now() - begin < kMost;
  return is_done;
}

Result<void> PartitionWriter::try_write(const std::string& directory, const std::string& value) {
  if (!ask_systemd(directory, value)) {
    PINFOLD_TRY(write_value(file_of(root_ + directory), value));
  }
  return check(root_ + directory, value);
}

Result<void> PartitionWriter::write(const std::string& directory, const std::string& value) {
  auto written = try_write(directory, value);
  if (!written && written.error().code == ErrorCode::kUnsupported && value != kMemberPartition) {
    // The first reason says enough.
    (void)try_write(directory, std::string(kMemberPartition));
  }
  return written;
}

}  // namespace pinfold::quiet
