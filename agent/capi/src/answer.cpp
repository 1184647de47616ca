#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "call.hpp"
#include "handles.hpp"

/// Answers about pods, and what needs no node.
namespace pinfold::capi {
namespace {

constexpr std::size_t kSmallestContainer = sizeof(pinfold_container);

std::int32_t number_of(Isolation isolation) {
  switch (isolation) {
    case Isolation::kContainer:
      return PINFOLD_ISOLATION_CONTAINER;
    case Isolation::kPod:
      return PINFOLD_ISOLATION_POD;
    case Isolation::kHost:
      break;
  }
  return PINFOLD_ISOLATION_HOST;
}

pinfold_pod::Container make_container(agent::ContainerView view, const std::string& root) {
  pinfold_pod::Container out;
  out.cpus = view.wanted.cpus.to_string();
  out.exclusive_cpus = view.decided.exclusive_cpus.to_string();
  out.cgroup_path = root.empty() ? "" : root + "/" + view.cgroup;
  out.view = std::move(view);
  return out;
}

pinfold_container describe(const pinfold_pod::Container& container) {
  const ContainerResources& decided = container.view.decided;
  const LinuxResources& values = decided.linux_resources;
  pinfold_container out = PINFOLD_CONTAINER_INIT;
  out.name = decided.name.c_str();
  out.cpus = container.cpus.c_str();
  out.mems = decided.cpuset_mems.c_str();
  out.exclusive_cpus = container.exclusive_cpus.c_str();
  out.isolation = number_of(container.view.wanted.isolation);
  if (values.cpu_quota) out.has |= PINFOLD_HAS_QUOTA;
  if (values.cpu_period) out.has |= PINFOLD_HAS_PERIOD;
  if (values.memory_limit) out.has |= PINFOLD_HAS_MEMORY_LIMIT;
  if (values.oom_score_adj) out.has |= PINFOLD_HAS_OOM_SCORE_ADJ;
  out.quota = values.cpu_quota.value_or(0);
  out.period = values.cpu_period.value_or(0);
  out.shares = values.cpu_shares;
  out.weight = cpu_weight_runtime(values.cpu_shares);
  out.memory_limit = values.memory_limit.value_or(0);
  out.oom_score_adj = values.oom_score_adj.value_or(0);
  out.hugepages = container.hugepages.data();
  out.hugepage_count = container.hugepages.size();
  out.cgroup = container.view.cgroup.c_str();
  out.cgroup_path = container.cgroup_path.c_str();
  return out;
}

/// Fills as much of a caller's structure as the caller knows.
Result<void> fill(const pinfold_pod::Container& container, pinfold_container& out) {
  const std::size_t size = out.struct_size;
  if (size < kSmallestContainer) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("pinfold_container.struct_size is {}: expected {} or more", size,
                            kSmallestContainer));
  }
  const pinfold_container all = describe(container);
  std::memcpy(&out, &all, std::min(size, sizeof(all)));
  out.struct_size = size;
  return {};
}

}  // namespace

std::unique_ptr<pinfold_pod> make_answer(agent::NodeAgent& agent, const agent::AgentState& state,
                                         const PodSpec& spec, std::optional<Rejection> rejection,
                                         const Trace& trace) {
  auto answer = std::make_unique<pinfold_pod>();
  answer->spec = spec;
  answer->trace = to_json(trace).dump();
  nlohmann::json document = {
      {"uid", spec.uid}, {"name", spec.name}, {"namespace", spec.namespace_name}};
  if (!rejection) {
    if (auto view = agent::decided_pod(agent.node(), state, agent.facts(), spec.uid)) {
      document = to_json(*view, agent);
      for (agent::ContainerView& container : view->containers) {
        answer->containers.push_back(
            make_container(std::move(container), agent.enforces() ? agent.cgroups()->root() : ""));
      }
    }
  }
  document["admitted"] = !rejection;
  document["reason"] = rejection ? rejection->reason : "";
  document["message"] = rejection ? rejection->message : "";
  answer->json = document.dump();
  answer->rejection = std::move(rejection);
  for (pinfold_pod::Container& container : answer->containers) {
    for (const auto& [size, bytes] : container.view.decided.linux_resources.hugepage_limits) {
      container.hugepages.push_back({size.c_str(), bytes});
    }
  }
  return answer;
}

Result<void> read_struct(const void* given, void* copy, std::size_t known, std::size_t smallest,
                         const char* name) {
  if (given == nullptr) return fail(ErrorCode::kInvalidArgument, fmt::format("{} is NULL", name));
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  if (size < smallest) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}.struct_size is {}: expected {} or more; set it with its _INIT macro", name,
                    size, smallest));
  }
  const auto* const bytes = static_cast<const unsigned char*>(given);
  const bool uses_more = size > known && std::any_of(bytes + known, bytes + size,
                                                     [](unsigned char byte) { return byte != 0; });
  if (uses_more) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} has members that version {} of the library does not know", name,
                            pinfold_version()));
  }
  std::memcpy(copy, given, std::min(size, known));
  return {};
}

}  // namespace pinfold::capi

using namespace pinfold;  // NOLINT(google-build-using-namespace): C functions have no namespace
using namespace pinfold::capi;  // NOLINT(google-build-using-namespace)

const char* pinfold_version() { return PINFOLD_VERSION; }

const char* pinfold_code_name(pinfold_code code) {
  switch (code) {
    case PINFOLD_OK:
      return "ok";
    case PINFOLD_INVALID_ARGUMENT:
      return "invalid argument";
    case PINFOLD_NOT_FOUND:
      return "not found";
    case PINFOLD_CORRUPT:
      return "corrupt";
    case PINFOLD_IO:
      return "i/o";
    case PINFOLD_UNSUPPORTED:
      return "unsupported";
    case PINFOLD_INTERNAL:
      return "internal";
    case PINFOLD_BUSY:
      return "busy";
    case PINFOLD_NO_MEMORY:
      return "no memory";
    case PINFOLD_REJECTED:
      return "rejected";
    case PINFOLD_NOT_ENFORCED:
      return "not enforced";
    default:
      return "unknown code";
  }
}

void pinfold_free(void* text) { std::free(text); }
void pinfold_pod_free(pinfold_pod* pod) { delete pod; }

int pinfold_pod_admitted(const pinfold_pod* pod) { return pod->rejection ? 0 : 1; }
const char* pinfold_pod_uid(const pinfold_pod* pod) { return pod->spec.uid.c_str(); }
const char* pinfold_pod_name(const pinfold_pod* pod) { return pod->spec.name.c_str(); }
const char* pinfold_pod_namespace(const pinfold_pod* pod) {
  return pod->spec.namespace_name.c_str();
}
const char* pinfold_pod_reason(const pinfold_pod* pod) {
  return pod->rejection ? pod->rejection->reason.c_str() : "";
}
const char* pinfold_pod_message(const pinfold_pod* pod) {
  return pod->rejection ? pod->rejection->message.c_str() : "";
}
const char* pinfold_pod_trace(const pinfold_pod* pod) { return pod->trace.c_str(); }
const char* pinfold_pod_json(const pinfold_pod* pod) { return pod->json.c_str(); }
size_t pinfold_pod_container_count(const pinfold_pod* pod) { return pod->containers.size(); }

pinfold_code pinfold_pod_container(const pinfold_pod* pod, size_t index,
                                   pinfold_container* container, char** error) {
  return call(error, [&]() -> Result<pinfold_code> {
    if (pod == nullptr || container == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "pod or container is NULL");
    }
    if (index >= pod->containers.size()) {
      return fail(ErrorCode::kNotFound, fmt::format("container {} of pod '{}': it has {}", index,
                                                    pod->spec.name, pod->containers.size()));
    }
    PINFOLD_TRY(fill(pod->containers[index], *container));
    return PINFOLD_OK;
  });
}

pinfold_code pinfold_pod_find(const pinfold_pod* pod, const char* name,
                              pinfold_container* container, char** error) {
  return call(error, [&]() -> Result<pinfold_code> {
    if (pod == nullptr || name == nullptr || container == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "pod, name or container is NULL");
    }
    for (const pinfold_pod::Container& one : pod->containers) {
      if (one.view.decided.name != name) continue;
      PINFOLD_TRY(fill(one, *container));
      return PINFOLD_OK;
    }
    return fail(ErrorCode::kNotFound, fmt::format("container '{}': pod '{}' has none of this name",
                                                  name, pod->spec.name));
  });
}
