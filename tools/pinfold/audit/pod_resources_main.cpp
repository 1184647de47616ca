#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "podresources/v1/podresources.grpc.pb.h"

/// pinfold-pod-resources SOCKET: prints the answer of a kubelet's PodResources API to List as JSON.
/// `pinfold audit` runs it. A separate program, so that the commands do not load gRPC.
namespace {

/// The limit of the kubelet's own clients.
constexpr int kMaxAnswerBytes = 16 * 1024 * 1024;
constexpr std::chrono::seconds kTimeLimit{5};

int fail(const std::string& message) {
  fmt::print(stderr, "pinfold-pod-resources: {}\n", message);
  return 1;
}

int list(const std::string& socket) {
  ::grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  const auto channel = ::grpc::CreateCustomChannel("unix:" + socket,
                                                   ::grpc::InsecureChannelCredentials(), arguments);
  const auto stub = v1::PodResourcesLister::NewStub(channel);
  ::grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kTimeLimit);
  v1::ListPodResourcesResponse response;
  const ::grpc::Status status = stub->List(&context, {}, &response);
  if (!status.ok()) {
    return fail(fmt::format("'{}': List: {}", socket, status.error_message()));
  }
  std::string json;
  const auto converted = google::protobuf::util::MessageToJsonString(response, &json);
  if (!converted.ok()) return fail(fmt::format("'{}': the answer is not valid", socket));
  fmt::print("{}\n", json);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: pinfold-pod-resources SOCKET\n");
    return 2;
  }
  return list(argv[1]);
}
