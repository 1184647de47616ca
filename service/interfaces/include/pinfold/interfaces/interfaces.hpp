#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pinfold/agent/log.hpp"
#include "pinfold/server/settings.hpp"
#include "pinfold/service/worker.hpp"

namespace pinfold::service {

/// Where the service can be reached besides the socket of the commands; "": not there.
struct InterfaceSettings {
  std::string grpc_socket;           ///< pinfold.v1
  PodResourcesPlaces pod_resources;  ///< the kubelet's PodResources API
  std::string metrics_address;       ///< "127.0.0.1:9470": HTTP, /metrics
  /// What the connection with a container runtime has counted. Empty: there is none.
  std::function<RuntimeCounters()> runtime = {};
};

/// The interfaces of a running service for other programs. docs/api.md describes them.
class Interfaces {
 public:
  /// Serves until the object is destroyed; the worker outlives it. The destructor waits for the
  /// calls that the worker has: it must still run, or have stopped.
  /// A socket for PodResources that a process (a kubelet) listens at is left to it: it is served at
  /// the second place then. Errors: those of Listener::open, but for the second place; kIo.
  [[nodiscard]] static Result<std::unique_ptr<Interfaces>> start(const InterfaceSettings& settings,
                                                                 Worker& worker,
                                                                 const agent::LogSink& log);
  Interfaces(const Interfaces&) = delete;
  Interfaces& operator=(const Interfaces&) = delete;
  ~Interfaces();

  /// Where PodResources is served, and why there; socket "": nowhere.
  struct PodResourcesPlace {
    std::string socket;
    std::string reason;
  };
  [[nodiscard]] const PodResourcesPlace& pod_resources() const;

 private:
  struct Parts;
  explicit Interfaces(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace pinfold::service
