#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <mutex>
#include <string>

#include "pinfold/decide/node.hpp"
#include "pinfold/decide/node_state.hpp"
#include "podresources/v1/podresources.grpc.pb.h"

/// The PodResources API of the fake kubelet: Pinfold's own answers.
namespace pinfold::test {

class Lister final : public ::v1::PodResourcesLister::Service {
 public:
  /// Serves at the socket of a kubelet in `folder`, in threads of gRPC, until it is destroyed. An
  /// earlier kubelet may have left its socket.
  explicit Lister(const std::string& folder);
  ~Lister() override;
  Lister(const Lister&) = delete;
  Lister& operator=(const Lister&) = delete;

  /// Sets what it answers from now on.
  void set(const Node& node, const NodeState& state);

  ::grpc::Status List(::grpc::ServerContext* context, const ::v1::ListPodResourcesRequest* request,
                      ::v1::ListPodResourcesResponse* response) override;
  ::grpc::Status GetAllocatableResources(::grpc::ServerContext* context,
                                         const ::v1::AllocatableResourcesRequest* request,
                                         ::v1::AllocatableResourcesResponse* response) override;
  ::grpc::Status Get(::grpc::ServerContext* context, const ::v1::GetPodResourcesRequest* request,
                     ::v1::GetPodResourcesResponse* response) override;

 private:
  std::mutex mutex_;
  ::v1::ListPodResourcesResponse listed_;
  ::v1::AllocatableResourcesResponse allocatable_;
  std::unique_ptr<::grpc::Server> server_;
};

}  // namespace pinfold::test
