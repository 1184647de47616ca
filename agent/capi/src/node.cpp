#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "node_call.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/enforce/live_process.hpp"
#include "pinfold/verbs/execute.hpp"
#include "pod.hpp"

/// The functions of the C interface that take a node.
namespace pinfold::capi {
namespace {

using agent::RunningProcesses;
using socket::NodeSession;

Result<RunningProcesses> read_remove_flags(std::uint32_t flags) {
  PINFOLD_TRY(check_flags(flags, PINFOLD_REMOVE_KILL));
  return flags == 0 ? RunningProcesses::kRefuse : RunningProcesses::kKill;
}

/// Finds what a removal names: a UID, or "namespace/name". A bare name could be the UID of a pod
/// that is gone already, and then another pod would be removed by mistake.
Result<PodUid> uid_to_remove(NodeSession& session, const char* pod_id) {
  PINFOLD_TRY(require(pod_id, "pod_id"));
  PINFOLD_LET(const auto* const agent, view_of(session));
  const NodeState& state = agent->state().node;
  PodUid uid(pod_id);
  if (state.held.contains(uid) || state.find(uid) != nullptr) return uid;
  PINFOLD_LET(auto found, agent::find_pod_uid(*agent, pod_id));
  if (std::string_view(pod_id).find('/') != std::string_view::npos) return found;
  return fail(ErrorCode::kNotFound,
              fmt::format("no pod has the UID '{}'; one has this name: to remove it, give its UID, "
                          "'{}', or its namespace and name",
                          pod_id, found));
}

Result<agent::ChangeOutcome> changed(NodeSession& session, const verbs::Action& action) {
  return session.execute<agent::ChangeOutcome>(action);
}

Result<pid_t> read_pid(std::int64_t pid) {
  const auto narrow = static_cast<pid_t>(pid);
  if (pid > 1 && narrow == pid) return narrow;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("process {}: expected a process id above 1", pid));
}

/// Attaches a process. Opens the LiveProcess first, so that a reused process id is noticed.
Result<pinfold_code> attach(NodeSession& session, const pinfold_node& node,
                            const ContainerId& container, std::int64_t pid) {
  PINFOLD_LET(const auto number, read_pid(pid));
  if (node.has_own_hierarchy) {  // then no service has the node
    PINFOLD_TRY(session.own()->attach(container, number));
    return PINFOLD_OK;
  }
  PINFOLD_LET(const auto process, enforce::LiveProcess::open(number));
  PINFOLD_TRY(session.execute(verbs::Attach{container, process.id()}));
  return PINFOLD_OK;
}

Result<pinfold_code> attach_pidfd(NodeSession& session, const pinfold_node& node,
                                  const ContainerId& container, int pidfd) {
  if (node.has_own_hierarchy) {
    return fail(
        ErrorCode::kUnsupported,
        "a pidfd can only name a process of this kernel, and the cgroups are not this kernel's");
  }
  PINFOLD_LET(const auto process, enforce::LiveProcess::from_pidfd(pidfd));
  PINFOLD_TRY(session.execute(verbs::Attach{container, process.id()}));
  return PINFOLD_OK;
}

/// Returns the directory that a container has adopted; "" if none.
std::string adopted_by(const agent::NodeAgent& agent, const ContainerId& container) {
  const std::string* const directory = agent.state().adopted.find(container);
  return directory == nullptr ? "" : *directory;
}

Result<pinfold_code> adopt(NodeSession& session, const ContainerId& container,
                           const char* directory, char** previous, char** error) {
  const std::string before = adopted_by(session.view(), container);
  if (before != directory) PINFOLD_TRY(require_directory(directory));
  PINFOLD_LET(const auto outcome,
              changed(session, verbs::Adopt{container.pod, {container.name, directory}}));
  const pinfold_code code = code_of(outcome.not_enforced, error);
  return previous == nullptr ? code : set_text(previous, before, code);
}

Result<void> check_is_one(const verbs::Admissions& admissions) {
  if (admissions.outcomes.size() == 1 && admissions.pods.size() == 1) return {};
  return fail(ErrorCode::kInternal, "the answer is for other pods");
}

Result<pinfold_code> explain(const pinfold_node& node, NodeSession& session, const char* manifest,
                             pinfold_pod** pod, char** error) {
  PINFOLD_TRY(require(pod, "pod"));
  PINFOLD_LET(const auto read, read_manifest(manifest));
  const PodSpec& spec = read.spec;
  log_warnings(node, "manifest", read.notes);
  PINFOLD_LET(auto admissions,
              session.execute<verbs::Admissions>(verbs::PreviewAdmit{{spec}, true}));
  PINFOLD_TRY(check_is_one(admissions));
  if (admissions.traces.size() != 1) return fail(ErrorCode::kInternal, "the answer has no trace");
  const agent::AdmitOutcome& outcome = admissions.outcomes.front();
  log_warnings(node, fmt::format("pod '{}'", spec.name), outcome.notes);
  *pod = make_pod(std::move(admissions.pods.front()), admissions.traces.front()).release();
  return outcome.rejection ? code_of(*outcome.rejection, error) : PINFOLD_OK;
}

Result<pinfold_code> admit(const pinfold_node& node, NodeSession& session, const char* manifest,
                           pinfold_pod** pod, char** error) {
  PINFOLD_TRY(require(pod, "pod"));
  PINFOLD_LET(const auto read, read_manifest(manifest));
  const PodSpec& spec = read.spec;
  log_warnings(node, "manifest", read.notes);
  verbs::Admit action{{spec}};
  action.wants_pods = true;
  PINFOLD_LET(auto admissions, session.execute<verbs::Admissions>(action));
  PINFOLD_TRY(check_is_one(admissions));
  const agent::AdmitOutcome& outcome = admissions.outcomes.front();
  log_warnings(node, fmt::format("pod '{}'", spec.name), outcome.notes);
  *pod = make_pod(std::move(admissions.pods.front()), {}).release();
  if (outcome.rejection) return code_of(*outcome.rejection, error);
  return code_of(outcome.not_enforced, error);
}

Result<pinfold_code> reconcile(NodeSession& session, char** json, char** error) {
  PINFOLD_TRY(require(json, "json"));
  PINFOLD_LET(const auto report, session.execute<agent::ReconcileReport>(verbs::Reconcile{}));
  if (report.remaining.empty()) return set_text(json, to_json(report).dump());
  set_message(error, "reconcile: remaining: " + report.remaining.front());
  return set_text(json, to_json(report).dump(), PINFOLD_NOT_ENFORCED);
}

}  // namespace
}  // namespace pinfold::capi

using namespace pinfold;  // NOLINT(google-build-using-namespace): C functions have no namespace
using namespace pinfold::capi;  // NOLINT(google-build-using-namespace)

pinfold_code pinfold_node_get_status(pinfold_node* node, char** json, char** error) {
  return with_session(node, Access::kRead, "status", error,
                      [&](NodeSession& session) -> Result<pinfold_code> {
                        PINFOLD_TRY(require(json, "json"));
                        PINFOLD_LET(const auto* const agent, view_of(session));
                        PINFOLD_LET(const auto status, agent::node_status(*agent));
                        return set_text(json, to_json(status).dump());
                      });
}

pinfold_code pinfold_node_reconcile(pinfold_node* node, char** json, char** error) {
  return with_session(node, Access::kChange, "reconcile", error,
                      [&](NodeSession& session) { return reconcile(session, json, error); });
}

pinfold_code pinfold_pod_explain(pinfold_node* node, const char* manifest, pinfold_pod** pod,
                                 char** error) {
  return with_session(node, Access::kRead, "explain pod", error, [&](NodeSession& session) {
    return explain(*node, session, manifest, pod, error);
  });
}

pinfold_code pinfold_pod_admit(pinfold_node* node, const char* manifest, pinfold_pod** pod,
                               char** error) {
  return with_session(node, Access::kChange, "admit pod", error, [&](NodeSession& session) {
    return admit(*node, session, manifest, pod, error);
  });
}

pinfold_code pinfold_pod_get(pinfold_node* node, const char* pod_id, pinfold_pod** pod,
                             char** error) {
  return with_pod(node, pod_id, Access::kRead, "get pod", error,
                  [&](NodeSession& session, const PodUid& uid) -> Result<pinfold_code> {
                    PINFOLD_TRY(require(pod, "pod"));
                    const PodSpec& spec = session.view().state().node.find(uid)->spec;
                    *pod = make_pod(session.view(), spec).release();
                    return PINFOLD_OK;
                  });
}

pinfold_code pinfold_node_list_pods(pinfold_node* node, pinfold_pod_list** list, char** error) {
  return with_session(node, Access::kRead, "list pods", error,
                      [&](NodeSession& session) -> Result<pinfold_code> {
                        PINFOLD_TRY(require(list, "list"));
                        PINFOLD_LET(const auto* const agent, view_of(session));
                        *list = make_pod_list(*agent).release();
                        return PINFOLD_OK;
                      });
}

pinfold_code pinfold_pod_remove(pinfold_node* node, const char* pod_id, uint32_t flags,
                                char** error) {
  return with_session(
      node, Access::kChange, "remove pod", error,
      [&](NodeSession& session) -> Result<pinfold_code> {
        PINFOLD_LET(const auto uid, uid_to_remove(session, pod_id));
        PINFOLD_LET(const auto running, read_remove_flags(flags));
        PINFOLD_LET(const auto outcome, changed(session, verbs::Remove{uid, "", running}));
        return code_of(outcome.not_enforced, error);
      });
}

pinfold_code pinfold_container_start(pinfold_node* node, const char* pod_id, const char* container,
                                     char** error) {
  return with_pod(
      node, pod_id, Access::kChange, "start container", error,
      [&](NodeSession& session, const PodUid& uid) -> Result<pinfold_code> {
        PINFOLD_TRY(require(container, "container"));
        PINFOLD_LET(const auto outcome, changed(session, verbs::Start{{uid, container}}));
        return code_of(outcome.not_enforced, error);
      });
}

pinfold_code pinfold_container_resize(pinfold_node* node, const char* pod_id, const char* container,
                                      int64_t milli_cpu, pinfold_pod** pod, char** error) {
  return with_pod(node, pod_id, Access::kChange, "resize container", error,
                  [&](NodeSession& session, const PodUid& uid) -> Result<pinfold_code> {
                    PINFOLD_TRY(require(container, "container"));
                    const verbs::Resize request{{{uid, container}, Quantity::milli(milli_cpu)}};
                    PINFOLD_LET(const auto outcome, session.execute<agent::ResizeOutcome>(request));
                    if (pod != nullptr) {
                      const auto agent = view_of(session);
                      if (!agent) return fail(agent::unknown_outcome(agent.error().message));
                      const ActivePod* const active = (*agent)->state().node.find(uid);
                      if (active != nullptr)
                        *pod = make_pod(**agent, active->spec, std::nullopt).release();
                    }
                    if (outcome.refused) {
                      set_message(error, describe(*outcome.refused));
                      return PINFOLD_REJECTED;
                    }
                    return code_of(outcome.not_enforced, error);
                  });
}

pinfold_code pinfold_container_remove(pinfold_node* node, const char* pod_id, const char* container,
                                      uint32_t flags, char** error) {
  return with_session(
      node, Access::kChange, "remove container", error,
      [&](NodeSession& session) -> Result<pinfold_code> {
        PINFOLD_LET(const auto uid, uid_to_remove(session, pod_id));
        PINFOLD_TRY(require(container, "container"));
        PINFOLD_LET(const auto running, read_remove_flags(flags));
        PINFOLD_LET(const auto outcome, changed(session, verbs::Remove{uid, container, running}));
        return code_of(outcome.not_enforced, error);
      });
}

pinfold_code pinfold_container_attach_process(pinfold_node* node, const char* pod_id,
                                              const char* container, int64_t pid, char** error) {
  return with_pod(node, pod_id, Access::kChange, "attach process", error,
                  [&](NodeSession& session, const PodUid& uid) -> Result<pinfold_code> {
                    PINFOLD_TRY(require(container, "container"));
                    return attach(session, *node, {uid, container}, pid);
                  });
}

pinfold_code pinfold_container_attach_pidfd(pinfold_node* node, const char* pod_id,
                                            const char* container, int pidfd, char** error) {
  return with_pod(node, pod_id, Access::kChange, "attach process", error,
                  [&](NodeSession& session, const PodUid& uid) -> Result<pinfold_code> {
                    PINFOLD_TRY(require(container, "container"));
                    return attach_pidfd(session, *node, {uid, container}, pidfd);
                  });
}

pinfold_code pinfold_container_adopt_cgroup(pinfold_node* node, const char* pod_id,
                                            const char* container, const char* directory,
                                            char** previous, char** error) {
  return with_pod(node, pod_id, Access::kChange, "adopt cgroup", error,
                  [&](NodeSession& session, const PodUid& uid) -> Result<pinfold_code> {
                    PINFOLD_TRY(require(container, "container"));
                    PINFOLD_TRY(require(directory, "directory"));
                    return adopt(session, {uid, container}, directory, previous, error);
                  });
}
