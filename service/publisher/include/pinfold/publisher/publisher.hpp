#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "pinfold/agent/log.hpp"
#include "pinfold/kube_client/api_client.hpp"
#include "pinfold/kube_client/cluster_access.hpp"
#include "pinfold/publish/outbox.hpp"
#include "pinfold/settings/publish_settings.hpp"
#include "pinfold/worker/worker.hpp"

namespace pinfold::publisher {

struct PublisherOptions {
  kube_client::ClusterAccess access;
  settings::PublishSettings settings;
  std::uint64_t seed = 0;  ///< of the jitter of waits
  agent::LogSink log;      ///< called by the publisher's thread
  kube_client::ClientTimes times = {};
  publish::OutboxOptions outbox = {};
};

/// Publishes the node's topology and the placements of its pods at every change, in its own thread,
/// until it is destroyed. The thread only reads snapshots, so that a slow or unreachable API server
/// delays nothing on the node: failures are logged, counted and tried again.
class Publisher {
 public:
  /// Borrows the worker, which must outlive it.
  Publisher(PublisherOptions options, worker::Worker& worker);
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;
  /// Ends a request in progress.
  ~Publisher();

  [[nodiscard]] publish::PublishCounters counters() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Returns the name under which a node is registered: that of the settings, else the variable
/// NODE_NAME, else `machine`, which is the host name. `variable` returns the value of a variable of
/// the environment, "" if it is not set.
[[nodiscard]] std::string node_name(const settings::PublishSettings& settings,
                                    const std::function<std::string(const char*)>& variable,
                                    const std::string& machine);

}  // namespace pinfold::publisher
