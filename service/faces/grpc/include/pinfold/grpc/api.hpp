#pragma once

#include <pinfold/v1/pinfold.grpc.pb.h>

#include <functional>
#include <utility>

#include "pinfold/worker/worker.hpp"

namespace pinfold::grpc {

/// Answers the calls of pinfold.v1: passes requests to the worker with the call's deadline, and
/// lets its completions finish the calls. No call blocks a thread. Thread-safe.
class Api final : public v1::Pinfold::CallbackService {
 public:
  using Now = std::function<worker::Clock::time_point()>;

  /// The worker must outlive every call and answer the requests that it took. `now` is the worker's
  /// clock.
  explicit Api(worker::Worker& worker, Now now = worker::Clock::now)
      : worker_(worker), now_(std::move(now)) {}

  ::grpc::ServerUnaryReactor* Admit(::grpc::CallbackServerContext* context,
                                    const v1::AdmitRequest* request,
                                    v1::AdmitResponse* response) override;
  ::grpc::ServerUnaryReactor* AdmitTogether(::grpc::CallbackServerContext* context,
                                            const v1::AdmitTogetherRequest* request,
                                            v1::AdmitTogetherResponse* response) override;
  ::grpc::ServerUnaryReactor* Explain(::grpc::CallbackServerContext* context,
                                      const v1::ExplainRequest* request,
                                      v1::ExplainResponse* response) override;
  ::grpc::ServerUnaryReactor* Start(::grpc::CallbackServerContext* context,
                                    const v1::StartRequest* request,
                                    v1::StartResponse* response) override;
  ::grpc::ServerUnaryReactor* Remove(::grpc::CallbackServerContext* context,
                                     const v1::RemoveRequest* request,
                                     v1::RemoveResponse* response) override;
  ::grpc::ServerUnaryReactor* Resize(::grpc::CallbackServerContext* context,
                                     const v1::ResizeRequest* request,
                                     v1::ResizeResponse* response) override;
  ::grpc::ServerUnaryReactor* Adopt(::grpc::CallbackServerContext* context,
                                    const v1::AdoptRequest* request,
                                    v1::AdoptResponse* response) override;
  ::grpc::ServerUnaryReactor* Attach(::grpc::CallbackServerContext* context,
                                     const v1::AttachRequest* request,
                                     v1::AttachResponse* response) override;
  ::grpc::ServerUnaryReactor* Status(::grpc::CallbackServerContext* context,
                                     const v1::StatusRequest* request,
                                     v1::StatusResponse* response) override;
  ::grpc::ServerWriteReactor<v1::WatchResponse>* Watch(::grpc::CallbackServerContext* context,
                                                       const v1::WatchRequest* request) override;
  ::grpc::ServerUnaryReactor* Reconcile(::grpc::CallbackServerContext* context,
                                        const v1::ReconcileRequest* request,
                                        v1::ReconcileResponse* response) override;
  ::grpc::ServerUnaryReactor* Reconfigure(::grpc::CallbackServerContext* context,
                                          const v1::ReconfigureRequest* request,
                                          v1::ReconfigureResponse* response) override;
  ::grpc::ServerUnaryReactor* Defragment(::grpc::CallbackServerContext* context,
                                         const v1::DefragmentRequest* request,
                                         v1::DefragmentResponse* response) override;

 private:
  class Call;

  worker::Worker& worker_;
  Now now_;
};

}  // namespace pinfold::grpc
