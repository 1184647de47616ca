#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::checkpoint::testing {

/// What a disk holds after a power cut: contents by name.
using Image = std::map<std::string, std::string>;

/// One directory that remembers what has been synced and what has not. File contents become durable
/// by File::sync only, names by Fs::sync_directory only; until then each unsynced content and each
/// change of a name may or may not have reached the disk, in any order.
class Disk {
 public:
  Disk() = default;
  explicit Disk(const Image& image);

  /// Every image that a power cut at this moment may leave behind: each subset of the unsynced
  /// names, times unsynced contents applied, dropped, torn, zero-filled, or torn with garbage.
  void for_each_image(const std::function<void(const Image&)>& visit) const;

  struct Inode {
    std::string durable;
    std::string now;
    bool dirty = false;
  };
  /// A change of names that is not synced yet.
  struct NameChange {
    std::string erased;  ///< "" if none
    std::string set;     ///< "" if none
    std::size_t inode = 0;
  };

  std::vector<Inode> inodes;
  std::map<std::string, std::size_t> durable_names;
  std::map<std::string, std::size_t> names;
  std::vector<NameChange> pending;
};

/// A Fs over a Disk, with a hook before each operation: it can look at the disk, and make the
/// operation fail.
class MemoryFs final : public Fs {
 public:
  struct Fault {
    int sys_errno = 0;         ///< 0: succeed
    bool short_write = false;  ///< take one byte only
  };
  /// Called with the name of every operation that changes the disk.
  using Hook = std::function<Fault(const std::string& operation)>;

  explicit MemoryFs(std::shared_ptr<Disk> disk, Hook hook = {});

  Result<std::optional<std::string>> read(const std::string& name) override;
  Result<std::vector<std::string>> list() override;
  Result<std::unique_ptr<File>> create(const std::string& name) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& name) override;
  Result<void> sync_directory() override;

 private:
  std::shared_ptr<Disk> disk_;
  std::shared_ptr<Hook> hook_;
};

}  // namespace pinfold::checkpoint::testing
