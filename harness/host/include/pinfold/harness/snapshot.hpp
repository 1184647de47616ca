#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/vm.hpp"

namespace pinfold::harness {

/// A cache of saved machines that have just booted. The key covers all inputs: QEMU's version and
/// command line, the kernel and (by its name) the initramfs. The memory of each NUMA node is a file
/// that QEMU maps; the rest is a file that QEMU reads. A process verifies their checksums before it
/// first uses them.
class SnapshotStore {
 public:
  explicit SnapshotStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] static std::string key(const std::string& qemu_version,
                                       const std::vector<std::string>& command,
                                       const std::string& kernel_version);

  /// Waits until no other run is creating this snapshot, so that concurrent runs boot only once.
  /// The result holds the lock; it is invalid if `interrupt_fd` became readable.
  [[nodiscard]] UniqueFd lock(const std::string& key, int interrupt_fd) const;
  /// Returns the file of an intact snapshot for QEMU; removes a damaged one.
  [[nodiscard]] std::optional<std::filesystem::path> find(const std::string& key) const;
  /// Saves a machine, which then keeps running. On error no file remains.
  [[nodiscard]] VmResult<void> save(const std::string& key, Vm& vm) const;
  void remove(const std::string& key) const;

 private:
  [[nodiscard]] std::filesystem::path file(const std::string& key, const std::string& name) const;
  [[nodiscard]] std::vector<std::filesystem::path> files_of(const std::string& key) const;
  /// Splits QEMU's saved machine into the final files, which at first have names that end with
  /// `drafts`.
  [[nodiscard]] Result<void> keep(const std::string& key, const std::filesystem::path& saved,
                                  const std::string& drafts) const;

  std::filesystem::path folder_;
};

/// Waits until a machine started from a snapshot has loaded it, then resumes it.
[[nodiscard]] VmResult<void> resume(Vm& vm, Milliseconds limit);

}  // namespace pinfold::harness
