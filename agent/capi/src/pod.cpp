#include "pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "call.hpp"
#include "pinfold/agent/fields.hpp"
#include "pinfold/fields/json.hpp"
#include "sized_struct.hpp"

/// A pinfold_pod and its accessors.
namespace pinfold::capi {
namespace {

/// The size of the structure in version 0.2.0.
constexpr std::size_t kSmallestContainer = sizeof(pinfold_container);

std::int32_t to_c(Isolation isolation) {
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

pinfold_pod::Container make_container(agent::ContainerStatus status) {
  pinfold_pod::Container out;
  out.cpus = status.desired.cpus.to_string();
  out.exclusive_cpus = status.resources.exclusive_cpus.to_string();
  out.status = std::move(status);
  for (const auto& [size, bytes] : out.status.resources.linux_resources.hugepage_limits) {
    out.hugepage_limits.push_back({size.c_str(), bytes});
  }
  return out;
}

pinfold_container to_c(const pinfold_pod::Container& container) {
  const ContainerResources& resources = container.status.resources;
  const LinuxResources& values = resources.linux_resources;
  pinfold_container out = PINFOLD_CONTAINER_INIT;
  out.name = resources.name.c_str();
  out.cpus = container.cpus.c_str();
  out.mems = resources.cpuset_mems.c_str();
  out.exclusive_cpus = container.exclusive_cpus.c_str();
  out.isolation = to_c(container.status.desired.isolation);
  if (values.cpu_quota) out.has |= PINFOLD_HAS_CPU_QUOTA;
  if (values.cpu_period) out.has |= PINFOLD_HAS_CPU_PERIOD;
  if (values.memory_limit) out.has |= PINFOLD_HAS_MEMORY_LIMIT;
  if (values.oom_score_adj) out.has |= PINFOLD_HAS_OOM_SCORE_ADJ;
  out.cpu_quota_us = values.cpu_quota.value_or(0);
  out.cpu_period_us = values.cpu_period.value_or(0);
  out.cpu_shares = values.cpu_shares;
  out.cpu_weight = cpu_weight_runtime(values.cpu_shares);
  out.memory_limit_bytes = values.memory_limit.value_or(0);
  out.oom_score_adj = values.oom_score_adj.value_or(0);
  out.hugepage_limits = container.hugepage_limits.data();
  out.hugepage_limit_count = container.hugepage_limits.size();
  out.cgroup = container.status.cgroup.c_str();
  out.cgroup_path = container.status.cgroup_path.c_str();
  return out;
}

std::string dump(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<pinfold_code> write_container(const pinfold_pod::Container& container,
                                     pinfold_container* out) {
  const pinfold_container values = to_c(container);
  PINFOLD_TRY(write_struct(&values, out, sizeof(values), kSmallestContainer, "pinfold_container"));
  return PINFOLD_OK;
}

}  // namespace

std::unique_ptr<pinfold_pod> make_pod(agent::DecidedPod decided, const Trace& trace) {
  auto pod = std::make_unique<pinfold_pod>();
  pod->spec = decided.spec;
  pod->is_held = decided.is_held;
  pod->trace = dump(fields::to_json(trace));
  pod->json = dump(fields::to_json(decided));
  pod->containers.reserve(decided.containers.size());
  for (agent::ContainerStatus& container : decided.containers) {
    pod->containers.push_back(make_container(std::move(container)));
  }
  pod->rejection = std::move(decided.rejection);
  return pod;
}

std::unique_ptr<pinfold_pod> make_pod(const agent::NodeAgent& agent, const PodSpec& spec,
                                      std::optional<Rejection> rejection) {
  return make_pod(agent::decided_pod(agent, agent.state(), spec, std::move(rejection)), {});
}

std::unique_ptr<pinfold_pod_list> make_pod_list(const agent::NodeAgent& agent) {
  auto list = std::make_unique<pinfold_pod_list>();
  for (agent::DecidedPod& pod : agent::decided_pods(agent)) {
    list->pods.push_back(make_pod(std::move(pod), {}));
  }
  return list;
}

}  // namespace pinfold::capi

using namespace pinfold;  // NOLINT(google-build-using-namespace): C functions have no namespace
using namespace pinfold::capi;  // NOLINT(google-build-using-namespace)

void pinfold_pod_free(pinfold_pod* pod) { delete pod; }

void pinfold_pod_list_free(pinfold_pod_list* list) { delete list; }
size_t pinfold_pod_list_count(const pinfold_pod_list* list) {
  return list == nullptr ? 0 : list->pods.size();
}
const pinfold_pod* pinfold_pod_list_pod(const pinfold_pod_list* list, size_t index) {
  return index < pinfold_pod_list_count(list) ? list->pods[index].get() : nullptr;
}

int pinfold_pod_is_admitted(const pinfold_pod* pod) {
  return pod != nullptr && !pod->rejection && !pod->is_held ? 1 : 0;
}
int pinfold_pod_is_held(const pinfold_pod* pod) { return pod != nullptr && pod->is_held ? 1 : 0; }
const char* pinfold_pod_uid(const pinfold_pod* pod) {
  return pod == nullptr ? "" : pod->spec.uid.value.c_str();
}
const char* pinfold_pod_name(const pinfold_pod* pod) {
  return pod == nullptr ? "" : pod->spec.name.c_str();
}
const char* pinfold_pod_namespace(const pinfold_pod* pod) {
  return pod == nullptr ? "" : pod->spec.namespace_name.c_str();
}
const char* pinfold_pod_reason(const pinfold_pod* pod) {
  return pod != nullptr && pod->rejection ? pod->rejection->reason.c_str() : "";
}
const char* pinfold_pod_message(const pinfold_pod* pod) {
  return pod != nullptr && pod->rejection ? pod->rejection->message.c_str() : "";
}
const char* pinfold_pod_trace(const pinfold_pod* pod) {
  return pod == nullptr ? "" : pod->trace.c_str();
}
const char* pinfold_pod_json(const pinfold_pod* pod) {
  return pod == nullptr ? "" : pod->json.c_str();
}
size_t pinfold_pod_container_count(const pinfold_pod* pod) {
  return pod == nullptr ? 0 : pod->containers.size();
}

pinfold_code pinfold_pod_get_container(const pinfold_pod* pod, size_t index,
                                       pinfold_container* container, char** error) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    PINFOLD_TRY(require(pod, "pod"));
    PINFOLD_TRY(require(container, "container"));
    if (index >= pod->containers.size()) {
      return fail(ErrorCode::kNotFound, fmt::format("container {} of pod '{}': it has {}", index,
                                                    pod->spec.name, pod->containers.size()));
    }
    return write_container(pod->containers[index], container);
  });
}

pinfold_code pinfold_pod_find_container(const pinfold_pod* pod, const char* name,
                                        pinfold_container* container, char** error) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    PINFOLD_TRY(require(pod, "pod"));
    PINFOLD_TRY(require(name, "name"));
    PINFOLD_TRY(require(container, "container"));
    const auto found = std::find_if(
        pod->containers.begin(), pod->containers.end(),
        [&](const pinfold_pod::Container& one) { return one.status.resources.name == name; });
    if (found != pod->containers.end()) return write_container(*found, container);
    return fail(ErrorCode::kNotFound, fmt::format("container '{}': pod '{}' has no container of "
                                                  "this name",
                                                  name, pod->spec.name));
  });
}
