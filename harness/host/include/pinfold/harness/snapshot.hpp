#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/vm.hpp"

namespace pinfold::harness {

/// Saved machines that have just booted, in the cache. The key of each is made of all its inputs:
/// the version of QEMU, its command line, the kernel and (by its name) the initramfs. The checksum
/// of a file is verified before it is used.
class SnapshotStore {
 public:
  explicit SnapshotStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] static std::string key(const std::string& qemu_version,
                                       const std::vector<std::string>& command,
                                       const std::string& kernel_version);

  /// Waits until no other run makes this snapshot: two runs that need it boot once. The lock is
  /// held as long as the result lives; invalid if `interrupt_fd` became readable.
  [[nodiscard]] UniqueFd lock(const std::string& key, int interrupt_fd) const;
  /// The file of a sound snapshot; damaged ones are removed.
  [[nodiscard]] std::optional<std::filesystem::path> find(const std::string& key) const;
  /// Saves a machine, which goes on running afterwards. Errors leave no file behind.
  [[nodiscard]] VmResult<void> save(const std::string& key, Vm& vm) const;
  void remove(const std::string& key) const;

 private:
  [[nodiscard]] std::filesystem::path state_file(const std::string& key) const;
  [[nodiscard]] std::filesystem::path sum_file(const std::string& key) const;

  std::filesystem::path folder_;
};

/// Waits until a machine that was started from a snapshot has been read in, and lets it run.
[[nodiscard]] VmResult<void> resume(Vm& vm, Milliseconds limit);

/// A sum over a large file, many times faster than Fingerprint: any damaged word changes it.
[[nodiscard]] Result<std::string> sum_of_file(const std::filesystem::path& file);

}  // namespace pinfold::harness
