#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "client.hpp"
#include "load.hpp"
#include "must.hpp"
#include "quantile.hpp"

namespace pinfold::load {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// A way to request an admission, and how long each one took.
struct Way {
  std::string name;
  MakeClient make;
  const LoadedNode* node;
  Tally* tally = nullptr;  ///< of its service; null without one
  std::vector<double> ms;
};

/// Returns an active pod of the node. The last pods stay in the shared pool if there are too few
/// CPUs. One CPU remains for the measured pod.
LoadPod active_pod(const LoadedNode& node, int number) {
  return make_pod(static_cast<std::uint64_t>(number), number < exclusive_cpus(node) - 1 ? 1 : 0);
}

/// A node with active pods and a service, one without a service, and the ways to use them.
class Pair {
 public:
  Pair(const LoadOptions& options, int active, bool is_enforced)
      : is_enforced_(is_enforced),
        active_(active),
        served_(options.node(fmt::format("{}-{}", prefix(), active), is_enforced)),
        alone_(options.node(fmt::format("{}-{}-alone", prefix(), active), is_enforced)) {
    {
      ServiceProcess first(alone_, options.metrics_address, options.interval_s);
      fill(alone_, nullptr);
      first.stop();
    }
    service_ =
        std::make_unique<ServiceProcess>(served_, options.metrics_address, options.interval_s);
    tally_ = std::make_unique<Tally>(*service_);
    fill(served_, tally_.get());
  }

  void add_ways(std::vector<Way>& ways) {
    const std::string suffix = is_enforced_ ? ", with cgroups" : "";
    ways.push_back(
        {"socket of the commands" + suffix, make_socket_client, &served_, tally_.get(), {}});
    ways.push_back({"gRPC" + suffix, make_grpc_client, &served_, tally_.get(), {}});
    ways.push_back(
        {"a command, with the service" + suffix, make_command_client, &served_, tally_.get(), {}});
    ways.push_back(
        {"a command, without a service" + suffix, make_command_client, &alone_, nullptr, {}});
  }

  /// Prints the CPU time that the service takes for a pod that is admitted and removed again.
  void measure_cpu(int rounds) {
    const auto client = make_socket_client(served_);
    const double before = service_->cpu_us();
    for (int round = 0; round < rounds; ++round) {
      const LoadPod pod = make_pod(2'000'000 + static_cast<std::uint64_t>(round), 1);
      tally_->count_admission(client->admit(pod));
      client->remove(pod);
      tally_->count_removal();
    }
    fmt::print("{:>4} active pods  {:<44} {:7.0f} us\n", active_,
               is_enforced_ ? "CPU of the service for a pod, with cgroups"
                            : "CPU of the service for a pod",
               (service_->cpu_us() - before) / rounds);
  }

  /// Removes the service's active pods and stops the service.
  void finish() {
    const auto client = make_socket_client(served_);
    for (int i = 0; i < active_; ++i) {
      client->remove(active_pod(served_, i));
      tally_->count_removal();
    }
    tally_->check();
    service_->stop();
  }

 private:
  [[nodiscard]] std::string prefix() const { return is_enforced_ ? "enforced" : "latency"; }
  void fill(const LoadedNode& node, Tally* tally) const {
    const auto client = make_socket_client(node);
    for (int i = 0; i < active_; ++i) {
      const bool is_admitted = client->admit(active_pod(node, i));
      if (tally != nullptr) tally->count_admission(is_admitted);
    }
  }

  bool is_enforced_;
  int active_;
  LoadedNode served_;
  LoadedNode alone_;
  GroupsOf served_groups_{served_};
  GroupsOf alone_groups_{alone_};
  std::unique_ptr<ServiceProcess> service_;
  std::unique_ptr<Tally> tally_;
};

/// Uses a new connection, since the service closes idle ones.
void measure_once(Way& way, std::uint64_t number) {
  const auto client = way.make(*way.node);
  const LoadPod pod = make_pod(number, 1);
  const auto begin = SteadyClock::now();
  const bool is_admitted = client->admit(pod);
  way.ms.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
  require(is_admitted, "a pod is rejected that has room");
  if (way.tally != nullptr) way.tally->count_admission(is_admitted);
  client->remove(pod);
  if (way.tally != nullptr) way.tally->count_removal();
}

}  // namespace

void measure_latency(const LoadOptions& options) {
  constexpr double kP99 = 0.99;
  fmt::print("\nlatency of an admission, {} of each in turns, ms\n", options.rounds);
  std::mt19937 random(static_cast<unsigned>(options.seed));
  for (const int active : {0, 60, 250}) {
    if (active > options.active) break;
    std::vector<std::unique_ptr<Pair>> pairs;
    std::vector<Way> ways;
    for (const bool is_enforced : {true, false}) {
      if (is_enforced && !options.enforces) continue;
      pairs.push_back(std::make_unique<Pair>(options, active, is_enforced));
      pairs.back()->add_ways(ways);
    }
    std::vector<Way*> order;
    for (Way& way : ways) order.push_back(&way);
    std::uint64_t number = 1'000'000;
    for (int round = 0; round < options.rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (Way* const way : order) measure_once(*way, number++);
    }
    for (const Way& way : ways) {
      fmt::print("{:>4} active pods  {:<44} p50 {:7.2f}  p99 {:7.2f}\n", active, way.name,
                 quantile(way.ms, 0.5), quantile(way.ms, kP99));
    }
    for (std::size_t i = 0; options.enforces && i < ways.size() / 2; ++i) {
      const Way& without = ways[ways.size() / 2 + i];
      fmt::print("{:>4} active pods  {:<44} p50 x {:5.2f}\n", active, "cgroups: " + without.name,
                 quantile(ways[i].ms, 0.5) / quantile(without.ms, 0.5));
    }
    for (const auto& pair : pairs) {
      pair->measure_cpu(options.rounds);
      pair->finish();
    }
  }
}

}  // namespace pinfold::load
