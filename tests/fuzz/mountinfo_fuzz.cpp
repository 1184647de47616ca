#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pinfold/enforce/mounts.hpp"

/// The first line is the root to locate, the rest is mountinfo. Every result is inside a cgroup
/// mount and has the cpuset controller.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::enforce;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  const std::string root(text.substr(0, end));
  const auto mounts =
      parse_mountinfo(end == std::string_view::npos ? std::string_view() : text.substr(end + 1));
  if (!mounts) return 0;
  for (const CgroupVersion version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
    (void)group_of_process(root, *mounts, version);
    (void)group_of_process("0::" + root, *mounts, version);
  }
  const auto found = locate(*mounts, root, [](const std::string&) { return "cpuset cpu memory"; });
  if (!found) return 0;
  if (found->empty() || found->front().controllers.front() != Controller::kCpuset) std::abort();
  for (const HierarchyRoot& one : *found) {
    if (one.directory.empty() || one.controllers.empty()) std::abort();
  }
  return 0;
}
