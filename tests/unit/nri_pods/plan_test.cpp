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

/// A pod with an UID of its own.
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

  /// The answer to CreateContainer; the message of an error.
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

  AgentRequests synchronize(const api::SynchronizeRequest& request) {
    known_ = KnownPods(request);
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
    for (const PodSpec& spec : requests.admit) {
      Decision decision = decide(node_, state_, spec);
      if (auto* admitted = std::get_if<Admitted>(&decision)) state_ = std::move(admitted->next);
    }
    notes_.insert(notes_.end(), requests.notes.begin(), requests.notes.end());
  }

  /// The cpuset of the answer to an update.
  [[nodiscard]] std::string answered(const api::UpdateContainerRequest& request) const {
    return answer_update(request, node_, state_).update(0).linux().resources().cpu().cpus();
  }
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
  // The kubelet has resized the container: the annotation no longer agrees.
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
  EXPECT_THAT(answer.error().message, HasSubstr("container 'a' has the cpuset '2-3' already: the "
                                                "kubelet needs cpuManagerPolicy none"));
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

/// From before the policy was none; no CPUs in an update would mean no change.
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
  EXPECT_EQ(world.synchronize(request), AgentRequests{});
}

TEST(NriPlan, SynchronizeAdmitsAPodWithTwoSandboxesOnce) {
  World world;
  const PodSpec spec = named("u", {limited("a", "2", "1Gi")});
  api::PodSandbox another = annotated(spec);
  another.set_id("another");
  auto request = reported({{spec, annotated(spec)}, {spec, another}});
  EXPECT_THAT(world.synchronize(request).admit, ElementsAre(spec));
  // The same container twice: the later one counts.
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
