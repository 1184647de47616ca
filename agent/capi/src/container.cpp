#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "node_call.hpp"
#include "pinfold/verbs/execute.hpp"
#include "pod.hpp"
#include "sized_struct.hpp"

/// A container in two calls: pinfold_container_create and pinfold_container_delete.
namespace pinfold::capi {
namespace {

using socket::NodeSession;

/// The size of the structure in version 0.2.0.
constexpr std::size_t kSmallestRequest = sizeof(pinfold_request);
constexpr const char* kDefaultContainer = "main";

/// Returns the resource of huge pages for the hugetlb controller's name: "hugepages-2Mi" for "2MB".
Result<std::string> hugepage_resource(const char* page_size) {
  PINFOLD_TRY(require(page_size, "page_size"));
  std::string_view size = page_size;
  if (size.ends_with('B')) {
    size.remove_suffix(1);
    return fmt::format("hugepages-{}i", size);
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("page_size '{}': expected a name such as '2MB'", size));
}

/// Makes the pod that the members of a request describe.
Result<PodSpec> described_pod(const pinfold_request& request) {
  PINFOLD_TRY(require(request.uid, "uid"));
  PodSpec pod;
  pod.uid = PodUid(request.uid);
  pod.name = request.name == nullptr ? request.uid : request.name;
  pod.namespace_name = request.pod_namespace == nullptr ? "default" : request.pod_namespace;
  Container& container = pod.containers.emplace_back();
  container.name = request.container == nullptr ? kDefaultContainer : request.container;
  ResourceList& limits = container.resources.limits;
  if (request.milli_cpu < 0 || request.memory_bytes < 0) {
    return fail(ErrorCode::kInvalidArgument, "milli_cpu, memory_bytes: expected 0 or more");
  }
  if (request.milli_cpu > 0) limits["cpu"] = Quantity::milli(request.milli_cpu);
  if (request.memory_bytes > 0) limits["memory"] = Quantity::bytes(request.memory_bytes);
  for (std::size_t i = 0; request.hugepages != nullptr && i < request.hugepage_count; ++i) {
    const pinfold_hugepage_limit& pages = request.hugepages[i];
    PINFOLD_LET(const auto resource, hugepage_resource(pages.page_size));
    limits[resource] = Quantity::bytes(static_cast<std::int64_t>(pages.bytes));
  }
  return read_pod(to_json(pod));  // the same checks as for a manifest
}

/// Returns the container that a request means.
Result<std::string> container_of(const pinfold_request& request, const PodSpec& pod) {
  if (request.container != nullptr) return request.container;
  if (pod.containers.size() == 1) return pod.containers.front().name;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("container is NULL, but the pod has {}", pod.containers.size()));
}

Result<PodSpec> pod_of(const pinfold_request& request) {
  if (request.manifest == nullptr) return described_pod(request);
  PINFOLD_LET(auto read, read_manifest(request.manifest));
  return std::move(read.spec);
}

Result<pinfold_code> create(NodeSession& session, const pinfold_request* given,
                            const char* directory, pinfold_pod** pod, char** error) {
  PINFOLD_TRY(require(directory, "directory"));
  PINFOLD_LET(const auto request, read_struct(given, kSmallestRequest, "pinfold_request"));
  PINFOLD_LET(const auto spec, pod_of(request));
  PINFOLD_LET(const auto container, container_of(request, spec));
  PINFOLD_TRY(require_directory(directory));
  const verbs::AdmitHooked action{spec, {container, directory}, std::nullopt};
  PINFOLD_LET(const auto refusal, session.execute<verbs::HookOutcome>(action));
  if (refusal && !refusal->rejection) return tl::unexpected(refusal->error);
  const std::optional<Rejection> rejection = refusal ? refusal->rejection : std::nullopt;
  if (pod != nullptr) {
    const auto agent = view_of(session);
    if (!agent) return fail(agent::unknown_outcome(agent.error().message));
    *pod = make_pod(**agent, spec, rejection).release();
  }
  return rejection ? code_of(*rejection, error) : PINFOLD_OK;
}

Result<pinfold_code> remove(NodeSession& session, const char* uid, const char* container) {
  PINFOLD_TRY(require(uid, "uid"));
  PINFOLD_LET(const auto* const agent, view_of(session));
  const auto* const adopted = agent->state().adopted.find(PodUid(uid));
  if (adopted == nullptr) return PINFOLD_OK;
  if (container == nullptr && adopted->size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("container is NULL, but the pod has {}", adopted->size()));
  }
  const ContainerId id{PodUid(uid), container == nullptr ? adopted->begin()->first : container};
  PINFOLD_LET(auto refusal, session.execute<verbs::HookOutcome>(verbs::RemoveHooked{id}));
  if (refusal) return fail(std::move(refusal->error));
  return PINFOLD_OK;
}

}  // namespace
}  // namespace pinfold::capi

using namespace pinfold;  // NOLINT(google-build-using-namespace): C functions have no namespace
using namespace pinfold::capi;  // NOLINT(google-build-using-namespace)

pinfold_code pinfold_container_create(pinfold_node* node, const pinfold_request* request,
                                      const char* directory, pinfold_pod** pod, char** error) {
  return with_session(
      node, Access::kChange, "create container", error,
      [&](NodeSession& session) { return create(session, request, directory, pod, error); },
      AtEnd::kLeaveJournal);
}

pinfold_code pinfold_container_delete(pinfold_node* node, const char* uid, const char* container,
                                      char** error) {
  return with_session(
      node, Access::kChange, "delete container", error,
      [&](NodeSession& session) { return remove(session, uid, container); }, AtEnd::kLeaveJournal);
}
