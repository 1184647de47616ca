#include "pinfold/extender/extender_metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

namespace pinfold::extender {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

prometheus::Histogram::BucketBoundaries buckets() {
  return {0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1};
}

Family<Gauge>& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(registry);
}

Family<Counter>& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}

/// Shows a count that is kept elsewhere.
void raise(Counter& counter, std::uint64_t count) {
  counter.Increment(static_cast<double>(count) - counter.Value());
}

}  // namespace

struct ExtenderMetrics::Parts {
  prometheus::Registry registry;
  Family<Histogram>& seconds = BuildHistogram()
                                   .Name("pinfold_extender_call_duration_seconds")
                                   .Help("Time to answer a call of kube-scheduler.")
                                   .Register(registry);
  Family<Counter>& calls =
      counter(registry, "pinfold_extender_calls_total", "Calls of kube-scheduler, by HTTP status.");
  Family<Counter>& judged =
      counter(registry, "pinfold_extender_filtered_nodes_total", "Nodes of filter calls.");
  Family<Counter>& rejections =
      counter(registry, "pinfold_extender_rejected_pods_total",
              "Pods that kubelets have rejected with a TopologyAffinityError.");
  Family<Gauge>& objects =
      gauge(registry, "pinfold_extender_objects", "Objects that are known, by kind.");
  Family<Gauge>& bytes =
      gauge(registry, "pinfold_extender_fleet_bytes", "Memory of the amounts of all nodes.");
  Family<Gauge>& synced = gauge(registry, "pinfold_extender_watch_synced",
                                "Whether all objects of a kind were listed at least once.");
  Family<Gauge>& age = gauge(registry, "pinfold_extender_watch_age_seconds",
                             "Time since the API server last sent objects of a kind.");
  Family<Counter>& lists =
      counter(registry, "pinfold_extender_watch_lists_total", "Lists of all objects of a kind.");
  Family<Counter>& errors =
      counter(registry, "pinfold_extender_watch_errors_total", "Failed requests for a kind.");
};

ExtenderMetrics::ExtenderMetrics() : parts_(std::make_unique<Parts>()) {}
ExtenderMetrics::~ExtenderMetrics() = default;

void ExtenderMetrics::count_call(std::string_view verb, int status,
                                 std::chrono::duration<double> time) {
  const std::string name(verb);
  parts_->seconds.Add({{"verb", name}}, buckets()).Observe(time.count());
  parts_->calls.Add({{"verb", name}, {"status", std::to_string(status)}}).Increment();
}

void ExtenderMetrics::count_nodes(std::size_t passed, std::size_t failed) {
  parts_->judged.Add({{"outcome", "passed"}}).Increment(static_cast<double>(passed));
  parts_->judged.Add({{"outcome", "failed"}}).Increment(static_cast<double>(failed));
}

void ExtenderMetrics::set_view(const cluster::ClusterView::Counts& counts) {
  const auto set = [&](const char* kind, std::size_t count) {
    parts_->objects.Add({{"kind", kind}}).Set(static_cast<double>(count));
  };
  set("nodes", counts.nodes);
  set("topologies", counts.topologies);
  set("unread_topologies", counts.unread);
  set("bound_pods", counts.pods);
  set("departed_pods", counts.departed);
  set("pods_in_flight", counts.in_flight);
  raise(parts_->rejections.Add({}), counts.rejections);
  parts_->bytes.Add({}).Set(static_cast<double>(counts.bytes));
}

void ExtenderMetrics::set_watch(kube::Kind kind, const web::WatchStatus& status, kube::Time now) {
  const prometheus::Labels labels = {{"kind", std::string(to_string(kind))}};
  parts_->synced.Add(labels).Set(status.is_synced ? 1 : 0);
  const std::chrono::duration<double> age = now - status.last_contact;
  parts_->age.Add(labels).Set(age.count());
  raise(parts_->lists.Add(labels), status.lists);
  raise(parts_->errors.Add(labels), status.errors);
}

std::vector<prometheus::MetricFamily> ExtenderMetrics::collect() const {
  return parts_->registry.Collect();
}

}  // namespace pinfold::extender
