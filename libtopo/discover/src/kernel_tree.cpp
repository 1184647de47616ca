#include "kernel_tree.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "pinfold/base/read_directory.hpp"

namespace pinfold {
namespace {

// The largest files read here are meminfo and CPU masks: a few kB.
constexpr std::size_t kMaxFile = std::size_t{1} << 20U;

bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

std::optional<std::int32_t> number_between(std::string_view name, std::string_view prefix,
                                           std::string_view suffix) {
  if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) ||
      !name.ends_with(suffix)) {
    return std::nullopt;
  }
  const char* const begin = name.data() + prefix.size();
  const char* const end = name.data() + name.size() - suffix.size();
  std::int32_t number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || stop != end || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Result<KernelTree> KernelTree::open(std::string root) {
  UniqueFd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, fmt::format("open '{}'", root));
  if (!root.ends_with('/')) root += '/';
  return KernelTree(std::move(root), std::move(fd));
}

std::string KernelTree::shown(std::string_view path) const {
  return fmt::format("'{}{}'", root_, path);
}

Result<std::optional<std::string>> KernelTree::read(const std::string& path) const {
  // Non-blocking, because a captured tree may contain anything, even a fifo.
  const UniqueFd file(::openat(fd_.get(), path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    if (is_missing(errno)) return std::optional<std::string>{};
    return fail_errno(errno, fmt::format("open {}", shown(path)));
  }
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(errno, fmt::format("read {}", shown(path)));
    if (count == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kMaxFile) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: expected at most {} bytes", shown(path), kMaxFile));
    }
  }
  constexpr std::string_view kPadding(" \t\n\0", 4);
  text.erase(text.find_last_not_of(kPadding) + 1);
  return std::optional<std::string>(std::move(text));
}

Result<std::optional<CpuSet>> KernelTree::read_cpus(const std::string& list,
                                                    const std::string& mask) const {
  auto cpus = read(list, parse_cpu_list);
  if (!cpus || *cpus) return cpus;
  return read(mask, parse_cpu_mask);
}

Result<std::vector<std::string>> KernelTree::entries(const std::string& directory) const {
  std::vector<std::string> names;
  const UniqueFd fd(::openat(fd_.get(), directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    if (is_missing(errno)) return names;
    return fail_errno(errno, fmt::format("open {}", shown(directory)));
  }
  auto entries = read_directory(fd.get());
  if (!entries) return fail_errno(errno, fmt::format("list {}", shown(directory)));
  for (DirectoryEntry& entry : *entries) {
    if (!entry.name.starts_with('.')) names.push_back(std::move(entry.name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::int32_t>> KernelTree::numbered(const std::string& directory,
                                                       std::string_view prefix,
                                                       std::string_view suffix) const {
  PINFOLD_LET(auto names, entries(directory));
  std::vector<std::int32_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = number_between(name, prefix, suffix)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  // "cpu1" and "cpu01" would be the same number; the kernel never pads.
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

}  // namespace pinfold
