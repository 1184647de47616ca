#include "pinfold/simulate/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <utility>

#include "cluster_rules.hpp"
#include "dice.hpp"
#include "key_values.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/predict/node_topology.hpp"
#include "pinfold/simulate/workload.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::simulate {
namespace {

using kube::Time;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kZones = 2;
constexpr int kCpusOfZone = 8;
constexpr std::int64_t kAllocatableMilli =
    (std::int64_t{kZones} * kCpusOfZone - 1) * 1000;  // CPU 0 is reserved
constexpr milliseconds kBetweenArrivals(10);
constexpr milliseconds kIsSeen(30);  // a bind or removal, by others
constexpr milliseconds kRetry(1'000);
constexpr int kMostAttempts = 30;

Machine make_machine() {
  MachineDescription description;
  for (int id = 0; id < kZones * kCpusOfZone; ++id) {
    const int zone = id / kCpusOfZone;
    description.cpus.push_back(
        {CpuId{id}, CoreId{id}, SocketId{zone}, NumaId{zone}, CacheId{zone}});
  }
  for (int zone = 0; zone < kZones; ++zone) {
    NumaNode node;
    node.id = NumaId{zone};
    node.memory = std::uint64_t{64} << 30U;
    description.numa_nodes.push_back(node);
  }
  return *Machine::make(std::move(description));  // is sound
}

Node make_kind(const char* policy) {
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.eviction_hard.emplace();
  config.topology_manager_policy = policy;
  config.topology_manager_scope = "pod";
  return *Node::make(make_machine(), config);  // is sound
}

/// Half of the pods are Guaranteed with whole CPUs, which the kubelets align.
PodSpec make_cluster_pod(std::size_t number, Dice& dice) {
  const bool is_aligned = dice.below(2) == 0;
  const auto cpus = static_cast<std::int64_t>(1 + dice.below(is_aligned ? 6 : 3));
  PodSpec pod;
  pod.namespace_name = "cluster";
  pod.name = fmt::format("{}-{}", is_aligned ? "aligned" : "shared", number);
  pod.uid = PodUid(pod.namespace_name + "_" + pod.name);
  Container container;
  container.name = "c";
  container.resources.requests = {{"cpu", Quantity::milli(cpus * 1000)},
                                  {"memory", Quantity::bytes(std::int64_t{1} << 30)}};
  if (is_aligned) container.resources.limits = container.resources.requests;
  pod.containers.push_back(std::move(container));
  return pod;
}

std::int64_t milli_of(const PodSpec& pod) {
  return pod.containers.front().resources.requests.at("cpu").milli_value();
}

/// The cluster, its scheduler and the clock of both.
class SimulatedScheduling {
 public:
  SimulatedScheduling(const ClusterPlan& plan, ScheduleRule rule)
      : plan_(plan), dice_(plan.seed), nodes_(plan.nodes) {
    result_.rule = rule;
    std::vector<NodeTopology> topologies;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].kind = &kinds_[i % kinds_.size()];
      start(nodes_[i]);
      topologies.push_back(topology_of(i));
    }
    rule_ = make_cluster_rule(rule, topologies, plan.delay);
  }

  ClusterResult run(const std::function<bool(std::size_t)>& progress) {
    for (std::size_t i = 0; i < plan_.pods; ++i) {
      pass_time(now_ + kBetweenArrivals);
      arrived_ = i;
      PodSpec pod = make_cluster_pod(i, dice_);
      schedule({std::move(pod), lifetime(), 0, 0});
      if (progress && !progress(i + 1)) break;
    }
    while (retries_ > 0) pass_time(agenda_.top().time);
    std::sort(result_.filter_times.begin(), result_.filter_times.end());
    result_.fleet_bytes = rule_->bytes();
    return std::move(result_);
  }

 private:
  struct SimulatedKubelet {
    const Node* kind = nullptr;
    NodeState state;
    std::int64_t free_milli = kAllocatableMilli;  ///< by the sums of the scheduler
  };
  struct Attempt {
    PodSpec pod;
    milliseconds lifetime{0};
    int attempts = 0;
    int bounces = 0;
  };
  struct Due {
    Time time{0};
    std::uint64_t order = 0;
    std::function<void()> run;

    friend bool operator>(const Due& a, const Due& b) {
      return std::pair(a.time, a.order) > std::pair(b.time, b.order);
    }
  };

  /// Starts a kubelet from an empty state, which no manager rejects.
  static void start(SimulatedKubelet& kubelet) {
    (void)kubelet.kind->cpu().start(kubelet.state.cpu);
    (void)kubelet.kind->memory().start(kubelet.state.memory);
  }

  void at(Time time, std::function<void()> run) { agenda_.push({time, order_++, std::move(run)}); }

  void pass_time(Time until) {
    while (!agenda_.empty() && agenda_.top().time <= until) {
      const Due due = agenda_.top();
      agenda_.pop();
      now_ = std::max(now_, due.time);
      due.run();
    }
    now_ = std::max(now_, until);
  }

  /// On average as long as all arrivals take, so that the cluster fills.
  milliseconds lifetime() {
    const auto all = plan_.pods * static_cast<std::size_t>(kBetweenArrivals.count());
    return milliseconds(static_cast<std::int64_t>(1 + dice_.below(2 * all)));
  }

  [[nodiscard]] NodeTopology topology_of(std::size_t node) const {
    return describe(*nodes_[node].kind, nodes_[node].state, cluster_node_name(node));
  }

  /// Like kube-scheduler, looks for a part of the nodes that fit, and starts where it stopped.
  std::vector<std::size_t> fitting(std::int64_t milli) {
    constexpr std::size_t kAtLeast = 100;
    const std::size_t percent =
        std::max<std::size_t>(5, 50 - std::min<std::size_t>(45, nodes_.size() / 125));
    const std::size_t enough = std::max(kAtLeast, nodes_.size() * percent / 100);
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < nodes_.size() && found.size() < enough; ++i) {
      const std::size_t node = next_node_;
      next_node_ = (next_node_ + 1) % nodes_.size();
      if (nodes_[node].free_milli >= milli) found.push_back(node);
    }
    return found;
  }

  [[nodiscard]] std::size_t best_of(const std::vector<std::size_t>& nodes) const {
    const auto is_better = [&](std::size_t a, std::size_t b) {
      const std::int64_t left = nodes_[a].free_milli;
      const std::int64_t right = nodes_[b].free_milli;
      return plan_.score == SchedulerScore::kPack ? left < right : left > right;
    };
    return *std::min_element(nodes.begin(), nodes.end(), is_better);
  }

  std::vector<std::size_t> filter(const PodSpec& pod, std::vector<std::size_t> nodes) {
    const auto start = Clock::now();
    auto passed = rule_->filter(pod, std::move(nodes), now_);
    result_.filter_times.push_back(Clock::now() - start);
    return passed;
  }

  void schedule(Attempt attempt) {
    ++attempt.attempts;
    const auto passed = filter(attempt.pod, fitting(milli_of(attempt.pod)));
    if (passed.empty()) {
      ++result_.waited;
      return try_again(std::move(attempt));
    }
    const std::size_t node = best_of(passed);
    SimulatedKubelet& kubelet = nodes_[node];
    Decision decision = decide(*kubelet.kind, std::move(kubelet.state), attempt.pod);
    const bool rejected = std::holds_alternative<Rejected>(decision);
    kubelet.state = std::visit([](auto& of) { return std::move(of.next); }, decision);
    at(now_ + kIsSeen,
       [this, pod = attempt.pod, node, rejected] { rule_->show_bound(pod, node, rejected, now_); });
    if (rejected) return bounce(std::move(attempt));
    place(attempt, node);
  }

  void place(const Attempt& attempt, std::size_t node) {
    ++result_.placed;
    result_.peak = std::max(result_.peak, ++running_);
    nodes_[node].free_milli -= milli_of(attempt.pod);
    publish_later(node);
    at(now_ + attempt.lifetime, [this, pod = attempt.pod, node] {
      SimulatedKubelet& kubelet = nodes_[node];
      kubelet.state = remove_pod(*kubelet.kind, std::move(kubelet.state), pod.uid);
      kubelet.free_milli += milli_of(pod);
      --running_;
      publish_later(node);
      at(now_ + kIsSeen, [this, uid = pod.uid] { rule_->show_removed(uid); });
    });
  }

  /// The controller of a rejected pod creates another one at once.
  void bounce(Attempt attempt) {
    ++result_.bounced;
    ++result_.bounced_by_time[arrived_ * ClusterResult::kParts / plan_.pods];
    ++attempt.bounces;
    attempt.pod.uid = PodUid(fmt::format("cluster_{}-{}", attempt.pod.name, attempt.bounces));
    try_again(std::move(attempt));
  }

  void try_again(Attempt attempt) {
    if (attempt.attempts == kMostAttempts) {
      ++result_.unplaced;
      return;
    }
    ++retries_;
    at(now_ + kRetry, [this, again = std::move(attempt)] {
      --retries_;
      schedule(again);
    });
  }

  void publish_later(std::size_t node) {
    at(now_ + kIsSeen + plan_.delay,
       [this, node, topology = topology_of(node)] { rule_->publish(node, topology); });
  }

  ClusterPlan plan_;
  Dice dice_;
  std::array<Node, 2> kinds_ = {make_kind("single-numa-node"), make_kind("restricted")};
  std::vector<SimulatedKubelet> nodes_;
  std::unique_ptr<ClusterRule> rule_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> agenda_;
  std::uint64_t order_ = 0;
  Time now_{0};
  std::size_t next_node_ = 0;
  std::size_t arrived_ = 0;  ///< number of the last arrival
  std::size_t running_ = 0;
  std::size_t retries_ = 0;
  ClusterResult result_;
};

Result<void> set_field(ClusterPlan& plan, std::string_view key, std::string_view value) {
  constexpr std::uint64_t kMostNodes = 100'000;
  constexpr std::uint64_t kMostPods = 1'000'000;
  constexpr std::uint64_t kMostDelay = 3600;
  if (key == "nodes") {
    PINFOLD_LET_WRAP(plan.nodes, parse_number(value, 1, kMostNodes), "nodes");
  } else if (key == "pods") {
    PINFOLD_LET_WRAP(plan.pods, parse_number(value, 1, kMostPods), "pods");
  } else if (key == "seed") {
    PINFOLD_LET_WRAP(plan.seed, parse_number(value, 0, std::numeric_limits<std::uint64_t>::max()),
                     "seed");
  } else if (key == "delay") {
    PINFOLD_LET_WRAP(const auto seconds, parse_number(value, 0, kMostDelay), "delay");
    plan.delay = std::chrono::seconds(static_cast<std::int64_t>(seconds));
  } else if (key == "score" && (value == "pack" || value == "spread")) {
    plan.score = value == "pack" ? SchedulerScore::kPack : SchedulerScore::kSpread;
  } else {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}={}': expected nodes=N, pods=N, seed=N, delay=SECONDS, score=pack "
                            "or score=spread",
                            printable(key), printable(value)));
  }
  return {};
}

}  // namespace

Result<ClusterPlan> parse_cluster_plan(std::string_view text) {
  ClusterPlan plan;
  PINFOLD_TRY(read_key_values(text, [&](std::string_view key, std::string_view value) {
    return set_field(plan, key, value);
  }));
  return plan;
}

ClusterResult simulate_cluster(const ClusterPlan& plan, ScheduleRule rule,
                               const std::function<bool(std::size_t)>& progress) {
  return SimulatedScheduling(plan, rule).run(progress);
}

std::chrono::nanoseconds percentile(const ClusterResult& result, int percent) {
  if (result.filter_times.empty()) return {};
  const std::size_t last = result.filter_times.size() - 1;
  return result.filter_times[last * static_cast<std::size_t>(percent) / 100];
}

}  // namespace pinfold::simulate
