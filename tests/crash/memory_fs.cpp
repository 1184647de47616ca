#include "memory_fs.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <tuple>

#include "pinfold/checkpoint/store.hpp"

namespace pinfold::checkpoint::testing {
namespace {

enum class Content { kApplied, kDropped, kTorn, kZeros, kGarbage };
constexpr std::array kContents = {Content::kApplied, Content::kDropped, Content::kTorn,
                                  Content::kZeros, Content::kGarbage};

constexpr std::size_t kBlock = 4096;

std::string after_cut(const Disk::Inode& inode, Content content) {
  const auto& [durable, now] = std::tie(inode.durable, inode.now);
  const auto differs = std::mismatch(durable.begin(), durable.end(), now.begin(), now.end()).first;
  const auto first = static_cast<std::size_t>(differs - durable.begin());
  const std::size_t sound = first / kBlock * kBlock;
  // In reserved space the size stays, and so does everything after the last block written.
  const bool in_place = durable.size() == now.size();
  std::size_t end = now.size();
  while (in_place && end > sound && durable[end - 1] == now[end - 1]) --end;
  end = std::min(now.size(), (end + kBlock - 1) / kBlock * kBlock);
  const std::size_t half = (end - sound) / 2;
  switch (content) {
    case Content::kApplied:
      return now;
    case Content::kDropped:
      return durable;
    case Content::kTorn:
      return now.substr(0, sound + half) + (in_place ? durable.substr(sound + half) : "");
    case Content::kZeros:
      return now.substr(0, sound) + std::string(end - sound, '\0') + now.substr(end);
    case Content::kGarbage:
      return now.substr(0, sound + half) + std::string(end - sound - half, '#') + now.substr(end);
  }
  return {};
}

using Names = std::map<std::string, std::size_t>;

/// Visits every combination of choices; `choices` has the number of options of each.
template <class Visit>
void for_each_combination(const std::vector<std::size_t>& choices, const Visit& visit) {
  std::vector<std::size_t> chosen(choices.size(), 0);
  while (true) {
    visit(chosen);
    std::size_t i = 0;
    while (i < chosen.size() && ++chosen[i] == choices[i]) chosen[i++] = 0;
    if (i == chosen.size()) return;
  }
}

/// A file in an image: its inode and the outcome for its contents.
struct Fate {
  std::size_t inode;
  Content content;
};
using Fates = std::map<std::string, Fate>;

std::string key_of(const Disk& disk, const Fates& fates) {
  std::string key;
  for (const auto& [name, fate] : fates) {
    const Disk::Inode& inode = disk.inodes[fate.inode];
    for (const std::size_t part : {fate.inode, static_cast<std::size_t>(fate.content),
                                   inode.changes, inode.durable_changes}) {
      key += std::to_string(part) + " ";
    }
    key += name + "\n";
  }
  return key;
}

/// Visits every combination of outcomes for the unsynced files of these names.
void for_each_fate(const Disk& disk, const Names& names, Disk::Contents contents,
                   const std::function<void(const Fates&)>& visit) {
  Fates fates;
  std::vector<Fate*> dirty;
  for (const auto& [name, number] : names) {
    Fate& fate = fates[name] = {number, Content::kApplied};
    if (disk.inodes[number].dirty) dirty.push_back(&fate);
  }
  const bool alike = contents == Disk::Contents::kAlike && !dirty.empty();
  const std::vector<std::size_t> choices(alike ? 1 : dirty.size(), kContents.size());
  for_each_combination(choices, [&](const auto& chosen) {
    for (std::size_t i = 0; i < dirty.size(); ++i) {
      dirty[i]->content = kContents[chosen[alike ? 0 : i]];
    }
    visit(fates);
  });
}

MemoryFs::Fault ask(const MemoryFs::Hook& hook, const std::string& operation) {
  return hook ? hook(operation) : MemoryFs::Fault();
}

class MemoryFile final : public File {
 public:
  MemoryFile(std::shared_ptr<Disk> disk, std::shared_ptr<MemoryFs::Hook> hook, std::size_t inode,
             std::string name, std::size_t written = 0)
      : disk_(std::move(disk)),
        hook_(std::move(hook)),
        inode_(inode),
        name_(std::move(name)),
        written_(written) {}

  Result<std::size_t> write(std::string_view bytes) override {
    auto fault = ask(*hook_, "write " + name_);
    const bool has_room = written_ + bytes.size() <= disk_->inodes[inode_].now.size();
    if (fault.sys_errno == ENOSPC && has_room) fault = {};
    if (fault.short_write) bytes = bytes.substr(0, 1);
    // A write that fails for lack of space has often written part of its data.
    if (fault.sys_errno != 0) bytes = bytes.substr(0, bytes.size() / 3);
    put(bytes);
    written_ += bytes.size();
    if (fault.sys_errno != 0) return fail_errno(fault.sys_errno, "write '" + name_ + "'");
    return bytes.size();
  }

  Result<void> reserve(std::size_t size) override {
    const auto fault = ask(*hook_, "reserve " + name_);
    if (fault.sys_errno != 0 || fault.short_write) size /= 3;
    put(std::string(size, '\0'));
    if (fault.sys_errno != 0) return fail_errno(fault.sys_errno, "reserve '" + name_ + "'");
    return {};
  }

  Result<void> sync() override {
    const auto fault = ask(*hook_, "sync " + name_);
    Disk::Inode& inode = disk_->inodes[inode_];
    if (fault.sys_errno != 0) {
      inode.sync_failed = true;
      return fail_errno(fault.sys_errno, "fsync '" + name_ + "'");
    }
    if (inode.sync_failed) return {};  // like the kernel: the pages count as clean
    inode.durable = inode.now;
    inode.durable_changes = inode.changes;
    inode.dirty = false;
    return {};
  }

 private:
  void put(std::string_view bytes) {
    Disk::Inode& inode = disk_->inodes[inode_];
    inode.now.replace(written_, std::min(bytes.size(), inode.now.size() - written_), bytes);
    inode.dirty = true;
    ++inode.changes;
  }

  std::shared_ptr<Disk> disk_;
  std::shared_ptr<MemoryFs::Hook> hook_;
  std::size_t inode_;
  std::string name_;
  std::size_t written_;
};

}  // namespace

Disk::Disk(const Image& image) {
  for (const auto& [name, bytes] : image) {
    names[name] = inodes.size();
    inodes.push_back({bytes, bytes});
  }
  durable_names = names;
}

void Disk::change(const std::string& name, Place place) {
  if (place) {
    names[name] = *place;
  } else {
    names.erase(name);
  }
  pending[name].push_back(place);
}

void Disk::for_each_image(std::set<std::string>& seen,
                          const std::function<void(const Image&)>& visit, Contents contents) const {
  std::vector<std::pair<std::string, std::vector<Place>>> options;
  std::vector<std::size_t> choices;
  for (const auto& [name, places] : pending) {
    if (name.starts_with(kTempPrefix)) continue;
    const auto durable = durable_names.find(name);
    options.push_back({name, places});
    options.back().second.push_back(durable == durable_names.end() ? Place() : durable->second);
    choices.push_back(options.back().second.size());
  }
  for_each_combination(choices, [&](const std::vector<std::size_t>& chosen) {
    Names reached;
    const auto sum = std::accumulate(chosen.begin(), chosen.end(), std::size_t{0});
    for (const auto& [name, inode] : sum % 2 == 0 ? names : durable_names) {
      if (name.starts_with(kTempPrefix) || !pending.contains(name)) reached[name] = inode;
    }
    for (std::size_t i = 0; i < options.size(); ++i) {
      const auto& [name, places] = options[i];
      if (const Place place = places[chosen[i]]) reached[name] = *place;
    }
    for_each_fate(*this, reached, contents, [&](const Fates& fates) {
      if (!seen.insert(key_of(*this, fates)).second) return;
      Image image;
      for (const auto& [name, fate] : fates) {
        image[name] = after_cut(inodes[fate.inode], fate.content);
      }
      visit(image);
    });
  });
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
  if (disk_->names.contains(name)) disk_->change(name, std::nullopt);
  const std::size_t number = disk_->inodes.size();
  disk_->inodes.emplace_back();
  disk_->change(name, number);
  return std::make_unique<MemoryFile>(disk_, hook_, number, name);
}

Result<std::unique_ptr<File>> MemoryFs::reopen(const std::string& name, std::size_t size) {
  const auto fault = ask(*hook_, "reopen " + name);
  if (fault.sys_errno != 0) return fail_errno(fault.sys_errno, "open '" + name + "'");
  const auto found = disk_->names.find(name);
  if (found == disk_->names.end()) return fail_errno(ENOENT, "open '" + name + "'");
  return std::make_unique<MemoryFile>(disk_, hook_, found->second, name, size);
}

Result<void> MemoryFs::rename(const std::string& from, const std::string& to) {
  if (const auto fault = ask(*hook_, "rename to " + to); fault.sys_errno != 0) {
    return fail_errno(fault.sys_errno, "rename to '" + to + "'");
  }
  const auto found = disk_->names.find(from);
  if (found == disk_->names.end()) return fail_errno(ENOENT, "rename to '" + to + "'");
  disk_->change(to, found->second);
  disk_->change(from, std::nullopt);
  return {};
}

Result<void> MemoryFs::remove(const std::string& name) {
  if (const auto fault = ask(*hook_, "remove " + name); fault.sys_errno != 0) {
    return fail_errno(fault.sys_errno, "remove '" + name + "'");
  }
  if (disk_->names.contains(name)) disk_->change(name, std::nullopt);
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
