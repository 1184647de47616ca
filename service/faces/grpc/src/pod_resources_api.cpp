#include "pinfold/grpc/pod_resources_api.hpp"

#include <utility>

#include "pinfold/podresources/pod_resources.hpp"

namespace pinfold::grpc {
namespace {

using ::grpc::CallbackServerContext;
using ::grpc::ServerUnaryReactor;
using ::grpc::Status;
using std::chrono::milliseconds;

constexpr milliseconds kInterval(10);
constexpr int kBurst = 10;

ServerUnaryReactor* finish(CallbackServerContext& context, const Status& status) {
  ServerUnaryReactor* const reactor = context.DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

Status above_limit() { return {::grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"}; }

}  // namespace

class PodResourcesApi::V1 final : public ::v1::PodResourcesLister::CallbackService {
 public:
  explicit V1(PodResourcesApi& api) : api_(api) {}

  ServerUnaryReactor* List(CallbackServerContext* context,
                           const ::v1::ListPodResourcesRequest* /*request*/,
                           ::v1::ListPodResourcesResponse* response) override {
    if (!api_.begin(&Counts::total, &Counts::list)) return finish(*context, above_limit());
    *response = podresources::list(api_.node_.machine(), api_.snapshot_()->state.node);
    return finish(*context, Status::OK);
  }

  ServerUnaryReactor* GetAllocatableResources(
      CallbackServerContext* context, const ::v1::AllocatableResourcesRequest* /*request*/,
      ::v1::AllocatableResourcesResponse* response) override {
    if (!api_.begin(&Counts::total, &Counts::get_allocatable)) {
      return finish(*context, above_limit());
    }
    *response = podresources::allocatable(api_.node_, api_.snapshot_()->state.node);
    return finish(*context, Status::OK);
  }

  ServerUnaryReactor* Get(CallbackServerContext* context,
                          const ::v1::GetPodResourcesRequest* request,
                          ::v1::GetPodResourcesResponse* response) override {
    if (!api_.begin(&Counts::total, &Counts::get)) return finish(*context, above_limit());
    auto found = podresources::get(api_.node_.machine(), api_.snapshot_()->state.node,
                                   request->pod_name(), request->pod_namespace());
    if (!found) {
      const std::lock_guard lock(api_.mutex_);
      ++api_.counts_.get_errors;
      return finish(*context, {::grpc::StatusCode::UNKNOWN, found.error().message});
    }
    *response = *std::move(found);
    return finish(*context, Status::OK);
  }

 private:
  PodResourcesApi& api_;
};

class PodResourcesApi::V1Alpha1 final : public ::v1alpha1::PodResourcesLister::CallbackService {
 public:
  explicit V1Alpha1(PodResourcesApi& api) : api_(api) {}

  ServerUnaryReactor* List(CallbackServerContext* context,
                           const ::v1alpha1::ListPodResourcesRequest* /*request*/,
                           ::v1alpha1::ListPodResourcesResponse* response) override {
    if (!api_.begin(&Counts::v1alpha1_total, nullptr)) return finish(*context, above_limit());
    *response = podresources::list_v1alpha1(api_.node_.machine(), api_.snapshot_()->state.node);
    return finish(*context, Status::OK);
  }

 private:
  PodResourcesApi& api_;
};

PodResourcesApi::PodResourcesApi(const Node& node, Snapshots snapshot, Now now)
    : node_(node),
      snapshot_(std::move(snapshot)),
      now_(std::move(now)),
      limit_(kInterval, kBurst),
      v1_(std::make_unique<V1>(*this)),
      v1alpha1_(std::make_unique<V1Alpha1>(*this)) {}

PodResourcesApi::~PodResourcesApi() = default;

std::array<::grpc::Service*, 2> PodResourcesApi::services() { return {v1_.get(), v1alpha1_.get()}; }

PodResourcesApi::Counts PodResourcesApi::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool PodResourcesApi::begin(std::uint64_t Counts::*total, std::uint64_t Counts::*method) {
  const std::lock_guard lock(mutex_);
  if (!limit_.take(now_())) return false;
  ++(counts_.*total);
  if (method != nullptr) ++(counts_.*method);
  return true;
}

}  // namespace pinfold::grpc
