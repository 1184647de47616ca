#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client.hpp"
#include "load.hpp"
#include "memory_curve.hpp"
#include "must.hpp"
#include "quantile.hpp"

namespace pinfold::load {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int kClients = 4;         ///< half of them through the command socket, half through gRPC
constexpr int kOneInRejected = 50;  ///< one pod in 50 requests more CPUs than a NUMA node has

struct Times {
  std::vector<double> admit, start, remove;  ///< ms
};

/// State shared by all clients of a churn.
struct Churn {
  const LoadOptions& options;
  const LoadedNode& node;
  Tally& tally;
  /// Returns whether another pod should be started.
  std::function<bool()> wants_more;
  SteadyClock::time_point begin = SteadyClock::now();
  std::atomic<std::uint64_t> begun{0};  ///< number of pods started
};

template <class Call>
void timed(std::vector<double>& ms, const Call& call) {
  const auto begin = SteadyClock::now();
  call();
  ms.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
}

/// One client, with its share of the active pods.
class Churner {
 public:
  Churner(Churn& churn, int number)
      : churn_(churn),
        client_(number % 2 == 0 ? make_socket_client(churn.node) : make_grpc_client(churn.node)),
        random_(static_cast<unsigned>(churn.options.seed * kClients + number)),
        first_slot_(number * churn.options.at_once / kClients),
        slots_(static_cast<std::size_t>((number + 1) * churn.options.at_once / kClients -
                                        first_slot_)) {}

  Times run() {
    while (!slots_.empty() && churn_.wants_more()) step(random_() % slots_.size());
    for (auto& pod : slots_) remove(pod);
    return times_;
  }

 private:
  /// Puts a pod into an empty slot, or removes the pod of a full one.
  void step(std::size_t slot) {
    if (slots_[slot]) {
      remove(slots_[slot]);
      return;
    }
    const std::uint64_t number = churn_.begun++;
    wait_for_turn(number);
    const LoadPod pod = make_pod(number, cpus_of(slot));
    bool is_admitted = false;
    timed(times_.admit, [&] { is_admitted = client_->admit(pod); });
    churn_.tally.count_admission(is_admitted);
    if (!is_admitted) return;
    timed(times_.start, [&] { client_->start(pod); });
    slots_[slot] = pod;
  }
  void remove(std::optional<LoadPod>& pod) {
    if (!pod) return;
    timed(times_.remove, [&] { client_->remove(*pod); });
    churn_.tally.count_removal();
    pod.reset();
  }
  void wait_for_turn(std::uint64_t number) const {
    if (churn_.options.rate == 0) return;
    std::this_thread::sleep_until(
        churn_.begin +
        std::chrono::duration_cast<SteadyClock::duration>(
            std::chrono::duration<double>(static_cast<double>(number) / churn_.options.rate)));
  }
  /// Returns a number of CPUs for which all slots together have room; 0 for slots without a CPU
  /// left.
  int cpus_of(std::size_t slot) {
    if (random_() % kOneInRejected == 0) return kMachineCpus;
    constexpr int kMost = 4;
    const int available = exclusive_cpus(churn_.node);
    if (available >= kMost * churn_.options.at_once) {
      return 1 + static_cast<int>(random_() % kMost);
    }
    return first_slot_ + static_cast<int>(slot) < available ? 1 : 0;
  }

  Churn& churn_;
  std::unique_ptr<Client> client_;
  std::mt19937 random_;
  int first_slot_;
  std::vector<std::optional<LoadPod>> slots_;
  Times times_;
};

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Starts all clients. The returned futures become ready when they end.
std::vector<std::future<Times>> start_clients(Churn& churn) {
  std::vector<std::future<Times>> running;
  for (int i = 0; i < kClients; ++i) {
    running.push_back(
        std::async(std::launch::async, [&churn, i] { return Churner(churn, i).run(); }));
  }
  return running;
}

void report(std::vector<std::future<Times>> running, const Churn& churn) {
  constexpr double kP99 = 0.99;
  Times all;
  for (auto& each : running) {
    const Times times = each.get();
    append(all.admit, times.admit);
    append(all.start, times.start);
    append(all.remove, times.remove);
  }
  const std::chrono::duration<double, std::milli> elapsed = SteadyClock::now() - churn.begin;
  fmt::print("{:.2f} ms per pod, {} clients together; p50 / p99 of a request, ms:",
             elapsed.count() / static_cast<double>(churn.tally.admitted()), kClients);
  for (const auto& [name, ms] : {std::pair{"admit", &all.admit}, std::pair{"start", &all.start},
                                 std::pair{"remove", &all.remove}}) {
    fmt::print("  {} {:.2f} / {:.2f}", name, quantile(*ms, 0.5), quantile(*ms, kP99));
  }
  fmt::print("\n");
}

}  // namespace

void measure_churn(const LoadOptions& options) {
  fmt::print("\nchurn: {} pods admitted, started and removed, up to {} at once\n", options.pods,
             options.at_once);
  const LoadedNode node = options.node("churn", options.enforces);
  const GroupsOf groups(node);
  ServiceProcess service(node, options.metrics_address, options.interval_s);
  Tally tally(service);
  Churn churn{options, node, tally,
              [&] { return tally.admitted() < static_cast<std::uint64_t>(options.pods); }};
  report(start_clients(churn), churn);
  tally.check();
  service.stop();
}

void measure_memory(const LoadOptions& options) {
  fmt::print(
      "\nmemory: churn for {} s, up to {} pods at once; KiB\n{:>8} {:>10} {:>10} {:>10} {:>10}\n",
      options.duration_s, options.at_once, "seconds", "pods", "VmRSS", "RssAnon", "RssFile");
  const LoadedNode node = options.node("memory", options.enforces);
  const GroupsOf groups(node);
  ServiceProcess service(node, options.metrics_address, options.interval_s);
  Tally tally(service);
  std::vector<MemorySample> samples;
  const auto sample = [&](double seconds) {
    samples.push_back({seconds, service.memory()});
    const Memory& now = samples.back().memory;
    fmt::print("{:8.0f} {:10} {:10} {:10} {:10}\n", seconds, tally.admitted(), now.total,
               now.anonymous, now.file);
    (void)std::fflush(stdout);
  };
  sample(0);
  std::atomic<bool> is_over = false;
  Churn churn{options, node, tally, [&] { return !is_over; }};
  auto running = start_clients(churn);
  try {
    for (int at = options.every_s; at <= options.duration_s; at += options.every_s) {
      std::this_thread::sleep_until(churn.begin + std::chrono::seconds(at));
      sample(at);
    }
  } catch (...) {
    is_over = true;
    throw;
  }
  is_over = true;
  report(std::move(running), churn);
  tally.check();
  service.stop();
  if (!options.svg.empty()) {
    std::ofstream out(options.svg);
    out << draw_memory(samples, options.limit_mib);
    out.close();
    require(!out.fail(), fmt::format("write '{}'", options.svg));
  }
  const auto too_much = judge_memory(samples, options.limit_mib);
  require(!too_much, too_much.value_or(""));
  fmt::print("memory: below {} MiB, and not growing\n", options.limit_mib);
}

}  // namespace pinfold::load
