#include "pinfold/agent/assigned_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "pinfold/api/assigned_variables.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/base/unique_fd.hpp"

// How it works
//
//   DIRECTORY/POD/CONTAINER/cpus    -> ..data/cpus, one link for each file
//   DIRECTORY/POD/CONTAINER/..data  -> ..1
//   DIRECTORY/POD/CONTAINER/..1/cpus
//
// A change writes the files into ..2 and renames a new link over ..data, so that a reader that
// opens ..data sees all old or all new files. The next change uses ..1 again: a reader that has
// just followed the old link can still read. Nothing is synced, because the state says what the
// files should hold.

namespace pinfold::agent {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kFileMode = 0644;
constexpr const char* kData = "..data";
constexpr const char* kNewData = "..new";

Result<void> done(std::string_view verb, const fs::path& path, const std::error_code& code) {
  if (!code) return {};
  return fail_errno(code.value(), fmt::format("{} '{}'", verb, path.string()));
}

/// Makes a directory that everybody can read, regardless of the umask.
Result<void> make_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    return fail_errno(errno, fmt::format("make '{}'", path.string()));
  }
  if (::chmod(path.c_str(), kDirectoryMode) != 0) {
    return fail_errno(errno, fmt::format("change the mode of '{}'", path.string()));
  }
  return {};
}

Result<void> write_new(const fs::path& path, const std::string& text) {
  const UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  const bool is_written =
      fd && ::fchmod(fd.get(), kFileMode) == 0 &&
      ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (is_written) return {};
  return fail_errno(errno == 0 ? ENOSPC : errno, fmt::format("write '{}'", path.string()));
}

Result<void> remove_tree(const fs::path& path) {
  std::error_code code;
  fs::remove_all(path, code);
  return done("remove", path, code);
}

/// Makes a link, or replaces it in one step.
Result<void> put_link(const fs::path& directory, const char* name, const fs::path& target) {
  std::error_code code;
  fs::remove(directory / kNewData, code);
  fs::create_symlink(target, directory / kNewData, code);
  PINFOLD_TRY(done("link", directory / kNewData, code));
  fs::rename(directory / kNewData, directory / name, code);
  return done("link", directory / name, code);
}

Result<void> write_files(const fs::path& directory, const AssignedValues& values) {
  std::error_code code;
  const fs::path next = fs::read_symlink(directory / kData, code) == "..1" ? "..2" : "..1";
  PINFOLD_TRY(remove_tree(directory / next));
  PINFOLD_TRY(make_directory(directory / next));
  for (const auto& [name, value] : assigned_fields()) {
    const std::string& text = values.*value;
    PINFOLD_TRY(write_new(directory / next / name, text.empty() ? "" : text + "\n"));
  }
  PINFOLD_TRY(put_link(directory, kData, next));
  for (const auto& [name, value] : assigned_fields()) {
    if (fs::is_symlink(directory / name, code)) continue;
    PINFOLD_TRY(put_link(directory, name, fs::path(kData) / name));
  }
  return {};
}

/// Reads what an earlier process wrote. Unreadable values are "", and so are written again.
AssignedValues read_files(const fs::path& directory) {
  AssignedValues values;
  for (const auto& [name, value] : assigned_fields()) {
    std::string text = read_file(directory / kData / name).value_or("");
    if (!text.empty() && text.back() == '\n') text.pop_back();
    values.*value = std::move(text);
  }
  return values;
}

std::vector<fs::path> directories_in(const fs::path& path) {
  std::vector<fs::path> found;
  std::error_code code;
  for (fs::directory_iterator it(path, code); !code && it != fs::directory_iterator();
       it.increment(code)) {
    std::error_code ignored;
    if (it->symlink_status(ignored).type() == fs::file_type::directory) found.push_back(it->path());
  }
  return found;
}

/// Returns all memory nodes that a container without cpuset.mems can use.
CpuSet nodes_with_memory(const Node& node) {
  CpuSet nodes;
  for (const NumaNode& numa : node.machine().numa_nodes()) {
    if (numa.memory > 0) nodes.insert(CpuId{numa.id.value});
  }
  return nodes;
}

}  // namespace

const std::vector<AssignedField>& assigned_fields() {
  static const std::vector<AssignedField> kFields = {
      {"cpus", &AssignedValues::cpus},
      {"mems", &AssignedValues::mems},
      {kAssignedCpuset, &AssignedValues::exclusive_cpus},
      {kAssignedMemset, &AssignedValues::exclusive_mems}};
  return kFields;
}

const std::vector<std::string>& own_mount_options() {
  static const std::vector<std::string> kOptions = {"bind",  "ro",     "nosuid",
                                                    "nodev", "noexec", "rprivate"};
  return kOptions;
}

std::vector<std::pair<std::string, std::string>> own_variables(const AssignedValues& values,
                                                               const AssignedVariables& asked) {
  std::vector<std::pair<std::string, std::string>> variables = {{"PINFOLD_CPUS", values.cpus},
                                                                {"PINFOLD_MEMS", values.mems}};
  for (const auto& [name, source] : asked) {
    variables.emplace_back(
        name, source == kAssignedCpuset ? values.exclusive_cpus : values.exclusive_mems);
  }
  return variables;
}

std::optional<AssignedValues> assigned_values(const Node& node, const NodeState& state,
                                              const Desired& desired,
                                              const ContainerId& container) {
  const auto group = desired.layout.find(enforce::GroupName(container));
  if (group == desired.layout.end()) return std::nullopt;
  const auto resources = container_resources(node, state, container);
  if (!resources) return std::nullopt;
  const auto& [cpus, mems] = std::tie(group->second.cpus, group->second.mems);
  AssignedValues values;
  values.cpus = (cpus.empty() ? node.machine().all_cpus() : cpus).to_string();
  values.mems = (mems.empty() ? nodes_with_memory(node) : mems).to_string();
  values.exclusive_cpus = resources->exclusive_cpus.to_string();
  if (!resources->memory.empty()) values.exclusive_mems = values.mems;
  return values;
}

AssignedFiles::AssignedFiles(std::string directory) : directory_(std::move(directory)) {
  for (const fs::path& pod : directories_in(directory_)) {
    for (const fs::path& container : directories_in(pod)) {
      const ContainerId id{PodUid(pod.filename().string()), container.filename().string()};
      published_.emplace(id, read_files(container));
    }
  }
}

std::vector<ContainerId> AssignedFiles::containers() const {
  std::vector<ContainerId> ids;
  ids.reserve(published_.size());
  for (const auto& [id, values] : published_) ids.push_back(id);
  return ids;
}

Result<std::string> AssignedFiles::publish(const ContainerId& container,
                                           const AssignedValues& values) {
  if (directory_.empty()) {
    return fail(ErrorCode::kUnsupported, "the state directory is not in the file system");
  }
  for (const std::string& name : {container.pod.value, container.name}) {
    if (!is_safe_name(name)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}': expected a name that is safe in a path", name));
    }
  }
  const fs::path pod = fs::path(directory_) / container.pod.value;
  const fs::path own = pod / container.name;
  const auto known = published_.find(container);
  if (known != published_.end() && known->second == values) return own.string();
  for (const fs::path& path : {fs::path(directory_), pod, own}) PINFOLD_TRY(make_directory(path));
  PINFOLD_TRY(write_files(own, values));
  published_.insert_or_assign(container, values);
  return own.string();
}

Result<void> AssignedFiles::withdraw(const ContainerId& container) {
  const auto known = published_.find(container);
  if (known == published_.end()) return {};
  const fs::path pod = fs::path(directory_) / container.pod.value;
  PINFOLD_TRY(remove_tree(pod / container.name));
  published_.erase(known);
  std::error_code ignored;
  fs::remove(pod, ignored);  // unless it has other containers
  return {};
}

}  // namespace pinfold::agent
