#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::checkpoint::testing {

/// What a disk holds after a power cut: contents by name.
using Image = std::map<std::string, std::string>;

/// One directory that remembers what has been synced and what has not. File contents become durable
/// by File::sync only, names by Fs::sync_directory only; until then each unsynced content and each
/// change of a name may or may not have reached the disk, in any order. What is appended can tear
/// the block that it begins in, what was synced included.
class Disk {
 public:
  Disk() = default;
  explicit Disk(const Image& image);

  /// Whether all unsynced contents fare alike, or each file for itself.
  enum class Contents { kAlike, kEach };
  /// Every image that a power cut at this moment may leave behind: for each name each file that it
  /// was given since it was synced, or none; times unsynced contents applied, dropped, torn,
  /// zero-filled, or torn with garbage. Temporary files, which a store never reads, are there as
  /// they were in one half of the images and as they are in the other. Those that `seen` has are
  /// left out, and the others added to it.
  void for_each_image(std::set<std::string>& seen, const std::function<void(const Image&)>& visit,
                      Contents contents = Contents::kAlike) const;

  struct Inode {
    std::string durable;
    std::string now;
    bool dirty = false;
  };
  /// By number in `inodes`; nullopt: no file.
  using Place = std::optional<std::size_t>;

  std::vector<Inode> inodes;
  std::map<std::string, std::size_t> durable_names;
  std::map<std::string, std::size_t> names;
  std::map<std::string, std::vector<Place>> pending;  ///< what a name became since, in order

 private:
  void change(const std::string& name, Place place);
  friend class MemoryFs;
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
