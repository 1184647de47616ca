#include "pinfold/grpc/api.hpp"

#include <fmt/format.h>
#include <grpc/support/time.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "pinfold/grpc/messages.hpp"
#include "pinfold/grpc/requests.hpp"
#include "valid_text.hpp"
#include "watcher.hpp"

namespace pinfold::grpc {
namespace {

using ::grpc::CallbackServerContext;
using ::grpc::ServerUnaryReactor;

/// Returns the time until the deadline of a call; nullopt if it is more than a year.
std::optional<worker::Clock::duration> time_left(const CallbackServerContext& context) {
  constexpr std::int64_t kYear = std::int64_t{365} * 24 * 3600;
  const gpr_timespec deadline =
      ::gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_MONOTONIC);
  const gpr_timespec left = ::gpr_time_sub(deadline, ::gpr_now(GPR_CLOCK_MONOTONIC));
  if (left.tv_sec > kYear) return std::nullopt;
  return std::chrono::seconds(left.tv_sec) + std::chrono::nanoseconds(left.tv_nsec);
}

}  // namespace

/// A call that becomes a request to the worker.
class Api::Call {
 public:
  Call(Api& api, CallbackServerContext& context) : api_(api), context_(context) {
    if (const auto left = time_left(context)) deadline_ = api.now_() + *left;
  }

  /// The worker's thread calls `fill` with the answer.
  template <class Fill>
  ServerUnaryReactor* submit(Result<verbs::Action> action, Fill fill) {
    ServerUnaryReactor* const reactor = context_.DefaultReactor();
    if (!action) {
      reactor->Finish(to_status(action.error()));
      return reactor;
    }
    auto done = [reactor, fill = std::move(fill), &now = api_.now_,
                 deadline = deadline_](const Result<verbs::Answer>& answer) {
      if (answer) {
        fill(*answer);
        return reactor->Finish(::grpc::Status::OK);
      }
      const bool is_late = answer.error().code == ErrorCode::kBusy && now() >= deadline;
      reactor->Finish(
          is_late ? ::grpc::Status(::grpc::StatusCode::DEADLINE_EXCEEDED, answer.error().message)
                  : to_status(answer.error()));
    };
    if (const auto taken = api_.worker_.submit(
            {*std::move(action), std::move(done), deadline_, worker::Origin::kOther});
        !taken) {
      reactor->Finish(to_status(taken.error()));
    }
    return reactor;
  }

  /// Submits a request that is answered with a ChangeOutcome.
  template <class Request, class Response>
  ServerUnaryReactor* change(const Request& request, Response& response) {
    return submit(to_action(request), [&response](const verbs::Answer& answer) {
      fill(std::get<agent::ChangeOutcome>(answer), response);
    });
  }

  /// Submits a request that is answered with a Reconfigured.
  template <class Request, class Response>
  ServerUnaryReactor* reconfigure(const Request& request, Response& response) {
    return submit(to_action(request), [&response](const verbs::Answer& answer) {
      fill(std::get<verbs::Reconfigured>(answer), response);
    });
  }

  /// Submits admissions. `add` returns the message for the next pod; `warn` gets warnings.
  template <class Add, class Warn>
  ServerUnaryReactor* admit(Result<verbs::Action> action, Add add, Warn warn) {
    std::vector<PodSpec> pods;
    if (action) pods = std::get<verbs::Admit>(*action).pods;
    return submit(std::move(action), [&worker = api_.worker_, add, warn,
                                      pods = std::move(pods)](const verbs::Answer& answer) {
      const auto& admissions = std::get<verbs::Admissions>(answer);
      const auto& traces = admissions.traces;
      const auto snapshot = worker.snapshot();  // the one after the admissions
      for (std::size_t i = 0; i < pods.size(); ++i) {
        fill(worker.node(), snapshot->state, pods[i], admissions.outcomes[i],
             i < traces.size() ? &traces[i] : nullptr, *add());
      }
      for (const std::string& warning : admissions.warnings) warn(valid_text(warning));
    });
  }

 private:
  Api& api_;
  CallbackServerContext& context_;
  worker::Clock::time_point deadline_ = worker::Clock::time_point::max();
};

ServerUnaryReactor* Api::Admit(CallbackServerContext* context, const v1::AdmitRequest* request,
                               v1::AdmitResponse* response) {
  return Call(*this, *context)
      .admit(
          to_action(*request), [response] { return response->mutable_admission(); },
          [response](std::string warning) { response->add_warnings(std::move(warning)); });
}

ServerUnaryReactor* Api::AdmitTogether(CallbackServerContext* context,
                                       const v1::AdmitTogetherRequest* request,
                                       v1::AdmitTogetherResponse* response) {
  return Call(*this, *context)
      .admit(
          to_action(*request), [response] { return response->add_admissions(); },
          [response](std::string warning) { response->add_warnings(std::move(warning)); });
}

ServerUnaryReactor* Api::Explain(CallbackServerContext* context, const v1::ExplainRequest* request,
                                 v1::ExplainResponse* response) {
  return Call(*this, *context).submit(to_action(*request), [response](const verbs::Answer& answer) {
    const auto& admissions = std::get<verbs::Admissions>(answer);
    fill(admissions.pods.front(), admissions.traces.front(), *response->mutable_admission());
    for (const std::string& warning : admissions.warnings) {
      response->add_warnings(valid_text(warning));
    }
  });
}

ServerUnaryReactor* Api::Start(CallbackServerContext* context, const v1::StartRequest* request,
                               v1::StartResponse* response) {
  return Call(*this, *context).change(*request, *response);
}

ServerUnaryReactor* Api::Remove(CallbackServerContext* context, const v1::RemoveRequest* request,
                                v1::RemoveResponse* response) {
  return Call(*this, *context).change(*request, *response);
}

ServerUnaryReactor* Api::Resize(CallbackServerContext* context, const v1::ResizeRequest* request,
                                v1::ResizeResponse* response) {
  return Call(*this, *context).submit(to_action(*request), [response](const verbs::Answer& answer) {
    fill(std::get<agent::ResizeOutcome>(answer), *response);
  });
}

ServerUnaryReactor* Api::Adopt(CallbackServerContext* context, const v1::AdoptRequest* request,
                               v1::AdoptResponse* response) {
  return Call(*this, *context).change(*request, *response);
}

ServerUnaryReactor* Api::Attach(CallbackServerContext* context, const v1::AttachRequest* request,
                                v1::AttachResponse* /*response*/) {
  return Call(*this, *context).submit(to_action(*request), [](const verbs::Answer& /*answer*/) {});
}

ServerUnaryReactor* Api::Status(CallbackServerContext* context,
                                const v1::StatusRequest* /*request*/,
                                v1::StatusResponse* response) {
  fill(worker_.node(), worker_.offline(), *worker_.snapshot(), *response);
  ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(::grpc::Status::OK);
  return reactor;
}

::grpc::ServerWriteReactor<v1::WatchResponse>* Api::Watch(CallbackServerContext* /*context*/,
                                                          const v1::WatchRequest* /*request*/) {
  return Watcher::start(worker_);
}

ServerUnaryReactor* Api::Reconcile(CallbackServerContext* context,
                                   const v1::ReconcileRequest* request,
                                   v1::ReconcileResponse* response) {
  return Call(*this, *context).submit(to_action(*request), [response](const verbs::Answer& answer) {
    fill(std::get<agent::ReconcileReport>(answer), *response);
  });
}

ServerUnaryReactor* Api::Reconfigure(CallbackServerContext* context,
                                     const v1::ReconfigureRequest* request,
                                     v1::ReconfigureResponse* response) {
  return Call(*this, *context).reconfigure(*request, *response);
}

ServerUnaryReactor* Api::Defragment(CallbackServerContext* context,
                                    const v1::DefragmentRequest* request,
                                    v1::DefragmentResponse* response) {
  return Call(*this, *context).reconfigure(*request, *response);
}

}  // namespace pinfold::grpc
