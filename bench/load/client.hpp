#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "node.hpp"
#include "pinfold/api/pod.hpp"

/// The ways to ask for an admission.
namespace pinfold::load {

/// A pod with one container, "main".
struct LoadPod {
  PodSpec spec;
  std::string manifest;  ///< v1 Pod
};
/// `number`: makes its name and UID. `cpus`: exclusive CPUs; 0: it runs in the shared pool.
[[nodiscard]] LoadPod make_pod(std::uint64_t number, int cpus);

/// Not thread-safe. All functions throw Failure if there is no answer, or a wrong one.
class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  /// Whether the pod is admitted.
  virtual bool admit(const LoadPod& pod) = 0;
  virtual void start(const LoadPod& pod) = 0;
  virtual void remove(const LoadPod& pod) = 0;
};

using MakeClient = std::unique_ptr<Client> (*)(const LoadedNode&);
/// Through the socket of the commands, over one connection.
[[nodiscard]] std::unique_ptr<Client> make_socket_client(const LoadedNode& node);
/// Through pinfold.v1, over one connection.
[[nodiscard]] std::unique_ptr<Client> make_grpc_client(const LoadedNode& node);
/// `pinfold admit` and the other commands, a process for each. If the node has no service they do
/// the work themselves.
[[nodiscard]] std::unique_ptr<Client> make_command_client(const LoadedNode& node);

}  // namespace pinfold::load
