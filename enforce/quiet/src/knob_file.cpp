#include "knob_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "pinfold/base/read_file.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::quiet {

Result<std::string> read_value(const std::string& path) {
  PINFOLD_LET(auto text, read_file(path));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<void> write_value(const std::string& path, std::string_view value) {
  const auto failed = [&](int error) {
    return fail_errno(error, fmt::format("write '{}' to '{}'", value, path));
  };
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return failed(errno);
  // An empty write would do nothing, so an empty value is a line without CPUs.
  const std::string line = std::string(value) + "\n";
  ssize_t written = -1;
  do {
    written = ::write(fd.get(), line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  return written < 0 ? Result<void>(failed(errno)) : Result<void>();
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator entry(directory, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    names.push_back(entry->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace pinfold::quiet
