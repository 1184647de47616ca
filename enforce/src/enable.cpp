#include "enable.hpp"

#include <fmt/format.h>

namespace pinfold::enforce {
namespace {

constexpr const char* kSubtreeControl = "cgroup.subtree_control";

}  // namespace

Result<bool> is_enabled(const GroupReader::Part& part, Controller controller) {
  PINFOLD_LET(auto enabled, part.fs->read(part.path, kSubtreeControl));
  return (" " + enabled + " ").find(fmt::format(" {} ", to_string(controller))) !=
         std::string::npos;
}

Result<void> enable(const Group::Part& part, Controller controller) {
  PINFOLD_LET(auto enabled, is_enabled(part, controller));
  if (enabled) return {};
  return switch_on(part, controller);
}

Result<void> switch_on(const Group::Part& part, Controller controller) {
  return Group::fs(part).write(part.path, kSubtreeControl,
                               fmt::format("+{}", to_string(controller)));
}

}  // namespace pinfold::enforce
