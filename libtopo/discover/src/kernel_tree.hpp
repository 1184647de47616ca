#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/discover/kernel_files.hpp"

namespace pinfold {

/// A directory with sys/ and proc/; every path is relative to it. Errors name the full path.
class KernelTree {
 public:
  [[nodiscard]] static Result<KernelTree> open(std::string root);

  /// The content without trailing white space and NUL bytes (captured files are padded with them);
  /// nullopt if the file does not exist.
  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& path) const;

  /// The parsed content; parse errors are wrapped with the path.
  template <class Value>
  [[nodiscard]] Result<std::optional<Value>> read(const std::string& path,
                                                  Result<Value> (*parse)(std::string_view)) const {
    PINFOLD_LET(auto text, read(path));
    if (!text) return std::optional<Value>{};
    PINFOLD_LET_WRAP(auto value, parse(*text), shown(path));
    return std::optional<Value>(std::move(value));
  }

  /// A CPU set from the file `list`, or from the file `mask`, which older kernels have instead.
  [[nodiscard]] Result<std::optional<CpuSet>> read_cpus(const std::string& list,
                                                        const std::string& mask) const;

  /// The names in a directory, ascending and without dot files; none if it does not exist.
  [[nodiscard]] Result<std::vector<std::string>> entries(const std::string& directory) const;

  /// The numbers N of the entries prefix + N + suffix of a directory, ascending; none if the
  /// directory does not exist.
  [[nodiscard]] Result<std::vector<std::int32_t>> numbered(const std::string& directory,
                                                           std::string_view prefix,
                                                           std::string_view suffix = "") const;

  /// A path for use in a message: 'root/path'.
  [[nodiscard]] std::string shown(std::string_view path) const;

 private:
  KernelTree(std::string root, UniqueFd fd) : root_(std::move(root)), fd_(std::move(fd)) {}

  std::string root_;  // ends in a slash
  UniqueFd fd_;
};

}  // namespace pinfold
