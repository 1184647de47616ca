#include "pinfold/nri_pods/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "fixture.hpp"
#include "node_fixture.hpp"
#include "pinfold/nri_pods/records.hpp"

namespace pinfold::nri {
namespace {

using test::annotation_of;
using test::limited;
using test::pod_with;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Returns a pod with its own UID.
PodSpec named(const std::string& uid, const std::vector<std::string>& containers) {
  PodSpec spec = pod_with(containers);
  spec.uid = PodUid(uid);
  return spec;
}

api::PodSandbox running(const PodSpec& spec) {
  api::PodSandbox sandbox = test::sandbox_of(spec);
  sandbox.set_pid(1);
  return sandbox;
}

api::PodSandbox annotated(const PodSpec& spec) {
  api::PodSandbox sandbox = running(spec);
  (*sandbox.mutable_annotations())[std::string(kResourcesAnnotation)] = annotation_of(spec);
  return sandbox;
}

/// A runtime, a plugin that follows the plans, and the decisions of a node: two NUMA nodes of 8
/// CPUs, of which CPU 0 is reserved.
class World {
 public:
  explicit World(Config config = pinfold::test::aligning_config("best-effort"),
                 const Machine& machine = pinfold::test::machine_of({}))
      : node_(Node::make(machine, std::move(config)).value()),
        premises_(make_premises(node_, PodLevelUse::kAnnotatedPods)),
        state_(empty_state(node_)) {}

  void run_sandbox(const api::PodSandbox& sandbox) {
    change(api::Event::RUN_POD_SANDBOX, sandbox);
    execute(plan_sandbox(sandbox, premises_, state_).value());
  }

  /// Returns the answer to CreateContainer, or the message of an error.
  Result<api::CreateContainerResponse> create(const api::PodSandbox& sandbox,
                                              api::Container container, const std::string& id) {
    container.set_id(id);
    container.set_pod_sandbox_id(sandbox.id());
    api::CreateContainerRequest request;
    *request.mutable_pod() = sandbox;
    *request.mutable_container() = container;
    PINFOLD_LET(const auto plan, plan_create(known_, request, premises_, state_));
    execute(plan.requests);
    known_.create(sandbox, container);
    return answer_create(node_, state_, plan.container);
  }
  /// Creates a container of a pod; returns its cpuset.
  std::string create(const PodSpec& spec, const std::string& name) {
    const auto answer = create(running(spec), test::container_of(spec, *spec.find(name)), name);
    return answer ? answer.value().adjust().linux().resources().cpu().cpus()
                  : answer.error().message;
  }

  void change(api::Event event, const api::PodSandbox& sandbox, const std::string& name = "") {
    api::StateChangeEvent message;
    message.set_event(event);
    *message.mutable_pod() = sandbox;
    if (const KnownPod* pod = known_.find(sandbox.id()); pod != nullptr && !name.empty()) {
      *message.mutable_container() = pod->find(name)->shown;
    }
    known_.change(message);
    execute(plan_removal(known_, state_));
  }

  AgentRequests synchronize(const api::SynchronizeRequest& request,
                            const KnownPods::AgeOf& age = {}) {
    known_ = KnownPods(request, age);
    AgentRequests requests = plan_synchronize(known_, premises_, state_);
    execute(requests);
    return requests;
  }

  void execute(const AgentRequests& requests) {
    for (const PodUid& uid : requests.remove_pods) {
      state_ = remove_pod(node_, std::move(state_), uid);
    }
    for (const ContainerId& id : requests.remove_containers) {
      state_ = remove_container(node_, std::move(state_), id);
    }
    for (const ContainerId& id : requests.release) {
      state_ = remove_container(node_, std::move(state_), id);
    }
    for (const PodSpec& spec : requests.admit) {
      const auto shown = requests.shown.find(spec.uid);
      const Places places = shown == requests.shown.end() ? Places() : shown->second.places;
      Decision decision = decide_keeping(node_, state_, spec, places);
      if (auto* admitted = std::get_if<Admitted>(&decision)) state_ = std::move(admitted->next);
    }
    notes_.insert(notes_.end(), requests.notes.begin(), requests.notes.end());
  }

  [[nodiscard]] api::ContainerUpdate answer(const api::UpdateContainerRequest& request) const {
    return answer_update(request, node_, state_).update(0);
  }
  /// Returns the cpuset of the answer to an update.
  [[nodiscard]] std::string answered(const api::UpdateContainerRequest& request) const {
    return answer(request).linux().resources().cpu().cpus();
  }
  [[nodiscard]] std::vector<DueUpdate> due() const { return plan_updates(known_, node_, state_); }
  [[nodiscard]] std::vector<std::string> updated() const {
    std::vector<std::string> ids;
    for (const auto& [update, is_started] : plan_updates(known_, node_, state_)) {
      ids.push_back(update.container_id() + ":" + update.linux().resources().cpu().cpus());
    }
    return ids;
  }
  [[nodiscard]] std::vector<std::string> taken(std::string_view except = "") {
    std::vector<std::string> ids;
    for (const auto& update : records_.take(known_, node_, state_, except)) {
      ids.push_back(update.container_id() + ":" + update.linux().resources().cpu().cpus());
    }
    return ids;
  }
  void tell(const std::string& container_id, const std::string& cpus) {
    api::ContainerUpdate told;
    told.set_container_id(container_id);
    told.mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus(cpus);
    known_.update(told);
  }
  [[nodiscard]] std::vector<std::string> uids() const {
    std::vector<std::string> all;
    for (const ActivePod& active : state_.pods) all.push_back(active.spec.uid.value);
    return all;
  }

  Node node_;
  Premises premises_;
  NodeState state_;
  KnownPods known_;
  Records records_;
  std::vector<std::string> notes_;
};

api::SynchronizeRequest reported(const std::vector<std::pair<PodSpec, api::PodSandbox>>& pods) {
  api::SynchronizeRequest request;
  for (const auto& [spec, sandbox] : pods) {
    *request.add_pods() = sandbox;
    for (api::Container container : test::containers_of(spec)) {
      container.set_pod_sandbox_id(sandbox.id());
      container.set_state(api::ContainerState::CONTAINER_RUNNING);
      *request.add_containers() = container;
    }
  }
  return request;
}

TEST(NriPlan, AnAnnouncedPodIsAdmittedAtItsSandbox) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi"), limited("b", "500m", "1Gi")});
  world.run_sandbox(annotated(spec));
  EXPECT_THAT(world.state_.pods, ElementsAre(ActivePod{spec, {}}));
  const NodeState before = world.state_;
  const auto a = world.create(annotated(spec), test::container_of(spec, spec.containers[0]), "1");
  const auto b = world.create(annotated(spec), test::container_of(spec, spec.containers[1]), "2");
  EXPECT_EQ(world.state_, before);
  EXPECT_EQ(a.value().adjust().linux().resources().cpu().cpus(), "1-2");
  EXPECT_EQ(a.value().adjust().linux().resources().cpu().quota().value(), -1);
  EXPECT_EQ(b.value().adjust().linux().resources().cpu().cpus(), "0,3-15");
  EXPECT_FALSE(b.value().adjust().linux().resources().cpu().has_quota());
}

TEST(NriPlan, ARejectedPodIsAskedForAgainWithItsContainer) {
  World world;
  const PodSpec other = named("o", {limited("a", "14", "1Gi")});
  world.run_sandbox(annotated(other));
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  world.run_sandbox(annotated(spec));
  EXPECT_THAT(world.uids(), ElementsAre("o"));
  const auto rejected =
      world.create(annotated(spec), test::container_of(spec, spec.containers[0]), "1");
  EXPECT_EQ(rejected.error().code, ErrorCode::kNotFound);
  world.change(api::Event::STOP_POD_SANDBOX, annotated(other));
  EXPECT_TRUE(world.create(annotated(spec), test::container_of(spec, spec.containers[0]), "1"));
}

TEST(NriPlan, APodGrowsWithEachContainer) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi"), limited("b", "1", "1Gi")});
  world.run_sandbox(running(spec));
  EXPECT_THAT(world.uids(), IsEmpty());
  EXPECT_EQ(world.create(spec, "a"), "1-2");
  EXPECT_EQ(world.create(spec, "b"), "3");
  EXPECT_THAT(world.state_.pods, ElementsAre(ActivePod{spec, {}}));
}

TEST(NriPlan, AContainerThatIsMadeAgainKeepsItsCpus) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi"), limited("b", "1", "1Gi")});
  EXPECT_EQ(world.create(spec, "a"), "1-2");
  EXPECT_EQ(world.create(spec, "b"), "3");
  world.change(api::Event::STOP_CONTAINER, running(spec), "a");
  const NodeState before = world.state_;
  EXPECT_EQ(world.create(spec, "a"), "1-2");
  EXPECT_EQ(world.state_, before);
}

TEST(NriPlan, AnEndedContainerReleasesItsCpusToTheNextOne) {
  World world;
  const PodSpec spec = named("u", {limited("i", "14", "1Gi"), limited("a", "13", "1Gi")});
  EXPECT_EQ(world.create(spec, "i"), "1-6,8-15");
  EXPECT_THAT(world.create(spec, "a"), HasSubstr("has no container 'a'"));
  EXPECT_THAT(containers_with_assignments(world.state_, spec.uid), testing::SizeIs(1));
  world.change(api::Event::STOP_CONTAINER, running(spec), "i");
  EXPECT_EQ(world.create(spec, "a"), "1-5,8-15");
  EXPECT_EQ(world.state_.find(spec.uid)->spec.find("i"), nullptr);
}

TEST(NriPlan, AnUnannouncedContainerLivesAsAPod) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  world.run_sandbox(annotated(spec));
  const auto debug = world.create(
      annotated(spec), test::container_of(spec, {"debug", ContainerKind::kApp, {}}), "9");
  EXPECT_EQ(debug.value().adjust().linux().resources().cpu().cpus(), "0,3-15");
  EXPECT_THAT(world.uids(), ElementsAre("u", "u.debug"));
  EXPECT_EQ(world.state_.pods[0].spec, spec);
  world.change(api::Event::STOP_CONTAINER, annotated(spec), "debug");
  EXPECT_THAT(world.uids(), ElementsAre("u"));
}

TEST(NriPlan, AnAnnouncedPodIsDecidedOnce) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  world.run_sandbox(annotated(spec));
  // The kubelet has resized the container, so the annotation no longer agrees.
  PodSpec resized = spec;
  resized.containers[0].resources.limits["memory"] = Quantity::bytes(5);
  resized.containers[0].resources.requests["memory"] = Quantity::bytes(5);
  world.known_.create(annotated(spec), test::container_of(resized, resized.containers[0]));
  const auto debug = world.create(
      annotated(spec), test::container_of(spec, {"debug", ContainerKind::kApp, {}}), "9");
  EXPECT_TRUE(debug.has_value());
  EXPECT_EQ(world.state_.pods[0].spec, spec);
  EXPECT_THAT(world.uids(), ElementsAre("u", "u.debug"));
}

TEST(NriPlan, RefusesAContainerThatHasACpuset) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  api::Container container = test::container_of(spec, spec.containers[0]);
  container.mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus("2-3");
  const auto answer = world.create(running(spec), container, "1");
  EXPECT_EQ(answer.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(answer.error().message, HasSubstr("container 'a' already has the cpuset '2-3': set "
                                                "cpuManagerPolicy: none for the kubelet"));
  EXPECT_THAT(world.uids(), IsEmpty());
}

TEST(NriPlan, NotesWhyAGuaranteedPodIsShared) {
  World world;
  (void)world.create(named("b", {"{name: a}"}), "a");
  EXPECT_THAT(world.notes_, IsEmpty());
  (void)world.create(named("g", {limited("a", "1m", "1Gi")}), "a");
  EXPECT_THAT(world.notes_, ElementsAre("pod 'default/web' has no exclusive CPUs: the cpu request "
                                        "of container 'a' is estimated from its CPU shares"));
  api::PodSandbox wrong = running(named("w", {limited("a", "2", "1Gi")}));
  (*wrong.mutable_annotations())[std::string(kResourcesAnnotation)] = "[]";
  world.notes_.clear();
  world.run_sandbox(wrong);
  EXPECT_THAT(world.notes_, ElementsAre(HasSubstr("pod 'default/web': annotation pinfold.io")));
  EXPECT_THAT(world.uids(), ElementsAre("b", "g"));
}

// The second container shows that the scheduler has counted less than both need.
TEST(NriPlan, AContainerThatTurnsOutToBeSharedReleasesItsCpus) {
  World world;
  const PodSpec spec = named("u", {limited("a", "1", "1Gi"), limited("b", "2", "1Gi")});
  const api::PodSandbox sandbox = test::sandbox_of(named("u", {limited("all", "2", "4Gi")}));
  const auto create = [&](const std::string& name) {
    const auto answer = world.create(sandbox, test::container_of(spec, *spec.find(name)), name);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer->adjust().linux().resources().cpu().cpus();
  };
  EXPECT_EQ(create("a"), "1");
  world.change(api::Event::POST_CREATE_CONTAINER, sandbox, "a");
  world.change(api::Event::START_CONTAINER, sandbox, "a");
  world.tell("a", "1");
  EXPECT_EQ(create("b"), "0-15");
  EXPECT_THAT(world.notes_, ElementsAre(HasSubstr("pod 'default/web' has no exclusive CPUs: its "
                                                  "containers together have a CFS quota")));
  EXPECT_THAT(world.updated(), ElementsAre("a:0-15"));
  EXPECT_TRUE(world.state_.cpu.assignments.empty());
}

TEST(NriPlan, RecordsOfCreatedAndStartedContainersFollow) {
  World world;
  const PodSpec creating = named("0", {"{name: creating}"});
  const PodSpec created = named("1", {"{name: created}"});
  const PodSpec started = named("2", {"{name: started}"});
  const PodSpec stopped = named("3", {"{name: stopped}"});
  for (const PodSpec& spec : {creating, created, started, stopped}) {
    const std::string& name = spec.containers[0].name;
    EXPECT_EQ(world.create(spec, name), "0-15");
    if (name != "creating") {
      world.change(api::Event::POST_CREATE_CONTAINER, running(spec), name);
    }
    world.tell(name, "0-15");
  }
  world.change(api::Event::START_CONTAINER, running(started), "started");
  world.change(api::Event::STOP_CONTAINER, running(stopped), "stopped");
  EXPECT_THAT(world.updated(), IsEmpty());
  EXPECT_EQ(world.create(named("u", {limited("a", "2", "1Gi")}), "a"), "1-2");
  EXPECT_THAT(world.updated(), ElementsAre("created:0,3-15", "started:0,3-15"));
  EXPECT_THAT(world.taken(), ElementsAre("created:0,3-15", "started:0,3-15"));
  EXPECT_THAT(world.updated(), IsEmpty());
  EXPECT_THAT(world.taken(), IsEmpty());
}

TEST(NriPlan, RecordsOfStartedContainersFollowFourAtATimeTheOldestFirst) {
  World world;
  for (const char* const name : {"a", "b", "c", "d", "e", "f"}) {
    const PodSpec spec = named(name, {"{name: " + std::string(name) + "}"});
    world.create(spec, name);
    world.change(api::Event::POST_CREATE_CONTAINER, running(spec), name);
    world.change(api::Event::START_CONTAINER, running(spec), name);
    world.tell(name, "0-15");
  }
  world.create(named("u", {limited("x", "2", "1Gi")}), "x");
  EXPECT_THAT(world.taken("b"), ElementsAre("a:0,3-15", "c:0,3-15", "d:0,3-15", "e:0,3-15"));
  world.create(named("v", {limited("x", "1", "1Gi")}), "x");
  EXPECT_THAT(world.taken(), ElementsAre("b:0,4-15", "f:0,4-15", "a:0,4-15", "c:0,4-15"))
      << "what the state asks for now";
  EXPECT_THAT(world.taken(), ElementsAre("d:0,4-15", "e:0,4-15"));
  EXPECT_THAT(world.taken(), IsEmpty());
}

TEST(NriPlan, WithoutAStaticPolicyNoCpusetChanges) {
  World world{Config{}};
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  EXPECT_EQ(world.create(spec, "a"), "");
  world.change(api::Event::POST_CREATE_CONTAINER, running(spec), "a");
  EXPECT_THAT(world.updated(), IsEmpty());
}

/// The cpuset is from before the policy was none. An update without CPUs would change nothing.
TEST(NriPlan, WithoutAStaticPolicyAnEarlierCpusetBecomesAllCpus) {
  World world{Config{}};
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  api::SynchronizeRequest request = reported({{spec, running(spec)}});
  api::LinuxCPU& cpu =
      *request.mutable_containers(0)->mutable_linux()->mutable_resources()->mutable_cpu();
  cpu.set_cpus("1-2");
  world.synchronize(request);
  const std::string id = request.containers(0).id();
  EXPECT_THAT(world.updated(), ElementsAre(id + ":0-15"));
  api::UpdateContainerRequest resize;
  *resize.mutable_pod() = request.pods(0);
  *resize.mutable_container() = request.containers(0);
  EXPECT_EQ(world.answered(resize), "0-15");
  resize.mutable_container()->mutable_linux()->mutable_resources()->mutable_cpu()->clear_cpus();
  EXPECT_EQ(world.answered(resize), "") << "it never had one";
}

TEST(NriPlan, WithoutAStaticMemoryPolicyEarlierNodesBecomeAllWithMemory) {
  MachineDescription description = pinfold::test::machine_of({.numa = 3}).description();
  description.numa_nodes[1].memory = 0;
  World world(pinfold::test::aligning_config("best-effort"),
              Machine::make(std::move(description)).value());
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  api::SynchronizeRequest request = reported({{spec, running(spec)}});
  api::LinuxCPU& cpu =
      *request.mutable_containers(0)->mutable_linux()->mutable_resources()->mutable_cpu();
  cpu.set_cpus("1-2");
  cpu.set_mems("2");
  world.synchronize(request);
  const auto updates = plan_updates(world.known_, world.node_, world.state_);
  ASSERT_EQ(updates.size(), 1U);
  EXPECT_EQ(updates[0].update.linux().resources().cpu().mems(), "0,2");
  world.known_.update(updates[0].update);
  EXPECT_THAT(world.updated(), IsEmpty());
}

TEST(NriPlan, SynchronizeKeepsAdmitsAndRemoves) {
  World world;
  const PodSpec kept = named("kept", {limited("a", "2", "1Gi")});
  const PodSpec gone = named("gone", {limited("a", "2", "1Gi")});
  const PodSpec added = named("new", {limited("a", "2", "1Gi"), "{name: b}"});
  const PodSpec announced = named("announced", {limited("a", "1", "1Gi")});
  world.run_sandbox(annotated(kept));
  world.run_sandbox(annotated(gone));
  const auto had = *world.state_.cpu.assignments.find(kept.uid);
  PodSpec without = announced;
  without.containers.clear();
  const auto request =
      reported({{kept, annotated(kept)}, {added, running(added)}, {without, annotated(announced)}});
  const AgentRequests requests = world.synchronize(request);
  EXPECT_THAT(requests.remove_pods, ElementsAre(gone.uid));
  EXPECT_THAT(world.uids(), testing::UnorderedElementsAre("kept", "new", "announced"));
  EXPECT_EQ(*world.state_.cpu.assignments.find(kept.uid), had);
  AgentRequests again = world.synchronize(request);
  EXPECT_EQ(again.shown.size(), 3U);
  again.shown.clear();
  EXPECT_EQ(again, AgentRequests{});
}

/// A container that was started without the plugin, or that the kubelet resizes, has a quota.
TEST(NriPlan, ExclusiveCpusHaveNoQuota) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi"), limited("b", "250m", "1Gi")});
  api::SynchronizeRequest request = reported({{spec, running(spec)}});
  for (api::Container& container : *request.mutable_containers()) {
    auto& cpu = *container.mutable_linux()->mutable_resources()->mutable_cpu();
    cpu.set_cpus(container.name() == "a" ? "1-2" : "0,3-15");
  }
  world.synchronize(request);
  const auto updates = world.due();
  ASSERT_EQ(updates.size(), 1U) << "the cpusets are right, and 'b' keeps its quota";
  EXPECT_EQ(updates[0].update.linux().resources().cpu().quota().value(), -1);
  EXPECT_THAT(world.taken(), ElementsAre(request.containers(0).id() + ":1-2"));
  EXPECT_THAT(world.due(), IsEmpty()) << "now it is on record";
  api::UpdateContainerRequest resize;
  *resize.mutable_pod() = request.pods(0);
  *resize.mutable_container() = request.containers(0);
  EXPECT_EQ(world.answer(resize).linux().resources().cpu().quota().value(), -1);
  *resize.mutable_container() = request.containers(1);
  EXPECT_FALSE(world.answer(resize).linux().resources().cpu().has_quota());
}

TEST(NriPlan, SharedCpusGetTheirQuotaBack) {
  World world{Config{}};
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  api::SynchronizeRequest request = reported({{spec, running(spec)}});
  request.mutable_containers(0)
      ->mutable_linux()
      ->mutable_resources()
      ->mutable_cpu()
      ->mutable_quota()
      ->set_value(-1);  // from before the policy was none
  world.synchronize(request);
  const auto updates = world.due();
  ASSERT_EQ(updates.size(), 1U);
  const api::LinuxCPU& cpu = updates[0].update.linux().resources().cpu();
  EXPECT_EQ(cpu.quota().value(), 200'000);
  EXPECT_EQ(cpu.period().value(), 100'000U);
}

/// Containers that already run, pinned for example by a kubelet.
TEST(NriPlan, SynchronizeKeepsWhatContainersHaveIfTheRulesAllowIt) {
  struct Case {
    const char* name;
    Config config;
    std::vector<std::pair<const char*, const char*>> had;  ///< CPUs requested, cpuset on record
    std::vector<const char*> gets;
  };
  const Config best = pinfold::test::aligning_config("best-effort");
  const Config single = pinfold::test::aligning_config("single-numa-node");
  Config pod_scope = single;
  pod_scope.topology_manager_scope = "pod";
  const Case cases[] = {
      {"each its own", best, {{"2", "4-5"}, {"1", "9"}, {"2", "2-3"}}, {"4-5", "9", "2-3"}},
      {"scope pod", pod_scope, {{"2", "4-5"}, {"1", "9"}}, {"4-5", "9"}},
      {"one unpinned", best, {{"2", "0-15"}, {"2", "1-2"}}, {"3-4", "1-2"}},
      {"two with the same", best, {{"2", "4-5"}, {"2", "4-5"}}, {"4-5", "1-2"}},
      {"a reserved CPU", best, {{"2", "0-1"}}, {"1-2"}},
      {"another number", best, {{"2", "4-6"}}, {"1-2"}},
      {"CPUs that do not exist", best, {{"2", "20-21"}}, {"1-2"}},
      {"two NUMA nodes", single, {{"2", "7-8"}}, {"1-2"}},
      {"two NUMA nodes that may be", best, {{"2", "7-8"}}, {"7-8"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    World world{one.config};
    std::vector<std::pair<PodSpec, api::PodSandbox>> pods;
    for (std::size_t i = 0; i < one.had.size(); ++i) {
      const PodSpec spec = named(fmt::format("u{}", i), {limited("a", one.had[i].first, "1Gi")});
      pods.emplace_back(spec, running(spec));
    }
    api::SynchronizeRequest request = reported(pods);
    for (std::size_t i = 0; i < one.had.size(); ++i) {
      request.mutable_containers(static_cast<int>(i))
          ->mutable_linux()
          ->mutable_resources()
          ->mutable_cpu()
          ->set_cpus(one.had[i].second);
    }
    world.synchronize(request);
    for (std::size_t i = 0; i < one.gets.size(); ++i) {
      const CpuSet* const cpus =
          world.state_.cpu.assignments.find({PodUid(fmt::format("u{}", i)), "a"});
      ASSERT_NE(cpus, nullptr) << i;
      EXPECT_EQ(cpus->to_string(), one.gets[i]) << i;
    }
    const CpuSet& pool = world.state_.cpu.default_set;
    EXPECT_TRUE(pool.contains(CpuId{0})) << pool.to_string();
    EXPECT_TRUE(world.node_.cpu().start(world.state_.cpu).has_value())
        << "no CPU is lost, and none has two owners";
  }
}

TEST(NriPlan, SynchronizeDecidesTheOldestFirst) {
  World world;
  const PodSpec late = named("a-late", {limited("a", "2", "1Gi")});
  const PodSpec early = named("b-early", {limited("a", "2", "1Gi")});
  api::SynchronizeRequest request = reported({{late, running(late)}, {early, running(early)}});
  request.mutable_containers(0)->set_pid(20);
  request.mutable_containers(1)->set_pid(10);
  world.synchronize(request, [](std::uint32_t process) { return process == 10 ? 7.5 : 1.5; });
  EXPECT_EQ(world.state_.cpu.assignments.find({early.uid, "a"})->to_string(), "1-2");
  EXPECT_EQ(world.state_.cpu.assignments.find({late.uid, "a"})->to_string(), "3-4");
}

TEST(NriPlan, SaysTheClassOfAPodAndWhyItIsShared) {
  World world;
  const PodSpec pinned = named("pinned", {limited("a", "2", "1Gi")});
  const PodSpec half = named("half", {limited("a", "500m", "1Gi")});
  const PodSpec small = named("small", {"{name: a}"});
  const auto shown =
      world
          .synchronize(
              reported({{pinned, running(pinned)}, {half, running(half)}, {small, running(small)}}))
          .shown;
  EXPECT_EQ(shown.at(pinned.uid), (ShownPod{QosClass::kGuaranteed, "", {}, {}}));
  EXPECT_EQ(
      shown.at(half.uid),
      (ShownPod{QosClass::kGuaranteed, "no container requests a whole number of CPUs", {}, {}}));
  EXPECT_EQ(shown.at(small.uid),
            (ShownPod{QosClass::kBestEffort, "it is BestEffort, not Guaranteed", {}, {}}));
}

TEST(NriPlan, SynchronizeAdmitsAPodWithTwoSandboxesOnce) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  api::PodSandbox another = annotated(spec);
  another.set_id("another");
  auto request = reported({{spec, annotated(spec)}, {spec, another}});
  EXPECT_THAT(world.synchronize(request).admit, ElementsAre(spec));
  // The same container appears twice; the later one counts.
  request.mutable_containers(1)->set_pod_sandbox_id(request.containers(0).pod_sandbox_id());
  request.mutable_containers(1)->set_id("later");
  world.synchronize(request);
  EXPECT_THAT(world.updated(), ElementsAre("later:1-2"));
}

TEST(NriPlan, SynchronizeReleasesHeldPodsThatTheRuntimeDoesNotHave) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  world.state_.held = {PodUid("u"), PodUid("gone")};
  EXPECT_THAT(world.synchronize(reported({{spec, running(spec)}})).remove_pods,
              ElementsAre(PodUid("gone")));
}

TEST(NriPlan, SynchronizeLeavesOutPodsThatHaveEnded) {
  World world;
  PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  world.run_sandbox(annotated(spec));
  api::PodSandbox sandbox = annotated(spec);
  sandbox.set_pid(0);
  spec.containers.clear();
  EXPECT_THAT(world.synchronize(reported({{spec, sandbox}})).remove_pods, ElementsAre(PodUid("u")));
}

TEST(NriPlan, SynchronizeNotesPodsWithImpossibleNames) {
  World world;
  PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  api::PodSandbox sandbox = running(spec);
  sandbox.set_uid("..");
  EXPECT_THAT(world.synchronize(reported({{spec, sandbox}})).notes,
              ElementsAre(HasSubstr("metadata.uid: '..'")));
}

TEST(NriPlan, AfterARestartOfTheRuntimeAPodEndsWithItsLastContainer) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi"), limited("b", "1", "1Gi")});
  world.synchronize(reported({{spec, running(spec)}}));
  for (const char* const name : {"a", "b"}) {
    EXPECT_THAT(world.uids(), ElementsAre("u"));
    world.change(api::Event::STOP_CONTAINER, running(spec), name);
    EXPECT_THAT(world.uids(), ElementsAre("u"));
    world.change(api::Event::REMOVE_CONTAINER, running(spec), name);
  }
  EXPECT_THAT(world.uids(), IsEmpty());
}

TEST(NriPlan, APodLivesAsLongAsOneOfItsSandboxes) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  api::PodSandbox first = annotated(spec);
  first.set_id("first");
  world.run_sandbox(first);
  world.run_sandbox(annotated(spec));
  world.change(api::Event::REMOVE_POD_SANDBOX, first);
  EXPECT_THAT(world.uids(), ElementsAre("u"));
  world.change(api::Event::STOP_POD_SANDBOX, annotated(spec));
  EXPECT_THAT(world.uids(), IsEmpty());
}

TEST(NriPlan, ALateEventOfAnEarlierContainerCountsForNothing) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  api::StateChangeEvent late;
  (void)world.create(running(spec), test::container_of(spec, spec.containers[0]), "1");
  late.set_event(api::Event::REMOVE_CONTAINER);
  *late.mutable_pod() = running(spec);
  *late.mutable_container() = world.known_.find(running(spec).id())->find("a")->shown;
  (void)world.create(running(spec), test::container_of(spec, spec.containers[0]), "2");
  world.known_.change(late);
  EXPECT_EQ(world.known_.find(running(spec).id())->find("a")->phase, Phase::kCreating);
}

TEST(NriPlan, AContainerThatHasStoppedDoesNotStartWithALateEvent) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  (void)world.create(spec, "a");
  for (const auto event : {api::Event::STOP_CONTAINER, api::Event::POST_START_CONTAINER,
                           api::Event::POST_CREATE_CONTAINER}) {
    world.change(event, running(spec), "a");
    EXPECT_EQ(world.known_.find(running(spec).id())->find("a")->phase, Phase::kStopped);
  }
}

}  // namespace
}  // namespace pinfold::nri
