#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold::audit {

/// Files of one kind that could not be read or parsed.
struct Problem {
  std::string message;    ///< for the first file; names it
  std::size_t count = 0;  ///< of files

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// Problems by kind of file and error, so that one cause is reported once.
class Problems {
 public:
  /// `kind`: the path without its variable parts, such as "/proc/PID/numa_maps".
  void add(const std::string& kind, const Error& error);
  [[nodiscard]] const std::map<std::string, Problem>& all() const { return problems_; }

 private:
  std::map<std::string, Problem> problems_;
};

}  // namespace pinfold::audit
