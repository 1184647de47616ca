#pragma once

#include <grpcpp/support/status.h>
#include <pinfold/v1/pinfold.pb.h>

#include "pinfold/service/request.hpp"

/// What the requests of pinfold.v1 ask of a worker. Pure, except that Attach without a start time
/// looks the process up.
namespace pinfold::service {

/// The status of a call that fails: docs/api.md has the table of codes.
[[nodiscard]] ::grpc::Status to_status(const Error& error);

/// The pod of a manifest. Errors: kInvalidArgument, also unless there is exactly one.
[[nodiscard]] Result<PodSpec> read_one_pod(const std::string& manifest, bool skip_validation);

/// Errors: kInvalidArgument; kNotFound for a process that has ended.
[[nodiscard]] Result<Action> to_action(const v1::AdmitRequest& request);
[[nodiscard]] Result<Action> to_action(const v1::AdmitTogetherRequest& request);
[[nodiscard]] Result<Action> to_action(const v1::StartRequest& request);
[[nodiscard]] Result<Action> to_action(const v1::RemoveRequest& request);
[[nodiscard]] Result<Action> to_action(const v1::AdoptRequest& request);
[[nodiscard]] Result<Action> to_action(const v1::AttachRequest& request);
[[nodiscard]] Result<Action> to_action(const v1::ReconcileRequest& request);
[[nodiscard]] Result<Action> to_action(const v1::ReconfigureRequest& request);
[[nodiscard]] Result<Action> to_action(const v1::DefragmentRequest& request);

}  // namespace pinfold::service
