#include "kernel_files.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "pinfold/base/read_file.hpp"

namespace pinfold::enforce {

std::string read_kernel_file(const std::string& path) { return read_file(path).value_or(""); }

std::string read_process_file(pid_t pid, std::string_view file) {
  return read_kernel_file(fmt::format("/proc/{}/{}", pid, file));
}

std::vector<std::string> list_kernel_directory(const std::string& path) {
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(path, failed), end; !failed && it != end;
       it.increment(failed)) {
    names.push_back(it->path().filename().string());
  }
  return names;
}

}  // namespace pinfold::enforce
