#include "guest/guest_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>

#include "pinfold/harness/kernel_modules.hpp"
#include "pinfold/harness/kubelet.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/qemu_command.hpp"
#include "pinfold/harness/runtime.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

/// How many loads are kept for later scenarios: enough for those that run in parallel.
constexpr std::size_t kLoads = 4;

Result<std::vector<CpioEntry>> modules_of(const std::vector<std::string>& names,
                                          const Image& image) {
  std::vector<CpioEntry> entries;
  for (const std::string& name : names) {
    PINFOLD_LET_WRAP(auto some, module_entries(image.modules, name),
                     fmt::format("kernel {}", image.version));
    std::move(some.begin(), some.end(), std::back_inserter(entries));
  }
  return entries;
}

/// Returns the modules of a disk; none for a bare kernel image, which may have them built in.
Result<std::vector<CpioEntry>> modules_of_disk(const VmDisk& disk, const Image& image) {
  std::error_code failed;
  if (!std::filesystem::exists(image.modules / "modules.dep", failed)) {
    return std::vector<CpioEntry>();
  }
  return modules_of({"nbd", std::string(to_string(disk.filesystem))}, image);
}

Result<void> check_load(const GuestLoad& load) {
  if (load.bytes.size() <= kMaxLoad) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the scenario's programs have {} MiB with their libraries, expected at "
                          "most {} MiB",
                          load.bytes.size() >> 20U, kMaxLoad >> 20U));
}

Result<std::shared_ptr<const GuestLoad>> make_load(const std::vector<GuestProgram>& programs,
                                                   const Scenario& scenario, const Image& image) {
  PINFOLD_LET(auto modules, modules_of(scenario.modules, image));
  PINFOLD_LET(auto load, load_of(programs, std::move(modules), image.arch));
  PINFOLD_TRY(check_load(load));
  return std::make_shared<const GuestLoad>(std::move(load));
}

void append(InitramfsParts& parts, InitramfsParts more) {
  parts.programs.insert(parts.programs.end(), more.programs.begin(), more.programs.end());
  std::move(more.files.begin(), more.files.end(), std::back_inserter(parts.files));
}

Result<fs::path> make_initramfs(const Scenario& scenario, const RunOptions& options,
                                const Image& image) {
  const fs::path& agent = options.parts_for(image.arch).agent;
  InitramfsParts parts;
  if (const auto& disk = scenario.machine.disk) {
    const std::string maker = mkfs_command(*disk).front();
    parts.programs.push_back({maker, maker});
    PINFOLD_LET(parts.files, modules_of_disk(*disk, image));
  }
  if (!scenario.runtime.empty()) {
    PINFOLD_LET(auto runtime, prepare_runtime(options.image_script, scenario.runtime, image, agent,
                                              options.cri_client));
    append(parts, std::move(runtime));
  }
  if (!scenario.kubelets.empty()) {
    PINFOLD_LET(auto kubelets, prepare_kubelets(scenario.kubelets));
    append(parts, std::move(kubelets));
  }
  return build_initramfs(image, agent, parts.programs, parts.files);
}

/// What this process has made, by the files it was made from. Reading and hashing those takes a
/// tenth of the time of a short scenario. Thread-safe: scenarios may run in parallel.
class Made {
 public:
  std::shared_ptr<const GuestLoad> load(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(loads_.begin(), loads_.end(),
                                    [&](const auto& each) { return each.first == key; });
    return found == loads_.end() ? nullptr : found->second;
  }
  void add(const std::string& key, std::shared_ptr<const GuestLoad> load) {
    const std::lock_guard lock(mutex_);
    loads_.emplace_front(key, std::move(load));
    if (loads_.size() > kLoads) loads_.pop_back();
  }

  /// Returns "" if there is none, or if it is no longer in the cache.
  fs::path initramfs(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = initramfs_.find(key);
    if (found == initramfs_.end()) return "";
    std::error_code failed;  // mark as recently used
    fs::last_write_time(found->second, fs::file_time_type::clock::now(), failed);
    return failed ? "" : found->second;
  }
  void add(const std::string& key, const fs::path& initramfs) {
    const std::lock_guard lock(mutex_);
    initramfs_[key] = initramfs;
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<std::string, std::shared_ptr<const GuestLoad>>> loads_;
  std::map<std::string, fs::path> initramfs_;
};

}  // namespace

Result<GuestFiles> guest_files(const Scenario& scenario, const RunOptions& options,
                               const Image& image) {
  static Made made;
  const GuestParts& parts = options.parts_for(image.arch);
  std::vector<GuestProgram> programs;
  if (!parts.product.empty()) programs.push_back({parts.product, "/usr/bin/pinfold"});
  for (const std::string& program : scenario.programs) programs.push_back({program, program});

  const std::string kernel = file_facts(image.kernel) + file_facts(image.modules / "modules.dep");
  std::string load_key = std::string(to_string(image.arch)) + "\n";
  for (const GuestProgram& program : programs) load_key += file_facts(program.host_path);
  for (const std::string& module : scenario.modules) load_key += module + "\n";
  if (!scenario.modules.empty()) load_key += kernel;
  GuestFiles files;
  files.load = made.load(load_key);
  if (!files.load) {
    PINFOLD_LET(files.load, make_load(programs, scenario, image));
    made.add(load_key, files.load);
  }

  std::string key = kernel + file_facts(image.busybox) + file_facts(parts.agent);
  if (const auto& disk = scenario.machine.disk) key += mkfs_command(*disk).front() + "\n";
  if (!scenario.runtime.empty()) key += scenario.runtime + "\n" + file_facts(options.cri_client);
  for (const fs::path& kubelet : scenario.kubelets) key += file_facts(kubelet);
  files.initramfs = made.initramfs(key);
  if (files.initramfs.empty()) {
    PINFOLD_LET(files.initramfs, make_initramfs(scenario, options, image));
    made.add(key, files.initramfs);
  }
  return files;
}

}  // namespace pinfold::harness
