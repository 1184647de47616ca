#include "scenario/scenario_expect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "pinfold/api/pod.hpp"
#include "pinfold/harness/json.hpp"
#include "scenario/cgroup_paths.hpp"

namespace pinfold::harness {
namespace {

using Of = Expectation::Of;

struct ExpectationSubject {
  const char* key;
  Of of;
};
constexpr std::array<ExpectationSubject, 7> kSubjects = {{{"container", Of::kContainer},
                                                          {"cgroup", Of::kCgroup},
                                                          {"program", Of::kProgram},
                                                          {"processesOf", Of::kProcesses},
                                                          {"file", Of::kFile},
                                                          {"stateFile", Of::kStateFile},
                                                          {"disjoint", Of::kDisjoint}}};

/// The kubelet's state files whose values can be expected.
constexpr std::string_view kStateFiles[] = {"cpu_manager_state", "memory_manager_state"};

bool is_subject(std::string_view key) {
  return std::any_of(kSubjects.begin(), kSubjects.end(),
                     [&](const ExpectationSubject& subject) { return key == subject.key; });
}

/// Returns true for "pages/1", with a NUMA node after the slash.
bool is_page_count(std::string_view key) {
  const std::size_t slash = key.find('/');
  const std::string_view name = key.substr(0, slash);
  if (slash == std::string_view::npos || (name != "pages" && name != "pageShare")) return false;
  const auto node = CpuSet::parse(key.substr(slash + 1));
  return node && node->size() == 1;
}

/// Returns true for "cpu.max", or a line of a file: "cpu.stat/nr_throttled".
bool is_group_value(std::string_view key) {
  const std::size_t slash = key.find('/');
  const std::string_view file = key.substr(0, slash);
  return file.find('.') != std::string_view::npos && is_safe_name(file) &&
         (slash == std::string_view::npos || is_safe_name(key.substr(slash + 1)));
}

/// Returns true for "pod/container".
bool is_container(std::string_view key) {
  const std::size_t slash = key.find('/');
  return slash != std::string_view::npos && is_safe_name(key.substr(0, slash)) &&
         is_safe_name(key.substr(slash + 1));
}

/// Returns true if such a subject can have this value.
bool is_known_value(Of of, std::string_view key) {
  const bool allowed = key == "Cpus_allowed_list" || key == "Mems_allowed_list";
  const bool of_process = allowed || key == "pageNodes" || is_page_count(key);
  switch (of) {
    case Of::kContainer:
      return of_process || is_group_value(key);
    case Of::kCgroup:
      return is_group_value(key);
    case Of::kProgram:
      return of_process;
    case Of::kProcesses:
      return allowed || key == "count";
    case Of::kFile:
      return key == "equals" || key == "contains";
    case Of::kStateFile:
      return key == "policyName" || key == "defaultCpuSet" || is_container(key);
    case Of::kDisjoint:
      return false;
  }
  return false;
}

/// Reads a text, or bounds: {atLeast: 1, atMost: 10}.
ExpectedValue read_expected(FieldReader& fields, const std::string& key,
                            std::optional<Complaint>& complaint) {
  const Json* value = fields.find(key.c_str());
  if (value == nullptr || !value->is_object()) return {fields.text(key.c_str(), ""), {}, {}};
  FieldReader bounds(*value, fields.path_of(key.c_str()), complaint);
  ExpectedValue expected_value{"", bounds.number("atLeast"), bounds.number("atMost")};
  bounds.finish();
  if (!expected_value.at_least && !expected_value.at_most) {
    fields.complain(key.c_str(), show_value(*value) + ": expected atLeast or atMost");
  }
  return expected_value;
}

/// Returns the platform's name for "cpuset.cpus.effective" and the like.
std::string file_on(const Platform& platform, const std::string& key) {
  for (const char* what : {"cpus", "mems"}) {
    if (key == effective_file(CgroupMode::kV2, what)) return effective_file(platform.cgroup, what);
  }
  return key;
}

/// Returns nullopt if the expectation is not for the current platform.
std::optional<Expectation> read_expectation(const Json& value, FieldPath path,
                                            const PlatformScope& scope,
                                            std::optional<Complaint>& complaint) {
  Expectation expectation;
  FieldReader fields(value, std::move(path), complaint);
  if (!narrow(fields, scope)) return std::nullopt;
  int subjects = 0;
  for (const auto& [key, of] : kSubjects) {
    if (fields.find(key) == nullptr) continue;
    ++subjects;
    expectation.of = of;
    if (of == Of::kDisjoint) {
      expectation.disjoint = fields.texts(key);
    } else if (of == Of::kStateFile) {
      expectation.subject =
          kStateFiles[fields.chosen(key, {std::begin(kStateFiles), std::end(kStateFiles)})];
    } else {
      expectation.subject = fields.text(key, "");
    }
  }
  if (subjects != 1) {
    fields.complain("file",
                    "expected one of container, cgroup, program, processesOf, file, stateFile, "
                    "disjoint");
  }
  if (fields.failed()) return expectation;
  for (const auto& [key, member] : value.items()) {
    if (is_subject(key) || key == "for") continue;
    expectation.values.emplace_back(file_on(scope.current, key),
                                    read_expected(fields, key, complaint));
    if (!is_known_value(expectation.of, key)) {
      fields.complain(key.c_str(), "the kernel has no such value of this subject");
    }
    if (key == "contains" && member.is_object()) {
      fields.complain(key.c_str(), show_value(member) + ": expected a string");
    }
  }
  if (expectation.of == Of::kDisjoint) {
    if (expectation.disjoint.size() < 2) fields.complain("disjoint", "expected at least two");
  } else if (expectation.values.empty()) {
    fields.complain("equals", "expected at least one value");
  }
  return expectation;
}

}  // namespace

ExpectStep read_expect(const Json& list, const FieldPath& path, const PlatformScope& scope,
                       std::optional<Complaint>& complaint) {
  ExpectStep step;
  if (!list.is_array() || list.empty()) {
    complaint = Complaint{path, show_value(list) + ": expected a list of expectations"};
    return step;
  }
  for (std::size_t i = 0; i < list.size() && !complaint; ++i) {
    FieldPath one = path;
    one.push_back(std::to_string(i));
    auto expectation = read_expectation(list[i], std::move(one), scope, complaint);
    if (expectation) step.expectations.push_back(std::move(*expectation));
  }
  if (!complaint && step.expectations.empty()) {
    complaint = Complaint{path, fmt::format("expected an expectation for {}, or `for` on the step",
                                            to_string(scope.current))};
  }
  return step;
}

}  // namespace pinfold::harness
