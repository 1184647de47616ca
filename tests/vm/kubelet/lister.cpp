#include "lister.hpp"

#include <fmt/format.h>
#include <grpcpp/server_builder.h>

#include <filesystem>
#include <system_error>

#include "pinfold/podresources/pod_resources.hpp"

namespace pinfold::test {

Lister::Lister(const std::string& folder) {
  const std::string sockets = folder + "/pod-resources";
  std::error_code ignored;
  std::filesystem::create_directories(sockets, ignored);
  std::filesystem::remove(sockets + "/kubelet.sock", ignored);
  ::grpc::ServerBuilder builder;
  builder.AddListeningPort(fmt::format("unix:{}/kubelet.sock", sockets),
                           ::grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

Lister::~Lister() {
  if (server_) server_->Shutdown();
}

void Lister::set(const Node& node, const NodeState& state) {
  auto listed = podresources::list(node.machine(), state);
  auto allocatable = podresources::allocatable(node, state);
  const std::lock_guard lock(mutex_);
  listed_ = std::move(listed);
  allocatable_ = std::move(allocatable);
}

::grpc::Status Lister::List(::grpc::ServerContext* /*context*/,
                            const ::v1::ListPodResourcesRequest* /*request*/,
                            ::v1::ListPodResourcesResponse* response) {
  const std::lock_guard lock(mutex_);
  *response = listed_;
  return ::grpc::Status::OK;
}

::grpc::Status Lister::GetAllocatableResources(::grpc::ServerContext* /*context*/,
                                               const ::v1::AllocatableResourcesRequest* /*request*/,
                                               ::v1::AllocatableResourcesResponse* response) {
  const std::lock_guard lock(mutex_);
  *response = allocatable_;
  return ::grpc::Status::OK;
}

::grpc::Status Lister::Get(::grpc::ServerContext* /*context*/,
                           const ::v1::GetPodResourcesRequest* request,
                           ::v1::GetPodResourcesResponse* response) {
  const std::lock_guard lock(mutex_);
  for (const ::v1::PodResources& pod : listed_.pod_resources()) {
    if (pod.name() != request->pod_name() || pod.namespace_() != request->pod_namespace()) continue;
    *response->mutable_pod_resources() = pod;
    return ::grpc::Status::OK;
  }
  return {::grpc::StatusCode::UNKNOWN, fmt::format("pod {} in namespace {} not found",
                                                   request->pod_name(), request->pod_namespace())};
}

}  // namespace pinfold::test
