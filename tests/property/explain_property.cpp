#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "draw.hpp"
#include "pinfold/api/validation.hpp"
#include "pinfold/explain/explanation.hpp"
#include "pinfold/explain/remedies.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"
#include "random_state.hpp"

/// The promises of an explanation: each remedy, once applied, admits the pod; no smaller change
/// does; and nothing helps if none is named.
namespace pinfold::test {
namespace {

constexpr const char* kGpu = "example.com/gpu";
constexpr const char* kPages = "hugepages-1Gi";

bool admits(const Node& node, const NodeState& state, const PodSpec& pod) {
  return std::holds_alternative<Admitted>(
      decide(node, state, pod, nullptr, nullptr, AdmissionChecks::kManagersAndRequests));
}

/// One to four NUMA nodes of one socket each, with one or two threads a core; some with huge pages.
Machine any_machine() {
  const int numa_nodes = draw(1, 4);
  const int cores = draw(2, numa_nodes == 4 ? 3 : 5);
  const bool has_pages = draw(0, 2) == 0;
  const int threads = draw(1, 2);
  MachineDescription description;
  int id = 0;
  for (int numa = 0; numa < numa_nodes; ++numa) {
    for (int core = 0; core < cores; ++core) {
      const int first = id;
      for (int thread = 0; thread < threads; ++thread, ++id) {
        description.cpus.push_back(
            {CpuId{id}, CoreId{first}, SocketId{numa}, NumaId{numa}, CacheId{numa}});
      }
    }
    NumaNode node;
    node.id = NumaId{numa};
    node.memory = static_cast<std::uint64_t>(draw(4, 12)) << 30U;
    if (has_pages) node.hugepages[kPages] = static_cast<std::uint64_t>(draw(0, 2)) << 30U;
    description.numa_nodes.push_back(node);
    for (int gpu = draw(0, 2); gpu > 0; --gpu) {
      const bool has_topology = draw(0, 3) != 0;
      description.devices.push_back(
          {kGpu, "gpu-" + std::to_string(description.devices.size()),
           has_topology ? std::vector<NumaId>{NumaId{numa}} : std::vector<NumaId>{}});
    }
  }
  return Machine::make(std::move(description)).value();
}

/// Reserves one or two CPUs anywhere, and memory also by eviction and on the last NUMA node.
void reserve_any(const Machine& machine, Config& config) {
  const int cpus = static_cast<int>(machine.cpus().size());
  CpuSet reserved{draw(0, cpus - 1)};
  reserved.insert(CpuId{draw(0, cpus - 1)});
  constexpr int kFew = 3;
  if (cpus > kFew && draw(0, 1) == 1) config.reserved_system_cpus = reserved.to_string();
  if (draw(0, 1) == 0) return;
  (*config.eviction_hard)["memory.available"] = "100Mi";
  if (config.reserved_memory.empty()) return;
  const int last = machine.numa_count() - 1;
  if (last > 0 && draw(0, 1) == 1) {
    config.reserved_memory.push_back({last, {{"memory", "100Mi"}}});
  } else {
    config.reserved_memory.front().limits["memory"] = "1124Mi";
  }
}

/// Adds options of the CPU manager that go together.
void add_any_options(const Machine& machine, Config& config) {
  config.feature_gates["CPUManagerPolicyAlphaOptions"] = true;
  for (const char* const option :
       {"distribute-cpus-across-numa", "align-by-socket", "strict-cpu-reservation",
        "prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"}) {
    if (draw(0, 5) != 0) continue;
    Config more = config;
    more.cpu_manager_policy_options[option] = "true";
    if (Node::make(machine, more)) config = std::move(more);
  }
}

Config any_config(const Machine& machine) {
  Config config =
      aligning_config(std::string(kTopologyPolicyNames[static_cast<std::size_t>(draw(0, 3))]),
                      std::string(kTopologyScopeNames[static_cast<std::size_t>(draw(0, 1))]));
  config.profile = kProfiles[static_cast<std::size_t>(draw(0, 3))];
  config.feature_gates["PodLevelResourceManagers"] = draw(0, 1) == 1;
  if (draw(0, 2) != 0) config = with_memory_manager(std::move(config));
  reserve_any(machine, config);
  if (draw(0, 4) == 0) {
    config.cpu_manager_policy = "none";
  } else if (machine.cpus_per_core() > 1 && draw(0, 1) == 1) {
    config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  }
  if (config.cpu_manager_policy == "static") add_any_options(machine, config);
  return config;
}

Node any_node() {
  Machine machine = any_machine();
  const Config config = any_config(machine);
  auto node = Node::make(std::move(machine), config);
  if (!node) throw std::logic_error(node.error().error);
  return *std::move(node);
}

/// Returns a pod with devices and huge pages in some containers.
PodSpec any_wanted_pod() {
  PodSpec pod = any_pod("wanted");
  for (Container& container : pod.containers) {
    if (draw(0, 2) != 0) continue;
    const Quantity count = Quantity::of(draw(1, 2), Quantity::Format::kDecimalSi);
    container.resources.limits[kGpu] = count;
    container.resources.requests[kGpu] = count;
  }
  for (Container& container : pod.containers) {
    if (!container.resources.limits.contains("memory") || draw(0, 4) != 0) continue;
    const Quantity pages = Quantity::bytes(std::int64_t{draw(1, 3)} << 30U);
    container.resources.limits[kPages] = pages;
    container.resources.requests[kPages] = pages;
  }
  return pod;
}

void log(const Node& node, const NodeState& state, const PodSpec& pod) {
  RC_LOG() << to_json(node.config()).dump() << "\n";
  for (const ActivePod& active : state.pods) RC_LOG() << to_json(active.spec).dump() << "\n";
  RC_LOG() << to_json(pod).dump() << "\n";
}

NodeState without(const Node& node, NodeState state, const std::vector<PodUid>& gone) {
  for (const PodUid& uid : gone) state = remove_pod(node, std::move(state), uid);
  return state;
}

void check_pods(const Node& node, const NodeState& state, const PodSpec& pod,
                const std::vector<PodUid>& gone) {
  RC_ASSERT(!gone.empty());
  RC_ASSERT(admits(node, without(node, state, gone), pod));
  for (const PodUid& stays : gone) {
    std::vector<PodUid> fewer = gone;
    std::erase(fewer, stays);
    RC_ASSERT(!admits(node, without(node, state, fewer), pod));
  }
  if (gone.size() < 2) return;
  for (const ActivePod& one : state.pods) {
    RC_ASSERT(!admits(node, without(node, state, {one.spec.uid}), pod));
    if (gone.size() < 3) continue;
    for (const ActivePod& other : state.pods) {
      RC_ASSERT(!admits(node, without(node, state, {one.spec.uid, other.spec.uid}), pod));
    }
  }
}

void check_moves(const Node& node, const NodeState& state, const PodSpec& pod,
                 const std::vector<PlannedContainer>& moves) {
  RC_ASSERT(!moves.empty());
  bool is_planned = false;
  for (const std::size_t steps : {kMoveSteps, kDefragmentationSteps}) {
    const auto plan = plan_defragmentation(node, release_stale(node, state), pod,
                                           {false, steps, AdmissionChecks::kManagersAndRequests})
                          .value();
    if (plan.moves != moves) continue;
    is_planned = true;
    RC_ASSERT(admits(node, plan.next, pod));
  }
  RC_ASSERT(is_planned);
}

/// A running pod requests less, and stays Burstable.
void check_resize(const Node& node, NodeState state, const PodSpec& pod, const PodSpec& smaller) {
  const auto running = state.pods.find(smaller.uid);
  RC_ASSERT(running != state.pods.end());
  RC_ASSERT(qos_class((*running).spec, node.gates()) == QosClass::kBurstable);
  RC_ASSERT(qos_class(smaller, node.gates()) == QosClass::kBurstable);
  state.pods.replace_spec(running, smaller);
  RC_ASSERT(admits(node, state, pod));
}

/// The node starts with the new configuration, at least after a reconfiguration.
void check_setting(const Node& node, const NodeState& state, const PodSpec& pod,
                   const Config& config) {
  const Node after = Node::make(node.machine(), config).value();
  NodeState started = state;
  if (after.cpu().start(started.cpu) && after.memory().start(started.memory)) {
    RC_ASSERT(admits(after, started, pod));
    return;
  }
  const PlanOptions options{false, kMoveSteps, AdmissionChecks::kManagersAndRequests};
  const auto plan = plan_reconfiguration(node, state, after, options).value();
  RC_ASSERT(plan.evicted.empty());
  RC_ASSERT(admits(after, plan.next, pod));
}

void check_remedy(const Node& node, const NodeState& state, const PodSpec& pod,
                  const Remedy& remedy) {
  RC_LOG() << remedy.text << "\n";
  switch (remedy.kind) {
    case Remedy::Kind::kRequest:
      RC_ASSERT(admits(node, state, remedy.pod.value()));
      RC_ASSERT(remedy.pod->uid == pod.uid);
      break;
    case Remedy::Kind::kMoves:
      check_moves(node, state, pod, remedy.moves);
      break;
    case Remedy::Kind::kResize:
      check_resize(node, state, pod, remedy.pod.value());
      break;
    case Remedy::Kind::kPods:
      check_pods(node, state, pod, remedy.pods);
      break;
    case Remedy::Kind::kSetting:
      check_setting(node, release_stale(node, state), pod, remedy.config.value());
      break;
    case Remedy::Kind::kOnline:
      RC_FAIL("find_remedies() knows no offline CPUs");
      break;
  }
}

/// Returns the requests of a pod: those of its containers, then its own.
std::vector<Resources*> all_resources(PodSpec& pod) {
  std::vector<Resources*> all;
  for (Container& container : pod.containers) all.push_back(&container.resources);
  if (pod.resources) all.push_back(&*pod.resources);
  return all;
}

/// Returns by how much an amount is changed: memory by 256Mi, huge pages by one page.
std::int64_t step_of(const std::string& resource) {
  if (!is_memory_resource(resource)) return 1;
  return std::int64_t{resource == kPages ? 1024 : 256} << 20U;
}

/// CPUs and devices one by one, memory in steps, the largest first.
std::vector<Quantity> smaller_amounts(const std::string& resource, const Quantity& from) {
  const std::int64_t step = step_of(resource);
  const bool is_memory = is_memory_resource(resource);
  std::vector<Quantity> all;
  if (!is_memory && !from.is_whole()) return all;
  for (std::int64_t left = is_memory ? (from.value() - 1) / step : from.value() - 1; left > 0;
       --left) {
    all.push_back(is_memory ? Quantity::bytes(left * step)
                            : Quantity::of(left, Quantity::Format::kDecimalSi));
  }
  return all;
}

double size_of_change(const Quantity& from, const Quantity& to) {
  return std::abs(static_cast<double>((to - from).nano())) / static_cast<double>(from.nano());
}

/// Tries all smaller amounts of each single request, by brute force.
std::optional<double> smallest_single_change(const Node& node, const NodeState& state,
                                             const PodSpec& pod) {
  const bool is_valid = find_violations(pod).empty();
  std::optional<double> smallest;
  PodSpec copy = pod;
  for (Resources* const resources : all_resources(copy)) {
    const Resources original = *resources;
    for (const auto& [name, from] : original.requests) {
      for (const Quantity& to : smaller_amounts(name, from)) {
        const double size = size_of_change(from, to);
        if (smallest && size >= *smallest) continue;
        if (original.limits.contains(name) && original.limits.at(name) == from) {
          resources->limits[name] = to;
        }
        resources->requests[name] = to;
        const bool is_allowed = !is_valid || find_violations(copy).empty();
        if (is_allowed && admits(node, state, copy)) smallest = size;
      }
      *resources = original;
    }
  }
  return smallest;
}

/// Returns the size of the changes of requests between two pods.
double size_of_changes(PodSpec before, PodSpec after) {
  double sum = 0;
  const auto old = all_resources(before);
  const auto now = all_resources(after);
  for (std::size_t i = 0; i < old.size(); ++i) {
    for (const auto& [name, from] : old[i]->requests) {
      const Quantity to = amount_of(now[i]->requests, name);
      if (to != from) sum += size_of_change(from, to);
    }
  }
  return sum;
}

/// Calls `check` for four rejected pods, or fewer if the node has much room.
template <class Check>
void for_rejections(const Check& check) {
  constexpr int kRejections = 4;
  constexpr int kMostPods = 40;
  const Node node = any_node();
  const NodeState state = any_state(node);
  for (int pods = 0, rejected = 0; pods < kMostPods && rejected < kRejections; ++pods) {
    const PodSpec pod = any_wanted_pod();
    if (admits(node, state, pod)) continue;
    ++rejected;
    check(node, state, pod);
  }
}

/// Returns whether a container loses its exclusive CPUs, which is named in addition to the smallest
/// changes.
bool is_additional(const Remedy& remedy) {
  return remedy.text.find("it then has no exclusive CPUs") != std::string::npos;
}

void check_smallest_request(const Node& node, const NodeState& state, const PodSpec& pod) {
  const auto smallest = smallest_single_change(node, state, pod);
  log(node, state, pod);
  std::optional<double> named;
  for (const Remedy& remedy : find_remedies(node, state, pod)) {
    if (remedy.kind != Remedy::Kind::kRequest || is_additional(remedy)) continue;
    RC_LOG() << remedy.text << "\n";
    const double size = size_of_changes(pod, remedy.pod.value());
    if (!named || size < *named) named = size;
  }
  if (!smallest) return;
  RC_LOG() << "brute force: " << *smallest << "\n";
  RC_ASSERT(named.has_value());
  RC_ASSERT(*named <= *smallest + 1e-9);
}

RC_GTEST_PROP(Explain, NoSingleRequestCanBeSmallerByLess, ()) {
  for_rejections(check_smallest_request);
}

/// Tries every set of other pods.
bool fits_without_some_pods(const Node& node, const NodeState& state, const PodSpec& pod) {
  const std::size_t sets = std::size_t{1} << state.pods.size();
  for (std::size_t set = 1; set < sets; ++set) {
    std::vector<PodUid> gone;
    for (std::size_t i = 0; i < state.pods.size(); ++i) {
      if ((set >> i & 1U) != 0) gone.push_back(state.pods[i].spec.uid);
    }
    if (admits(node, without(node, state, gone), pod)) return true;
  }
  return false;
}

/// Returns configurations with one strict setting changed.
std::vector<Config> looser_settings(const Config& config) {
  std::vector<Config> all;
  for (const auto policy : kTopologyPolicyNames) {
    if (policy == config.topology_manager_policy) break;  // the later ones are stricter
    all.push_back(config);
    all.back().topology_manager_policy = policy;
  }
  for (const auto scope : kTopologyScopeNames) {
    all.push_back(config);
    all.back().topology_manager_scope = scope;
  }
  all.push_back(config);
  all.back().cpu_manager_policy_options.erase("full-pcpus-only");
  all.push_back(config);
  all.back().feature_gates["PodLevelResourceManagers"] = false;
  return all;
}

/// Returns true if the node starts with another configuration and admits the pod.
bool admits_with(const Node& node, const Config& config, NodeState state, const PodSpec& pod) {
  const auto other = Node::make(node.machine(), config);
  if (!other || !other->cpu().start(state.cpu) || !other->memory().start(state.memory)) {
    return false;
  }
  return admits(*other, state, pod);
}

void check_claims(const Node& node, const NodeState& state, const PodSpec& pod) {
  const Explanation explained = explain(node, state, pod);
  log(node, state, pod);
  const auto& remedies = explained.remedies;
  const bool names_pods = std::any_of(remedies.begin(), remedies.end(), [](const Remedy& remedy) {
    return remedy.kind == Remedy::Kind::kPods;
  });
  if (!explained.limit.empty()) RC_ASSERT(!names_pods);  // "Removing pods does not help"
  if (!names_pods) RC_ASSERT(!fits_without_some_pods(node, state, pod));
  if (!remedies.empty()) return;
  RC_ASSERT(!smallest_single_change(node, state, pod).has_value());
  for (const Config& config : looser_settings(node.config())) {
    RC_ASSERT(!admits_with(node, config, release_stale(node, state), pod));
  }
}

RC_GTEST_PROP(Explain, NothingHelpsIfItIsSaid, ()) { for_rejections(check_claims); }

/// Returns how many containers of an active pod have exclusive CPUs.
std::size_t count_exclusive(const Node& node, const NodeState& state, const PodUid& uid) {
  const auto all = all_container_resources(node, state, *state.find(uid));
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const ContainerResources& container) {
        return container.isolation == Isolation::kContainer;
      }));
}

/// Applies the way to exclusive CPUs: the configuration, then the removal of pods, then the pod.
void check_exclusive(const Node& node, const NodeState& state, const PodSpec& pod,
                     const Remedy& remedy) {
  RC_LOG() << remedy.text << "\n";
  const Decision now =
      decide(node, state, pod, nullptr, nullptr, AdmissionChecks::kManagersAndRequests);
  const std::size_t before = count_exclusive(node, std::get<Admitted>(now).next, pod.uid);
  const Node after = remedy.config ? Node::make(node.machine(), *remedy.config).value()
                                   : Node::make(node.machine(), node.config()).value();
  NodeState started = release_stale(node, state);
  const bool is_same_policy = after.cpu().is_static() == node.cpu().is_static();
  if (!is_same_policy || !after.cpu().start(started.cpu) || !after.memory().start(started.memory)) {
    const PlanOptions options{false, kMoveSteps, AdmissionChecks::kManagersAndRequests};
    auto plan = plan_reconfiguration(node, release_stale(node, state), after, options).value();
    RC_ASSERT(plan.evicted.empty());
    started = std::move(plan.next);
  }
  const Decision then = decide(after, without(after, started, remedy.pods), remedy.pod.value(),
                               nullptr, nullptr, AdmissionChecks::kManagersAndRequests);
  const auto* const admitted = std::get_if<Admitted>(&then);
  RC_ASSERT(admitted != nullptr);
  RC_ASSERT(count_exclusive(after, admitted->next, pod.uid) > before);
}

RC_GTEST_PROP(Explain, EachWayToExclusiveCpusGivesSome, ()) {
  const Node node = any_node();
  const NodeState state = any_state(node);
  for (int i = 0; i < 4; ++i) {
    const PodSpec pod = any_wanted_pod();
    if (!admits(node, state, pod)) continue;
    log(node, state, pod);
    for (const Remedy& remedy : explain(node, state, pod).remedies) {
      check_exclusive(node, state, pod, remedy);
    }
  }
}

RC_GTEST_PROP(Explain, EachRemedyOfARejectionAdmitsThePod, ()) {
  const Node node = any_node();
  const NodeState state = any_state(node);
  const PodSpec pod = any_wanted_pod();
  const Explanation explained = explain(node, state, pod);
  RC_ASSERT(explained.rejection.has_value() != admits(node, state, pod));
  RC_ASSERT(!explained.summary.empty());
  if (!explained.rejection) {
    RC_ASSERT(explained.containers.size() == pod.containers.size());
    return;
  }
  log(node, state, pod);
  RC_LOG() << explained.summary << "\n";
  RC_ASSERT(explained.remedies.size() <= 8U);
  bool has_pods = false;
  for (const Remedy& remedy : explained.remedies) {
    check_remedy(node, state, pod, remedy);
    has_pods = has_pods || remedy.kind == Remedy::Kind::kPods;
  }
  RC_ASSERT(explained.limit.empty() == admits(node, empty_state(node), pod));
  if (has_pods) return;
  std::vector<PodUid> all;
  for (const ActivePod& other : state.pods) all.push_back(other.spec.uid);
  RC_ASSERT(!admits(node, without(node, state, all), pod));
}

/// Static pods count more than any priority.
int rank_of(const PodSpec& pod) { return pod.is_static ? 100 : pod.priority.value; }

NodeState with_any_priorities(NodeState state) {
  std::vector<PodSpec> pods;
  for (const ActivePod& active : state.pods) pods.push_back(active.spec);
  for (PodSpec& pod : pods) {
    pod.priority.value = draw(0, 2);
    pod.is_static = draw(0, 4) == 0;
    state.pods.replace_spec(state.pods.find(pod.uid), pod);
  }
  return state;
}

RC_GTEST_PROP(Explain, NoPodOfAHigherPriorityThanNecessaryIsNamed, ()) {
  const Node node = any_node();
  const NodeState state = with_any_priorities(any_state(node));
  const PodSpec pod = any_wanted_pod();
  if (admits(node, state, pod)) return;
  log(node, state, pod);
  for (const Remedy& remedy : find_remedies(node, state, pod)) {
    if (remedy.kind != Remedy::Kind::kPods) continue;
    RC_LOG() << remedy.text << "\n";
    int highest = 0;
    for (const PodUid& uid : remedy.pods) {
      highest = std::max(highest, rank_of(state.find(uid)->spec));
    }
    std::vector<PodUid> lower;
    for (const ActivePod& active : state.pods) {
      if (rank_of(active.spec) < highest) lower.push_back(active.spec.uid);
    }
    RC_ASSERT(admits(node, without(node, state, remedy.pods), pod));
    RC_ASSERT(!admits(node, without(node, state, lower), pod));
  }
}

/// Free, held and reserved amounts add up to the total of a place, and the holders' to the held
/// one.
RC_GTEST_PROP(Explain, TheTableAddsUp, ()) {
  const Node node = any_node();
  const NodeState state = any_state(node);
  const Explanation explained = explain(node, state, any_wanted_pod());
  log(node, state, explained.pod);
  for (const OccupiedResource& resource : explained.table) {
    for (const OccupiedPlace& place : resource.places) {
      if (resource.resource == "cpu" && !place.numa_nodes.empty()) {
        const auto position = node.machine().numa_position(NumaId{place.numa_nodes.front()});
        RC_ASSERT((place.free + place.held + place.reserved).value() ==
                  static_cast<std::int64_t>(node.machine().cpus_of_numa(*position).size()));
      }
      Quantity held;
      const bool is_exact = std::all_of(place.holders.begin(), place.holders.end(),
                                        [](const Holder& h) { return h.spread_over.empty(); });
      for (const Holder& holder : place.holders) held += holder.amount;
      RC_LOG() << resource.resource << " " << place.held << " held, by holders " << held << "\n";
      // Memory left by init containers counts for several containers.
      if (is_exact && !is_memory_resource(resource.resource)) RC_ASSERT(held == place.held);
    }
  }
}

RC_GTEST_PROP(Explain, AnActivePodHasWhatTheExplanationSays, ()) {
  const Node node = any_node();
  const NodeState state = any_state(node);
  for (const ActivePod& pod : state.pods) {
    const Explanation explained = explain_active(node, state, pod.spec.uid).value();
    RC_ASSERT(!explained.rejection.has_value());
    const auto resources = all_container_resources(node, state, pod);
    RC_ASSERT(explained.containers.size() == resources.size());
    for (std::size_t i = 0; i < resources.size(); ++i) {
      RC_ASSERT(explained.containers[i].resources == resources[i]);
    }
  }
}

}  // namespace
}  // namespace pinfold::test
