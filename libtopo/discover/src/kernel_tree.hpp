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

  /// Reads a file without trailing white space and NUL bytes (with which captured files are
  /// padded); nullopt if it does not exist.
  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& path) const;

  /// Reads and parses a file; parse errors are wrapped with the path.
  template <class Value>
  [[nodiscard]] Result<std::optional<Value>> read(const std::string& path,
                                                  Result<Value> (*parse)(std::string_view)) const {
    PINFOLD_LET(auto text, read(path));
    if (!text) return std::optional<Value>{};
    PINFOLD_LET_WRAP(auto value, parse(*text), shown(path));
    return std::optional<Value>(std::move(value));
  }

  /// Reads a CPU set from the file `list`, or from the file `mask` of older kernels.
  [[nodiscard]] Result<std::optional<CpuSet>> read_cpus(const std::string& list,
                                                        const std::string& mask) const;

  /// Returns the names in a directory, ascending and without dot files; none if it does not exist.
  [[nodiscard]] Result<std::vector<std::string>> entries(const std::string& directory) const;

  /// Returns the numbers N of the entries prefix + N + suffix of a directory, ascending; none if
  /// the directory does not exist.
  [[nodiscard]] Result<std::vector<std::int32_t>> numbered(const std::string& directory,
                                                           std::string_view prefix,
                                                           std::string_view suffix = "") const;

  /// Returns a path for use in a message: 'root/path'.
  [[nodiscard]] std::string shown(std::string_view path) const;

 private:
  KernelTree(std::string root, UniqueFd fd) : root_(std::move(root)), fd_(std::move(fd)) {}

  std::string root_;  // ends in a slash
  UniqueFd fd_;
};

}  // namespace pinfold
