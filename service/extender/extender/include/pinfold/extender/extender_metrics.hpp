#pragma once

#include <prometheus/metric_family.h>

#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "pinfold/cluster/cluster_view.hpp"
#include "pinfold/kube/kind.hpp"
#include "pinfold/web/api_watcher.hpp"

namespace pinfold::extender {

/// The metrics of the extender, pinfold_extender_*: docs/scheduler.md. Thread-safe.
class ExtenderMetrics {
 public:
  ExtenderMetrics();
  ExtenderMetrics(const ExtenderMetrics&) = delete;
  ExtenderMetrics& operator=(const ExtenderMetrics&) = delete;
  ~ExtenderMetrics();

  /// `verb` is "filter", "prioritize" or "preempt".
  void count_call(std::string_view verb, int status, std::chrono::duration<double> time);
  void count_nodes(std::size_t passed, std::size_t failed);

  void set_view(const cluster::ClusterView::Counts& counts);
  void set_watch(kube::Kind kind, const web::WatchStatus& status, kube::Time now);

  /// Returns everything for a scrape.
  [[nodiscard]] std::vector<prometheus::MetricFamily> collect() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pinfold::extender
