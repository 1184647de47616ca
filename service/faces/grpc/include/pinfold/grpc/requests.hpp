#pragma once

#include <grpcpp/support/status.h>
#include <pinfold/v1/pinfold.pb.h>

#include "pinfold/verbs/execute.hpp"

/// Turns the requests of pinfold.v1 into requests to a worker. Pure, except that Attach without a
/// start time looks up the process.
namespace pinfold::grpc {

/// Returns the status of a failed call, by the table of codes in docs/api.md.
[[nodiscard]] ::grpc::Status to_status(const Error& error);

/// Reads the pod of a manifest. Errors: kInvalidArgument, also unless there is exactly one.
[[nodiscard]] Result<PodSpec> read_one_pod(const std::string& manifest, bool is_validated);

/// Convert requests. Errors: kInvalidArgument; kNotFound for a process that has exited.
[[nodiscard]] Result<verbs::Action> to_action(const v1::AdmitRequest& request);
[[nodiscard]] Result<verbs::Action> to_action(const v1::AdmitTogetherRequest& request);
[[nodiscard]] Result<verbs::Action> to_action(const v1::ExplainRequest& request);
[[nodiscard]] Result<verbs::Action> to_action(const v1::StartRequest& request);
[[nodiscard]] Result<verbs::Action> to_action(const v1::RemoveRequest& request);
[[nodiscard]] Result<verbs::Action> to_action(const v1::ResizeRequest& request);
[[nodiscard]] Result<verbs::Action> to_action(const v1::AdoptRequest& request);
[[nodiscard]] Result<verbs::Action> to_action(const v1::AttachRequest& request);
[[nodiscard]] Result<verbs::Action> to_action(const v1::ReconcileRequest& request);
[[nodiscard]] Result<verbs::Action> to_action(const v1::ReconfigureRequest& request);
[[nodiscard]] Result<verbs::Action> to_action(const v1::DefragmentRequest& request);

}  // namespace pinfold::grpc
