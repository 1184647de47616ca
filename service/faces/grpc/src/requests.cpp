#include "pinfold/grpc/requests.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "pinfold/api/pod_documents.hpp"
#include "pinfold/api/quiet_note.hpp"
#include "valid_text.hpp"

namespace pinfold::grpc {
namespace {

Result<PodDocuments> read_manifest(const std::string& manifest, bool is_validated) {
  PINFOLD_LET(auto read, read_pods(manifest, "manifest"));
  if (read.pods.empty()) {
    read.notes.insert(read.notes.begin(), "no pod in manifest: expected at least one");
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}", fmt::join(read.notes, "; ")));
  }
  if (!is_validated) PINFOLD_TRY(validate_all(read.pods));
  for (std::string& note : quiet_notes_in(manifest)) read.notes.push_back(std::move(note));
  return read;
}

Result<void> check_is_one(const PodDocuments& read) {
  if (read.pods.size() == 1) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} pods in manifest: expected one", read.pods.size()));
}

verbs::Admit admit_action(PodDocuments read, bool wants_trace) {
  verbs::Admit action{std::move(read.pods), wants_trace};
  action.warnings = std::move(read.notes);
  return action;
}

Result<void> require(const std::string& value, const char* field) {
  if (!value.empty()) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: expected a value", field));
}

Result<ContainerId> read_container(const std::string& pod, const std::string& container) {
  PINFOLD_TRY(require(pod, "pod_uid"));
  PINFOLD_TRY(require(container, "container"));
  return ContainerId{PodUid(pod), container};
}

Result<verbs::Evict> read_evict(v1::Evict evict) {
  switch (evict) {
    case v1::EVICT_NONE:
      return verbs::Evict::kNone;
    case v1::EVICT_LOST:
      return verbs::Evict::kLost;
    case v1::EVICT_REJECTED:
      return verbs::Evict::kRejected;
    default:
      break;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("evict: {}: expected EVICT_NONE, EVICT_LOST or EVICT_REJECTED",
                          static_cast<int>(evict)));
}

}  // namespace

::grpc::Status to_status(const Error& error) {
  using enum ::grpc::StatusCode;
  const auto code = [&] {
    switch (error.code) {
      case ErrorCode::kInvalidArgument:
        return INVALID_ARGUMENT;
      case ErrorCode::kNotFound:
        return NOT_FOUND;
      case ErrorCode::kCorrupt:
        return DATA_LOSS;
      case ErrorCode::kUnsupported:
        return FAILED_PRECONDITION;
      case ErrorCode::kBusy:
        return UNAVAILABLE;
      case ErrorCode::kIo:
      case ErrorCode::kInternal:
        break;
    }
    return INTERNAL;
  };
  return {code(), valid_text(error.message)};
}

Result<PodSpec> read_one_pod(const std::string& manifest, bool is_validated) {
  PINFOLD_LET(auto read, read_manifest(manifest, is_validated));
  PINFOLD_TRY(check_is_one(read));
  return std::move(read.pods.front());
}

Result<verbs::Action> to_action(const v1::AdmitRequest& request) {
  PINFOLD_LET(auto read, read_manifest(request.manifest(), request.validated()));
  PINFOLD_TRY(check_is_one(read));
  return admit_action(std::move(read), request.trace());
}

Result<verbs::Action> to_action(const v1::AdmitTogetherRequest& request) {
  PINFOLD_LET(auto read, read_manifest(request.manifest(), request.validated()));
  return admit_action(std::move(read), request.trace());
}

Result<verbs::Action> to_action(const v1::ExplainRequest& request) {
  PINFOLD_LET(auto read, read_manifest(request.manifest(), request.validated()));
  PINFOLD_TRY(check_is_one(read));
  verbs::PreviewAdmit action{std::move(read.pods), true};
  action.warnings = std::move(read.notes);
  return action;
}

Result<verbs::Action> to_action(const v1::StartRequest& request) {
  PINFOLD_LET(auto container, read_container(request.pod_uid(), request.container()));
  return verbs::Start{std::move(container)};
}

Result<verbs::Action> to_action(const v1::RemoveRequest& request) {
  PINFOLD_TRY(require(request.pod_uid(), "pod_uid"));
  return verbs::Remove{
      PodUid(request.pod_uid()), request.container(),
      request.kill() ? agent::RunningProcesses::kKill : agent::RunningProcesses::kRefuse};
}

Result<verbs::Action> to_action(const v1::ResizeRequest& request) {
  PINFOLD_LET(auto container, read_container(request.pod_uid(), request.container()));
  return verbs::Resize{{std::move(container), Quantity::milli(request.cpu_amount())}};
}

Result<verbs::Action> to_action(const v1::AdoptRequest& request) {
  PINFOLD_LET(auto container, read_container(request.pod_uid(), request.container()));
  PINFOLD_TRY(require(request.cgroup_path(), "cgroup_path"));
  return verbs::Adopt{std::move(container.pod), {std::move(container.name), request.cgroup_path()}};
}

Result<verbs::Action> to_action(const v1::AttachRequest& request) {
  PINFOLD_LET(auto container, read_container(request.pod_uid(), request.container()));
  enforce::ProcessId process{request.process().pid(), request.process().start_time()};
  if (process.pid <= 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("process.pid: {}: expected a process id", process.pid));
  }
  if (process.start_time == 0) {
    const auto found = enforce::identify(process.pid);
    if (!found) {
      return fail(ErrorCode::kNotFound, fmt::format("process {}: it has ended", process.pid));
    }
    process = *found;
  }
  return verbs::Attach{std::move(container), process};
}

Result<verbs::Action> to_action(const v1::ReconcileRequest& request) {
  return verbs::Reconcile{request.move_pages() ? agent::PageMoves::kOn : agent::PageMoves::kOff};
}

Result<verbs::Action> to_action(const v1::ReconfigureRequest& request) {
  verbs::Reconfigure out;
  if (!request.config().empty()) out.config = request.config();
  if (!request.machine().empty()) {
    PINFOLD_LET_WRAP(out.machine, parse_machine(request.machine()), "machine");
  }
  PINFOLD_LET(out.evict, read_evict(request.evict()));
  if (request.kill()) out.running = agent::RunningProcesses::kKill;
  out.undo = request.undo();
  out.dry_run = request.dry_run();
  return out;
}

Result<verbs::Action> to_action(const v1::DefragmentRequest& request) {
  PINFOLD_LET(auto pod, read_one_pod(request.manifest(), request.validated()));
  verbs::Defragment out{std::move(pod), request.dry_run()};
  if (request.step_count() > verbs::kMostSteps) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("step_count: {}: expected at most {}",
                                                         request.step_count(), verbs::kMostSteps));
  }
  if (request.step_count() > 0) out.steps = request.step_count();
  return out;
}

}  // namespace pinfold::grpc
