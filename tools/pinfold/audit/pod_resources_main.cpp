#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "podresources/v1/podresources.grpc.pb.h"

/// pinfold-pod-resources SOCKET: prints the answer of a kubelet's PodResources API to List as JSON.
/// `pinfold audit` runs it. A separate program, so that the commands do not load gRPC.
///
/// With a second argument it prints what `diff` compares field by field; pods, CPUs and memory,
/// which have no fixed order, are sorted:
///   all          List, Get of each pod in it and of one that does not exist, and
///                GetAllocatableResources
///   names        the containers that List has
///   allocatable  GetAllocatableResources
namespace {

using Stub = v1::PodResourcesLister::Stub;

/// The limit of the kubelet's own clients.
constexpr int kMaxAnswerBytes = 16 * 1024 * 1024;
constexpr std::chrono::seconds kTimeLimit{5};
/// For a comparison, which nobody waits for: also in a slow virtual machine.
constexpr std::chrono::seconds kLongTimeLimit{60};

int fail(const std::string& message) {
  fmt::print(stderr, "pinfold-pod-resources: {}\n", message);
  return 1;
}

/// A failed call, or an answer that cannot be printed.
struct CallFailure {
  std::string message;
};

class ListerClient {
 public:
  ListerClient(const std::string& socket, std::chrono::seconds limit)
      : stub_(channel_to(socket)), limit_(limit) {}

  template <class Request, class Response>
  ::grpc::Status call(::grpc::Status (Stub::*method)(::grpc::ClientContext*, const Request&,
                                                     Response*),
                      const Request& request, Response& response) {
    ::grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit_);
    return (stub_.*method)(&context, request, &response);
  }

 private:
  static std::shared_ptr<::grpc::Channel> channel_to(const std::string& socket) {
    ::grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
    return ::grpc::CreateCustomChannel("unix:" + socket, ::grpc::InsecureChannelCredentials(),
                                       arguments);
  }

  Stub stub_;
  std::chrono::seconds limit_;
};

void check(const char* method, const ::grpc::Status& status) {
  if (!status.ok()) throw CallFailure{fmt::format("{}: {}", method, status.error_message())};
}

std::string json_of(const google::protobuf::Message& message, bool on_lines) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = on_lines;
  std::string json;
  if (google::protobuf::util::MessageToJsonString(message, &json, options).ok()) return json;
  throw CallFailure{"the answer is not valid"};
}

v1::ListPodResourcesResponse list(ListerClient& client) {
  v1::ListPodResourcesResponse response;
  check("List", client.call(&Stub::List, v1::ListPodResourcesRequest{}, response));
  return response;
}

/// Sorts the CPUs and memory of a container, or of what is allocatable.
template <class Resources>
void sort_amounts(Resources& resources) {
  std::sort(resources.mutable_cpu_ids()->begin(), resources.mutable_cpu_ids()->end());
  std::sort(
      resources.mutable_memory()->begin(), resources.mutable_memory()->end(),
      [](const auto& a, const auto& b) { return a.ShortDebugString() < b.ShortDebugString(); });
}

void sort_amounts_of(v1::PodResources& pod) {
  for (v1::ContainerResources& container : *pod.mutable_containers()) sort_amounts(container);
}

v1::ListPodResourcesResponse sorted_list(ListerClient& client) {
  auto listed = list(client);
  auto& pods = *listed.mutable_pod_resources();
  std::sort(pods.begin(), pods.end(), [](const auto& a, const auto& b) {
    return std::tie(a.namespace_(), a.name()) < std::tie(b.namespace_(), b.name());
  });
  for (v1::PodResources& pod : pods) sort_amounts_of(pod);
  return listed;
}

void print_get(ListerClient& client, const std::string& name, const std::string& of_namespace) {
  v1::GetPodResourcesRequest request;
  request.set_pod_name(name);
  request.set_pod_namespace(of_namespace);
  v1::GetPodResourcesResponse answer;
  const auto status = client.call(&Stub::Get, request, answer);
  sort_amounts_of(*answer.mutable_pod_resources());
  fmt::print("Get {}/{}: {}\n", of_namespace, name,
             status.ok() ? json_of(answer, true)
                         : fmt::format("code {}, '{}'", static_cast<int>(status.error_code()),
                                       status.error_message()));
}

void print_allocatable(ListerClient& client) {
  v1::AllocatableResourcesResponse answer;
  check("GetAllocatableResources",
        client.call(&Stub::GetAllocatableResources, v1::AllocatableResourcesRequest{}, answer));
  sort_amounts(answer);
  fmt::print("GetAllocatableResources: {}\n", json_of(answer, true));
}

void print_all(ListerClient& client) {
  const auto listed = sorted_list(client);
  fmt::print("List: {}\n", json_of(listed, true));
  for (const v1::PodResources& pod : listed.pod_resources()) {
    print_get(client, pod.name(), pod.namespace_());
  }
  print_get(client, "absent", "default");
  print_allocatable(client);
}

void print_names(ListerClient& client) {
  const auto listed = sorted_list(client);
  for (const v1::PodResources& pod : listed.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      fmt::print("{}/{}/{}\n", pod.namespace_(), pod.name(), container.name());
    }
  }
  fmt::print("that is all\n");
}

void print_for_diff(const std::string& socket, const std::string& what) {
  ListerClient client(socket, kLongTimeLimit);
  if (what == "all") print_all(client);
  if (what == "names") print_names(client);
  if (what == "allocatable") print_allocatable(client);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool is_known =
      arguments.size() == 2 &&
      (arguments[1] == "all" || arguments[1] == "names" || arguments[1] == "allocatable");
  if (arguments.size() != 1 && !is_known) {
    fmt::print(stderr, "usage: pinfold-pod-resources SOCKET [all|names|allocatable]\n");
    return 2;
  }
  try {
    if (is_known) {
      print_for_diff(arguments[0], arguments[1]);
    } else {
      ListerClient client(arguments[0], kTimeLimit);
      fmt::print("{}\n", json_of(list(client), false));
    }
    return 0;
  } catch (const CallFailure& failure) {
    return fail(fmt::format("'{}': {}", arguments[0], failure.message));
  }
}
