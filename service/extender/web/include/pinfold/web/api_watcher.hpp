#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "pinfold/kube/list_watch.hpp"
#include "pinfold/kube_client/api_client.hpp"
#include "pinfold/kube_client/cluster_access.hpp"

namespace pinfold::web {

/// How far a copy of the API server's objects is up to date.
struct WatchStatus {
  bool is_synced = false;      ///< all objects were listed at least once
  kube::Time last_contact{0};  ///< when the API server last answered with objects
  std::uint64_t lists = 0;
  std::uint64_t errors = 0;  ///< failed requests so far
  std::string problem;       ///< why the last request failed; "" if it did not
};

struct ApiWatcherOptions {
  kube_client::ClusterAccess access;
  kube_client::ClientTimes times;
  kube::ListWatchOptions protocol;
  std::uint64_t seed = 0;
  std::function<kube::Time()> clock;
  std::function<void(const std::string&)> warn;  ///< called by the watcher's thread
};

/// Keeps all objects of one kind up to date in a sink, in its own thread, until it is destroyed.
class ApiWatcher {
 public:
  /// Borrows the sink, which must outlive the watcher and is used by its thread only.
  ApiWatcher(kube::Kind kind, ApiWatcherOptions options, kube::ObjectSink& sink);
  ApiWatcher(const ApiWatcher&) = delete;
  ApiWatcher& operator=(const ApiWatcher&) = delete;
  ~ApiWatcher();

  [[nodiscard]] WatchStatus status() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pinfold::web
