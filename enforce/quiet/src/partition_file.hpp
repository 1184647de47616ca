#pragma once

#include <string>
#include <utility>

#include "pinfold/base/result.hpp"

/// Whether a cgroup is an isolated partition: cpuset.cpus.partition, which systemd writes for its
/// units since version 261 (CPUSetPartition=).
namespace pinfold::quiet {

/// Returns the value of a cgroup; "member" for a partition that the kernel has made invalid.
/// Errors: kNotFound without such a file; kIo.
[[nodiscard]] Result<std::string> read_partition(const std::string& directory);

class PartitionWriter {
 public:
  /// `root`: "" for the real files.
  explicit PartitionWriter(std::string root) : root_(std::move(root)) {}

  /// Sets the value of a cgroup, and reads it back. If the cgroup has the name of a unit, asks
  /// systemd first, because it may write what Pinfold may not; if systemd does not, writes the
  /// file. A systemd that has kept a container waiting in vain is not asked again. A cgroup that
  /// the kernel does not accept as a partition becomes a member again. Domain: `directory` is
  /// absolute, below the root.
  /// Errors: kUnsupported with the kernel's reason; kNotFound; kIo.
  [[nodiscard]] Result<void> write(const std::string& directory, const std::string& value);

 private:
  [[nodiscard]] Result<void> try_write(const std::string& directory, const std::string& value);
  [[nodiscard]] bool ask_systemd(const std::string& directory, const std::string& value);

  std::string root_;
  bool asks_systemd_ = true;
};

}  // namespace pinfold::quiet
