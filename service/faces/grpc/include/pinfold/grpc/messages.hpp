#pragma once

#include <pinfold/v1/pinfold.pb.h>

#include "pinfold/agent/status.hpp"
#include "pinfold/verbs/execute.hpp"
#include "pinfold/worker/snapshot.hpp"

/// Builds the answers of pinfold.v1 from those of a worker. Pure.
namespace pinfold::grpc {

/// Fills in an admission; for an admitted pod, with the resources of its containers in `state`.
void fill(const Node& node, const agent::AgentState& state, const PodSpec& pod,
          const agent::AdmitOutcome& outcome, const Trace* trace, v1::Admission& out);
/// Fills in the answer to a preview.
void fill(const agent::DecidedPod& pod, const Trace& trace, v1::Admission& out);
void fill(const agent::ReconcileReport& report, v1::ReconcileResponse& out);
void fill(const agent::ResizeOutcome& outcome, v1::ResizeResponse& out);
void fill(const verbs::Reconfigured& outcome, v1::ReconfigureResponse& out);
void fill(const verbs::Reconfigured& outcome, v1::DefragmentResponse& out);
void fill(const Node& node, const CpuSet& offline, const worker::Snapshot& snapshot,
          v1::StatusResponse& out);
void fill(const worker::Subscription::Taken& taken, v1::WatchResponse& out);
void fill(const Error& error, v1::Error& out);
void fill(const PodRef& pod, v1::PodRef& out);
void fill(const Rejection& rejection, v1::Rejection& out);
void fill(const MemoryBlock& block, v1::MemoryBlock& out);

/// `Response` is a message with not_enforced.
template <class Response>
void fill(const agent::ChangeOutcome& outcome, Response& out) {
  if (outcome.not_enforced) fill(*outcome.not_enforced, *out.mutable_not_enforced());
}

}  // namespace pinfold::grpc
