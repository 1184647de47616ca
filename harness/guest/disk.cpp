#include "disk.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "pinfold/base/unique_fd.hpp"

/// The disk of a scenario: kernel modules, the file system, and its files.
namespace pinfold::guest {
namespace {

namespace fs = std::filesystem;

/// Loads a module and its dependencies, which the image stores in load order. A module that is
/// built into the kernel has no files.
std::string load_module(const std::string& name) {
  std::error_code none;
  std::vector<std::string> files;
  for (fs::directory_iterator it("/lib/modules/" + name, none), end; !none && it != end;
       it.increment(none)) {
    files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    const bool loaded = fd && (syscall(SYS_finit_module, fd.get(), "", 0) == 0 || errno == EEXIST);
    if (!loaded) return describe_errno(file, errno);
  }
  return "";
}

std::string make_filesystem(Agent& agent, std::vector<std::string> command,
                            const std::string& device, std::chrono::milliseconds limit) {
  Spawn spawn;
  spawn.argv = std::move(command);
  spawn.argv.push_back(device);
  spawn.time_limit = limit;
  const Json made = run_to_end(agent, spawn);
  if (made.value("status", -1) == 0) return "";
  return "'" + spawn.argv[0] + "': " + made.value("error", "") + made.value("stderr", "");
}

}  // namespace

Json load_modules(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const std::string failed = load_module(name); !failed.empty()) return refuse(failed);
  }
  return {{"ok", true}};
}

Tree read_tree(const std::string& folder) {
  Tree tree;
  std::error_code failed;
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().lexically_relative(folder);
    if (it->is_directory(failed)) {
      tree[name + "/"] = "";
    } else if (it->is_regular_file(failed)) {
      std::ifstream file(it->path(), std::ios::binary);
      std::string bytes{std::istreambuf_iterator<char>(file), {}};
      tree[name] = file.bad() ? "(cannot be read)" : std::move(bytes);
    }
  }
  if (failed) tree["(" + failed.message() + ")"] = "";
  return tree;
}

Json make_disk(Agent& agent, const Json& request) {
  if (agent.disk) return refuse("the guest already has a disk");
  auto disk = std::make_shared<RecordedDisk>();
  disk->filesystem = request.at("filesystem");
  disk->folder = request.at("folder");
  const auto bytes = request.at("bytes").get<std::uint64_t>();
  for (const std::string& module : {std::string("nbd"), disk->filesystem}) {
    if (auto failed = load_module(module); !failed.empty()) return refuse(failed);
  }
  agent.disk = disk;  // its threads use it from here on
  // If sectors are as large as blocks, ext4 keeps pages that were read ahead; xfs only mounts with
  // the sector size of its mkfs.
  const std::size_t sector = disk->filesystem == "ext4" ? Pages::kBytes : kSectorBytes;
  for (const auto& failed :
       {disk->device.attach(bytes, kSectorBytes), disk->cut_device.attach(bytes, sector)}) {
    if (!failed.empty()) return refuse(failed);
  }
  const std::chrono::milliseconds limit(request.value("timeLimitMs", 30000));
  if (auto failed = make_filesystem(agent, request.at("mkfs"), disk->device.path(), limit);
      !failed.empty()) {
    return refuse(failed);
  }
  std::error_code ignored;
  fs::create_directories(disk->folder, ignored);
  if (mount(disk->device.path().c_str(), disk->folder.c_str(), disk->filesystem.c_str(), 0,
            nullptr) != 0) {
    return refuse(describe_errno(disk->folder, errno));
  }
  sync();
  disk->base = disk->device.start_log();
  return {{"ok", true}};
}

Json mark_disk(Agent& agent) {
  if (!agent.disk) return refuse("there is no disk");
  agent.disk->marks.push_back({agent.disk->device.position(), read_tree(agent.disk->folder)});
  return {{"ok", true}};
}

}  // namespace pinfold::guest
