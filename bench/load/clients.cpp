#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
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
constexpr int kAdmissions = 240;  ///< per round

/// Several clients that admit pods at the same time.
struct Crowd {
  std::string name;
  std::size_t size;
  MakeClient make;
  double seconds = 0;
  double transactions = 0;
  std::vector<double> ms = {};
};

Crowd make_crowd(std::size_t size, const std::string& name, MakeClient make) {
  return {fmt::format("{} client{}, {}", size, size == 1 ? "" : "s", name), size, make};
}

/// Admits every `clients`-th pod from `first` on. Returns how long each took.
std::vector<double> admit_some(Client& client, const std::vector<LoadPod>& pods, std::size_t first,
                               std::size_t clients, Tally& tally) {
  std::vector<double> ms;
  for (std::size_t i = first; i < pods.size(); i += clients) {
    const auto begin = SteadyClock::now();
    const bool is_admitted = client.admit(pods[i]);
    ms.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
    tally.count_admission(is_admitted);
    require(is_admitted, "a pod is rejected that has room");
  }
  return ms;
}

/// All clients together admit all pods, then remove them. They connect for each round, because the
/// service closes idle connections.
void do_round(Crowd& crowd, const LoadedNode& node, const std::vector<LoadPod>& pods,
              const ServiceProcess& service, Tally& tally) {
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < crowd.size; ++i) clients.push_back(crowd.make(node));
  const double before = service.metrics().at(kTransactions);
  std::vector<std::future<std::vector<double>>> running;
  const auto begin = SteadyClock::now();
  for (std::size_t i = 0; i < clients.size(); ++i) {
    running.push_back(std::async(std::launch::async, [&, i] {
      return admit_some(*clients[i], pods, i, clients.size(), tally);
    }));
  }
  for (auto& each : running) {
    const auto ms = each.get();
    crowd.ms.insert(crowd.ms.end(), ms.begin(), ms.end());
  }
  crowd.seconds += std::chrono::duration<double>(SteadyClock::now() - begin).count();
  crowd.transactions += service.metrics().at(kTransactions) - before;
  for (const LoadPod& pod : pods) {
    clients.front()->remove(pod);
    tally.count_removal();
  }
}

}  // namespace

void measure_clients(const LoadOptions& options) {
  constexpr double kP99 = 0.99;
  constexpr std::size_t kManyClients = 8;
  constexpr int kRoundsForOne = 20;  // a round with one client has many admissions
  const int rounds = std::max(1, options.rounds / kRoundsForOne);
  const LoadedNode node = options.node("clients", options.enforces);
  const GroupsOf groups(node);
  ServiceProcess service(node, options.metrics_address, options.interval_s);
  Tally tally(service);
  std::vector<LoadPod> pods;
  for (int i = 0; i < kAdmissions; ++i) {
    pods.push_back(make_pod(static_cast<std::uint64_t>(i), i < exclusive_cpus(node) ? 1 : 0));
  }
  std::vector<Crowd> crowds;
  for (const std::size_t size : {std::size_t{1}, kManyClients}) {
    crowds.push_back(make_crowd(size, "socket of the commands", make_socket_client));
    crowds.push_back(make_crowd(size, "gRPC", make_grpc_client));
  }
  for (int round = 0; round < rounds; ++round) {
    for (Crowd& crowd : crowds) do_round(crowd, node, pods, service, tally);
  }
  fmt::print("\nclients at once: {} admissions from the empty node, {} times in turns\n",
             kAdmissions, rounds);
  for (const Crowd& crowd : crowds) {
    const auto admissions = static_cast<double>(crowd.ms.size());
    fmt::print(
        "{:<36} {:6.0f} admissions/s  {:4.2f} commits per admission  p50 {:6.2f} ms  p99 {:6.2f} "
        "ms\n",
        crowd.name, admissions / crowd.seconds, crowd.transactions / admissions,
        quantile(crowd.ms, 0.5), quantile(crowd.ms, kP99));
  }
  tally.check();
  service.stop();
}

}  // namespace pinfold::load
