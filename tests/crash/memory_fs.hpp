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

/// One directory that distinguishes synced from unsynced data. File contents become durable only by
/// File::sync, names only by Fs::sync_directory; until then each unsynced content and each name
/// change may or may not have reached the disk, in any order. A write can tear the blocks in which
/// it begins and ends, including synced bytes.
class Disk {
 public:
  Disk() = default;
  explicit Disk(const Image& image);

  /// Whether all unsynced contents have the same outcome, or each file a separate one.
  enum class Contents { kAlike, kEach };
  /// Visits every image that a power cut at this moment can leave: for each name, each file that it
  /// has referred to since it was synced, or none; combined with unsynced contents applied,
  /// dropped, torn, zero-filled, or torn with garbage. Temporary files, which a store never reads,
  /// have their synced state in half of the images and the current one in the others. Skips images
  /// that are in `seen` and adds the others to it.
  void for_each_image(std::set<std::string>& seen, const std::function<void(const Image&)>& visit,
                      Contents contents = Contents::kAlike) const;

  struct Inode {
    std::string durable;
    std::string now;
    bool dirty = false;
    std::size_t changes = 0;          ///< of `now`
    std::size_t durable_changes = 0;  ///< the changes that `durable` contains
    bool sync_failed = false;         ///< further syncs succeed and make nothing durable
  };
  /// Index into `inodes`; nullopt means no file.
  using Place = std::optional<std::size_t>;

  std::vector<Inode> inodes;
  std::map<std::string, std::size_t> durable_names;
  std::map<std::string, std::size_t> names;
  std::map<std::string, std::vector<Place>>
      pending;  ///< what the name has referred to since then, in order

 private:
  void change(const std::string& name, Place place);
  friend class MemoryFs;
};

/// An Fs over a Disk, with a hook before each operation that can inspect the disk and make the
/// operation fail.
class MemoryFs final : public Fs {
 public:
  struct Fault {
    int sys_errno = 0;         ///< 0: succeed; ENOSPC fails no write into reserved space
    bool short_write = false;  ///< write only one byte
  };
  /// Called with the name of every operation that changes the disk.
  using Hook = std::function<Fault(const std::string& operation)>;

  explicit MemoryFs(std::shared_ptr<Disk> disk, Hook hook = {});

  Result<std::optional<std::string>> read(const std::string& name) override;
  Result<std::vector<std::string>> list() override;
  Result<std::unique_ptr<File>> create(const std::string& name) override;
  Result<std::unique_ptr<File>> reopen(const std::string& name, std::size_t size) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& name) override;
  Result<void> sync_directory() override;

 private:
  std::shared_ptr<Disk> disk_;
  std::shared_ptr<Hook> hook_;
};

}  // namespace pinfold::checkpoint::testing
