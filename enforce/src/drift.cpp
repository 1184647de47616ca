#include "pinfold/enforce/drift.hpp"

#include <fmt/format.h>

namespace pinfold::enforce {
namespace {

std::string shown(const CpuSet& set) { return set.empty() ? "its parent's" : set.to_string(); }

void compare(const GroupName& name, const Group& seen, const Group& wanted,
             std::vector<std::string>& out) {
  const auto add = [&](std::string_view file, const std::string& has, const std::string& expected) {
    out.push_back(
        fmt::format("{}: {} is '{}', expected '{}'", to_string(name), file, has, expected));
  };
  if (!seen.is_complete) out.push_back(to_string(name) + ": exists only in part");
  if (seen.cpus != wanted.cpus) add("cpuset.cpus", shown(seen.cpus), shown(wanted.cpus));
  if (seen.mems != wanted.mems) add("cpuset.mems", shown(seen.mems), shown(wanted.mems));
  for (const auto& [file, value] : wanted.values) {
    const auto has = seen.values.find(file);
    if (has == seen.values.end()) {
      add(file, "absent", value);
    } else if (has->second != value) {
      add(file, has->second, value);
    }
  }
}

}  // namespace

std::vector<std::string> drift(const Layout& seen, const Layout& wanted) {
  std::vector<std::string> out;
  for (const auto& [name, group] : wanted) {
    const auto has = seen.find(name);
    if (has == seen.end()) {
      out.push_back(fmt::format("{}: does not exist", to_string(name)));
    } else {
      compare(name, has->second, group, out);
    }
  }
  for (const auto& [name, group] : seen) {
    if (wanted.contains(name)) continue;
    out.push_back(fmt::format("{}: belongs to no active pod", to_string(name)));
  }
  return out;
}

}  // namespace pinfold::enforce
