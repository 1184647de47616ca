#pragma once

#include <podresources/v1/podresources.grpc.pb.h>
#include <podresources/v1alpha1/podresources.grpc.pb.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "pinfold/podresources/rate_limit.hpp"
#include "pinfold/worker/snapshot.hpp"

namespace pinfold::grpc {

/// The kubelet's PodResources API, v1 and v1alpha1, from the snapshots of a worker. All calls of
/// all clients share the kubelet's rate limit: 100 per second, 10 at once. Thread-safe.
class PodResourcesApi {
 public:
  using Now = std::function<podresources::RateLimit::Clock::time_point()>;
  using Snapshots = std::function<std::shared_ptr<const worker::Snapshot>()>;

  /// `node` must outlive the object. `snapshot` is Worker::snapshot.
  PodResourcesApi(const Node& node, Snapshots snapshot,
                  Now now = podresources::RateLimit::Clock::now);
  PodResourcesApi(const PodResourcesApi&) = delete;
  PodResourcesApi& operator=(const PodResourcesApi&) = delete;
  ~PodResourcesApi();

  [[nodiscard]] std::array<::grpc::Service*, 2> services();

  /// Answered calls; those above the rate limit do not count.
  struct Counts {
    std::uint64_t v1alpha1_total = 0;
    std::uint64_t total = 0;
    std::uint64_t list = 0;
    std::uint64_t get = 0;
    std::uint64_t get_allocatable = 0;
    std::uint64_t get_errors = 0;

    friend bool operator==(const Counts&, const Counts&) = default;
  };
  [[nodiscard]] Counts counts() const;

 private:
  class V1;
  class V1Alpha1;

  /// Returns whether a call may be answered, and if so counts it in `total` and `method`.
  [[nodiscard]] bool begin(std::uint64_t Counts::*total, std::uint64_t Counts::*method);

  const Node& node_;
  Snapshots snapshot_;
  Now now_;
  mutable std::mutex mutex_;  ///< protects the members below
  podresources::RateLimit limit_;
  Counts counts_;
  std::unique_ptr<V1> v1_;
  std::unique_ptr<V1Alpha1> v1alpha1_;
};

}  // namespace pinfold::grpc
