#include "judge/state_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "judge/json_at.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::harness {
namespace {

constexpr const char* kNone = "(none)";
constexpr const char* kNoObject = "(no JSON object)";

/// Returns the NUMA nodes of all memory blocks.
std::string nodes_of(const Json& blocks) {
  CpuSet nodes;
  for (const Json& block : blocks) {
    for (const Json& node : json_at(block, {"numaAffinity"})) {
      const auto one = CpuSet::parse(node.dump());
      if (one) nodes |= *one;
    }
  }
  return nodes.to_string();
}

}  // namespace

std::string state_value(const std::string& text, const std::string& name,
                        const std::map<std::string, std::string>& uids) {
  const Json state = Json::parse(text, nullptr, false);
  if (!state.is_object()) return kNoObject;
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) {
    const Json& value = json_at(state, {name});
    return value.is_string() ? value.get<std::string>() : kNone;
  }
  const auto uid = uids.find(name.substr(0, slash));
  if (uid == uids.end()) return "(no waitPod has seen such a pod)";
  const Json& value = json_at(state, {"entries", uid->second, name.substr(slash + 1)});
  if (value.is_string()) return value.get<std::string>();
  return value.is_array() ? nodes_of(value) : kNone;
}

Result<DesiredContainer> assigned_by_files(const std::string& cpu_state,
                                           const std::string& memory_state,
                                           const std::string& container,
                                           const std::map<std::string, std::string>& uids) {
  const std::string cpus = state_value(cpu_state, container, uids);
  const std::string mems = state_value(memory_state, container, uids);
  if (cpus == kNoObject || mems == kNoObject) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: {}, expected a state file of a kubelet",
                    cpus == kNoObject ? "cpu_manager_state" : "memory_manager_state", kNoObject));
  }
  const bool is_exclusive = cpus != kNone;
  DesiredContainer desired;
  desired.name = container;
  desired.isolation = is_exclusive ? "container" : "host";
  desired.cpus = is_exclusive ? cpus : state_value(cpu_state, "defaultCpuSet", uids);
  desired.mems = mems == kNone ? "" : mems;
  return desired;
}

}  // namespace pinfold::harness
