#include "scenario/cgroup_paths.hpp"

#include <fmt/format.h>

namespace pinfold::harness {
namespace {

const std::string kMounts = "/sys/fs/cgroup";

}  // namespace

std::string cpuset_mount(CgroupMode mode) {
  switch (mode) {
    case CgroupMode::kV2:
      return kMounts;
    case CgroupMode::kV1:
      return kMounts + "/cpuset";
    case CgroupMode::kHybrid:
      return kMounts + "/unified";
  }
  return kMounts;
}

std::string product_root(CgroupMode mode) { return cpuset_mount(mode) + "/pinfold"; }

std::string pod_cgroup(std::string_view uid, std::string_view qos) {
  const char* const parent = qos == "Burstable"    ? "/burstable"
                             : qos == "BestEffort" ? "/besteffort"
                                                   : "";
  return fmt::format("/kubepods{}/pod{}", parent, uid);
}

std::string group_file(CgroupMode mode, const std::string& group, const std::string& file) {
  const std::string home = cpuset_mount(mode);
  const std::string controller = file.substr(0, file.find('.'));
  const bool of_v1 = mode == CgroupMode::kV1 || controller == "cpu" || controller == "cpuacct" ||
                     controller == "hugetlb";
  if (mode == CgroupMode::kV2 || !of_v1 || controller == "cgroup" || !group.starts_with(home)) {
    return group + "/" + file;
  }
  return kMounts + "/" + controller + group.substr(home.size()) + "/" + file;
}

std::string effective_file(CgroupMode mode, const std::string& what) {
  return mode == CgroupMode::kV1 ? "cpuset.effective_" + what : "cpuset." + what + ".effective";
}

}  // namespace pinfold::harness
