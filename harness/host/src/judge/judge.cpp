#include "pinfold/harness/judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

std::string trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool same_list(const std::string& a, const std::string& b) {
  const auto left = CpuSet::parse(a);
  const auto right = CpuSet::parse(b);
  return left && right && *left == *right;
}

bool is_subset(const std::string& part, const std::string& whole) {
  const auto inner = CpuSet::parse(part);
  const auto outer = CpuSet::parse(whole);
  return inner && outer && !inner->empty() && outer->contains_all(*inner);
}

std::string text_field(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void judge_process(ContainerRow& row, const std::string& cpus, const std::string& mems) {
  const auto check = [&row](const char* name, const std::string& expected,
                            const std::string& observed) {
    row.checks.push_back(check_value(row.desired.name + " " + name, name, expected, observed));
  };
  check("Cpus_allowed_list", cpus, row.observed.cpus_allowed);
  check("Mems_allowed_list", mems, row.observed.mems_allowed);
  row.checks.push_back({row.desired.name + " pageNodes", "within " + mems, row.observed.page_nodes,
                        is_subset(row.observed.page_nodes, mems)});
}

/// Checks that no other container's effective set contains CPUs of an exclusive container.
void judge_overlap(ContainerRow& row, const std::vector<DesiredContainer>& desired,
                   const std::map<std::string, ContainerValues>& kernel) {
  if (row.desired.isolation != "container") return;
  const auto mine = CpuSet::parse(row.desired.cpus);
  for (const DesiredContainer& other : desired) {
    const auto found = kernel.find(other.name);
    if (other.name == row.desired.name || found == kernel.end()) continue;
    const auto theirs = CpuSet::parse(found->second.cpus);
    if (!mine || !theirs || !mine->intersects(*theirs)) continue;
    row.checks.push_back({fmt::format("{} shared with {}", row.desired.name, other.name), "no CPU",
                          (*mine & *theirs).to_string(), false});
  }
}

}  // namespace

bool is_list_value(std::string_view name) {
  return (name.starts_with("cpuset.cpus") && name != "cpuset.cpus.partition") ||
         name.starts_with("cpuset.mems") || name.starts_with("cpuset.effective_") ||
         name == "Cpus_allowed_list" || name == "Mems_allowed_list" || name == "pageNodes";
}

CheckedValue check_value(std::string what, std::string_view name, std::string expected,
                         std::string observed) {
  expected = trim(expected);
  observed = trim(observed);
  const bool ok = expected == observed || (is_list_value(name) && same_list(expected, observed));
  return {std::move(what), std::move(expected), std::move(observed), ok};
}

bool ContainerRow::ok() const {
  return std::all_of(checks.begin(), checks.end(),
                     [](const CheckedValue& check) { return check.ok; });
}

Result<std::vector<DesiredContainer>> desired_containers(const Json& status) {
  std::vector<DesiredContainer> containers;
  const auto refuse = [](const char* what) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("the product's status: {}", what));
  };
  if (!status.is_object() || !status.contains("pods") || !status["pods"].is_array()) {
    return refuse("expected a list 'pods'");
  }
  for (const Json& pod : status["pods"]) {
    if (!pod.is_object() || !pod.contains("containers") || !pod["containers"].is_array()) {
      return refuse("pods: expected a list 'containers'");
    }
    for (const Json& container : pod["containers"]) {
      if (!container.is_object()) return refuse("containers: expected objects");
      DesiredContainer one{text_field(pod, "name") + "/" + text_field(container, "name"),
                           text_field(container, "isolation"), text_field(container, "cgroupPath"),
                           text_field(container, "cpus"), text_field(container, "mems")};
      if (!one.cgroup.starts_with('/')) return refuse("cgroupPath: expected a full path");
      containers.push_back(std::move(one));
    }
  }
  return containers;
}

std::vector<ContainerRow> judge_containers(const std::vector<DesiredContainer>& desired,
                                           const std::map<std::string, ContainerValues>& kernel,
                                           const Unset& unset) {
  std::vector<ContainerRow> rows;
  for (const DesiredContainer& container : desired) {
    ContainerRow row{container, {}, {}};
    const auto found = kernel.find(container.name);
    if (found == kernel.end()) {
      row.checks.push_back({container.name, "its cgroup", "none", false});
      rows.push_back(std::move(row));
      continue;
    }
    row.observed = found->second;
    const std::string cpus = container.cpus.empty() ? unset.cpus.to_string() : container.cpus;
    const std::string mems = container.mems.empty() ? unset.mems.to_string() : container.mems;
    const auto check = [&row](const char* name, const std::string& expected,
                              const std::string& observed) {
      row.checks.push_back(check_value(row.desired.name + " " + name, name, expected, observed));
    };
    check("cpuset.cpus.effective", cpus, row.observed.cpus);
    check("cpuset.mems.effective", mems, row.observed.mems);
    if (row.observed.has_process) judge_process(row, cpus, mems);
    judge_overlap(row, desired, kernel);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string nodes_of_pages(const Json& pages) {
  CpuSet nodes;
  bool missing = false;
  if (!pages.is_object()) return "?";
  for (const auto& [key, count] : pages.items()) {
    const auto node = CpuSet::parse(key);
    if (node) {
      nodes = nodes | *node;
    } else {
      missing = true;
    }
  }
  return nodes.to_string() + (missing ? "?" : "");
}

}  // namespace pinfold::harness
