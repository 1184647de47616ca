#include "kernel_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <utility>

#include "pinfold/base/read_directory.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::enforce {

std::string read_kernel_file(const std::string& path) { return read_file(path).value_or(""); }

std::string read_process_file(pid_t pid, std::string_view file) {
  return read_kernel_file(fmt::format("/proc/{}/{}", pid, file));
}

std::vector<std::string> list_kernel_directory(const std::string& path) {
  std::vector<std::string> names;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto entries = fd ? read_directory(fd.get()) : std::nullopt;
  if (!entries) return names;
  for (DirectoryEntry& entry : *entries) names.push_back(std::move(entry.name));
  return names;
}

}  // namespace pinfold::enforce
