#include "pinfold/audit/problems.hpp"

#include <fmt/format.h>

namespace pinfold::audit {

void Problems::add(const std::string& kind, const Error& error) {
  Problem& problem =
      problems_[fmt::format("{}: {}/{}", kind, to_string(error.code), error.sys_errno)];
  if (problem.count++ == 0) problem.message = error.message;
}

}  // namespace pinfold::audit
