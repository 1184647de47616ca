#include "pinfold/enforce/drift.hpp"

#include <fmt/format.h>

namespace pinfold::enforce {
namespace {

std::string shown(const CpuSet& set) { return set.empty() ? "its parent's" : set.to_string(); }

void compare(const GroupName& name, const GroupSettings& observed, const GroupSettings& desired,
             std::vector<std::string>& out) {
  const auto add = [&](std::string_view file, const std::string& has, const std::string& expected) {
    out.push_back(
        fmt::format("{}: {} is '{}', expected '{}'", to_string(name), file, has, expected));
  };
  if (!observed.problem.empty()) {
    out.push_back(fmt::format("{}: {}", to_string(name), observed.problem));
    return;
  }
  if (!observed.is_complete) out.push_back(to_string(name) + ": exists only in part");
  if (observed.cpus != desired.cpus) add("cpuset.cpus", shown(observed.cpus), shown(desired.cpus));
  if (observed.mems != desired.mems) add("cpuset.mems", shown(observed.mems), shown(desired.mems));
  for (const auto& [file, value] : desired.values) {
    const auto has = observed.values.find(file);
    if (has == observed.values.end()) {
      add(file, "absent", value);
    } else if (has->second != value) {
      add(file, has->second, value);
    }
  }
}

}  // namespace

std::vector<std::string> drift_of(const GroupName& name, const Layout& observed,
                                  const Layout& desired) {
  std::vector<std::string> out;
  const auto has = observed.find(name);
  const auto should = desired.find(name);
  if (should == desired.end()) return out;
  if (has == observed.end()) {
    out.push_back(fmt::format("{}: does not exist", to_string(name)));
  } else {
    compare(name, has->second, should->second, out);
  }
  return out;
}

std::vector<std::string> drift(const Layout& observed, const Layout& desired) {
  std::vector<std::string> out;
  for (const auto& [name, group] : desired) {
    for (std::string& line : drift_of(name, observed, desired)) out.push_back(std::move(line));
  }
  for (const auto& [name, group] : observed) {
    if (desired.contains(name)) continue;
    out.push_back(fmt::format("{}: belongs to no active pod", to_string(name)));
  }
  return out;
}

}  // namespace pinfold::enforce
