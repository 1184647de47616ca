#include "pinfold/harness/temporary_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

// A directory is locked before it gets the prefix that allows sweeping.
constexpr const char* kPrefix = "pinfold-vm-";
constexpr const char* kDraftPrefix = "pinfold-new-";

/// Returns a short path: unix socket paths are limited to about a hundred characters.
fs::path temporary_root() {
  std::error_code failed;
  const fs::path root = fs::temp_directory_path(failed);
  return failed || root.string().size() > 60 ? fs::path("/tmp") : root;
}

UniqueFd lock_folder(const fs::path& folder) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return fd;
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make() {
  std::string draft = (temporary_root() / (std::string(kDraftPrefix) + "XXXXXX")).string();
  if (mkdtemp(draft.data()) == nullptr) return fail_errno(errno, fmt::format("make '{}'", draft));
  TemporaryFolder folder;
  folder.lock_ = lock_folder(draft);
  folder.path_ = temporary_root() / (kPrefix + draft.substr(draft.size() - 6));
  std::error_code failed;
  fs::rename(draft, folder.path_, failed);
  if (failed) return fail_errno(failed.value(), fmt::format("make '{}'", folder.path_.string()));
  return folder;
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code failed;
  if (!path_.empty()) fs::remove_all(path_, failed);
}

int sweep_temporary_folders() {
  std::error_code failed;
  int swept = 0;
  for (fs::directory_iterator it(temporary_root(), failed), end; !failed && it != end;
       it.increment(failed)) {
    const fs::path folder = it->path();
    std::error_code ignored;
    if (!folder.filename().string().starts_with(kPrefix) || !lock_folder(folder)) continue;
    fs::remove_all(folder, ignored);
    swept += ignored ? 0 : 1;
  }
  return swept;
}

}  // namespace pinfold::harness
