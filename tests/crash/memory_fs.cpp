#include "memory_fs.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace pinfold::checkpoint::testing {
namespace {

enum class Content { kApplied, kDropped, kTorn, kZeros, kGarbage };
constexpr std::array kContents = {Content::kApplied, Content::kDropped, Content::kTorn,
                                  Content::kZeros, Content::kGarbage};

std::string after_cut(const Disk::Inode& inode, Content content) {
  const std::string half = inode.now.substr(0, inode.now.size() / 2);
  switch (content) {
    case Content::kApplied:
      return inode.now;
    case Content::kDropped:
      return inode.durable;
    case Content::kTorn:
      return half;
    case Content::kZeros:
      return std::string(inode.now.size(), '\0');
    case Content::kGarbage:
      return half + std::string(inode.now.size() - half.size(), '#');
  }
  return {};
}

MemoryFs::Fault ask(const MemoryFs::Hook& hook, const std::string& operation) {
  return hook ? hook(operation) : MemoryFs::Fault();
}

class MemoryFile final : public File {
 public:
  MemoryFile(std::shared_ptr<Disk> disk, std::shared_ptr<MemoryFs::Hook> hook, std::size_t inode,
             std::string name)
      : disk_(std::move(disk)), hook_(std::move(hook)), inode_(inode), name_(std::move(name)) {}

  Result<std::size_t> write(std::string_view bytes) override {
    const auto fault = ask(*hook_, "write " + name_);
    Disk::Inode& inode = disk_->inodes[inode_];
    if (fault.short_write) bytes = bytes.substr(0, 1);
    // What fails for want of space has often taken a part.
    if (fault.sys_errno != 0) bytes = bytes.substr(0, bytes.size() / 3);
    inode.now += bytes;
    inode.dirty = true;
    if (fault.sys_errno != 0) return fail_errno(fault.sys_errno, "write '" + name_ + "'");
    return bytes.size();
  }

  void start_sync() override {}  // for_each_image knows that anything may have been written out

  Result<void> sync() override {
    const auto fault = ask(*hook_, "sync " + name_);
    Disk::Inode& inode = disk_->inodes[inode_];
    if (fault.sys_errno != 0) return fail_errno(fault.sys_errno, "fsync '" + name_ + "'");
    inode.durable = inode.now;
    inode.dirty = false;
    return {};
  }

 private:
  std::shared_ptr<Disk> disk_;
  std::shared_ptr<MemoryFs::Hook> hook_;
  std::size_t inode_;
  std::string name_;
};

}  // namespace

Disk::Disk(const Image& image) {
  for (const auto& [name, bytes] : image) {
    names[name] = inodes.size();
    inodes.push_back({bytes, bytes, false});
  }
  durable_names = names;
}

void Disk::for_each_image(const std::function<void(const Image&)>& visit) const {
  const bool dirty =
      std::any_of(inodes.begin(), inodes.end(), [](const Inode& inode) { return inode.dirty; });
  for (std::size_t subset = 0; subset < (std::size_t{1} << pending.size()); ++subset) {
    auto reached = durable_names;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (((subset >> i) & 1U) == 0) continue;
      if (!pending[i].erased.empty()) reached.erase(pending[i].erased);
      if (!pending[i].set.empty()) reached[pending[i].set] = pending[i].inode;
    }
    for (const Content content : kContents) {
      Image image;
      for (const auto& [name, number] : reached) {
        const Inode& inode = inodes[number];
        image[name] = inode.dirty ? after_cut(inode, content) : inode.durable;
      }
      visit(image);
      if (!dirty) break;
    }
  }
}

MemoryFs::MemoryFs(std::shared_ptr<Disk> disk, Hook hook)
    : disk_(std::move(disk)), hook_(std::make_shared<Hook>(std::move(hook))) {}

Result<std::optional<std::string>> MemoryFs::read(const std::string& name) {
  const auto found = disk_->names.find(name);
  if (found == disk_->names.end()) return std::optional<std::string>();
  return std::optional<std::string>(disk_->inodes[found->second].now);
}

Result<std::vector<std::string>> MemoryFs::list() {
  std::vector<std::string> out;
  for (const auto& [name, inode] : disk_->names) out.push_back(name);
  return out;
}

Result<std::unique_ptr<File>> MemoryFs::create(const std::string& name) {
  if (const auto fault = ask(*hook_, "create " + name); fault.sys_errno != 0) {
    return fail_errno(fault.sys_errno, "create '" + name + "'");
  }
  const auto [entry, fresh] = disk_->names.try_emplace(name, disk_->inodes.size());
  if (fresh) {
    disk_->inodes.emplace_back();
    disk_->pending.push_back({"", name, entry->second});
  }
  Disk::Inode& inode = disk_->inodes[entry->second];
  inode.dirty = inode.dirty || !inode.now.empty();
  inode.now.clear();
  return std::make_unique<MemoryFile>(disk_, hook_, entry->second, name);
}

Result<void> MemoryFs::rename(const std::string& from, const std::string& to) {
  if (const auto fault = ask(*hook_, "rename to " + to); fault.sys_errno != 0) {
    return fail_errno(fault.sys_errno, "rename to '" + to + "'");
  }
  const auto found = disk_->names.find(from);
  if (found == disk_->names.end()) return fail_errno(ENOENT, "rename to '" + to + "'");
  disk_->pending.push_back({from, to, found->second});
  disk_->names[to] = found->second;
  disk_->names.erase(from);
  return {};
}

Result<void> MemoryFs::remove(const std::string& name) {
  if (const auto fault = ask(*hook_, "remove " + name); fault.sys_errno != 0) {
    return fail_errno(fault.sys_errno, "remove '" + name + "'");
  }
  if (disk_->names.erase(name) > 0) disk_->pending.push_back({name, "", 0});
  return {};
}

Result<void> MemoryFs::sync_directory() {
  if (const auto fault = ask(*hook_, "sync directory"); fault.sys_errno != 0) {
    return fail_errno(fault.sys_errno, "fsync directory");
  }
  disk_->durable_names = disk_->names;
  disk_->pending.clear();
  return {};
}

}  // namespace pinfold::checkpoint::testing
