#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pinfold/agent/log.hpp"
#include "pinfold/forecast/memory_watch.hpp"
#include "pinfold/publish/outbox.hpp"
#include "pinfold/settings/settings.hpp"
#include "pinfold/worker/worker.hpp"

namespace pinfold::process {

/// Addresses of the service besides the command socket. An empty one is not served.
struct InterfaceSettings {
  std::string grpc_socket;                     ///< pinfold.v1
  settings::PodResourcesPlaces pod_resources;  ///< the kubelet's PodResources API
  std::string metrics_address;                 ///< "127.0.0.1:9470": HTTP, /metrics
  /// Returns the counters of the connection with a container runtime. Empty if there is none.
  std::function<worker::RuntimeCounters()> runtime = {};
  /// Returns the counters of what is published to the API server. Empty if nothing is.
  std::function<publish::PublishCounters()> published = {};
  /// Returns the outlook for the memory of NUMA nodes. Empty if there is no forecast.
  std::function<forecast::MemoryOutlook()> memory = {};
};

/// The interfaces of a running service for other programs; see docs/api.md.
class Interfaces {
 public:
  /// Serves until the object is destroyed; the worker must outlive it. The destructor waits for
  /// calls that the worker has taken, so the worker must still run or have stopped.
  /// A PodResources socket at which a process (a kubelet) listens is left alone, and the second
  /// place is used. Errors: those of Listener::open, except for the second place; kIo.
  [[nodiscard]] static Result<std::unique_ptr<Interfaces>> start(const InterfaceSettings& settings,
                                                                 worker::Worker& worker,
                                                                 const agent::LogSink& log);
  Interfaces(const Interfaces&) = delete;
  Interfaces& operator=(const Interfaces&) = delete;
  ~Interfaces();

  /// Where PodResources is served, and why there. An empty socket: nowhere.
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

}  // namespace pinfold::process
