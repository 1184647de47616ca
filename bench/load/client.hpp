#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "node.hpp"
#include "pinfold/api/pod.hpp"

/// The ways to request an admission.
namespace pinfold::load {

/// A pod with one container, "main".
struct LoadPod {
  PodSpec spec;
  std::string manifest;  ///< v1 Pod
};
/// `number` determines its name and UID. `cpus` is the number of exclusive CPUs; 0: it runs in the
/// shared pool.
[[nodiscard]] LoadPod make_pod(std::uint64_t number, int cpus);

/// Not thread-safe. All functions throw Failure if the answer is wrong or missing.
class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  /// Returns whether the pod is admitted.
  virtual bool admit(const LoadPod& pod) = 0;
  virtual void start(const LoadPod& pod) = 0;
  virtual void remove(const LoadPod& pod) = 0;
};

using MakeClient = std::unique_ptr<Client> (*)(const LoadedNode&);
/// Returns a client of the command socket, with one connection.
[[nodiscard]] std::unique_ptr<Client> make_socket_client(const LoadedNode& node);
/// Returns a client of pinfold.v1, with one connection.
[[nodiscard]] std::unique_ptr<Client> make_grpc_client(const LoadedNode& node);
/// Returns a client that runs `pinfold admit` and the other commands, one process for each. Without
/// a service the commands do the work themselves.
[[nodiscard]] std::unique_ptr<Client> make_command_client(const LoadedNode& node);

}  // namespace pinfold::load
