// Parts of planning: what pods have and may have, and the CPUs that a search tries.

#include "candidates.hpp"
#include "plan_fixture.hpp"
#include "survey.hpp"

namespace pinfold::test {
namespace {

TEST(PlannedMemory, IsFreeOnAllNumaNodesOfABlock) {
  const Config config = with_memory_manager(aligning_config("none"));
  const MemoryState memory = empty_state(node_of(smt_machine(), config)).memory;
  const std::uint64_t gib = std::uint64_t{1} << 30U;
  EXPECT_EQ(planning::free_bytes(memory, {{1}, "memory", 0}), 16 * gib);
  EXPECT_EQ(planning::free_bytes(memory, {{0, 1}, "memory", 0}), 31 * gib);
  EXPECT_EQ(planning::free_bytes(memory, {{1, 2}, "memory", 0}), 0U) << "2 does not exist";
  EXPECT_EQ(planning::free_bytes(memory, {{1}, "hugepages-1Gi", 0}), 0U);
}

TEST(PlannedMemory, MakesNoGroupThatCutsAnother) {
  const Config config = with_memory_manager(aligning_config("none"));
  MemoryState memory = empty_state(node_of(smt_machine(), config)).memory;
  EXPECT_TRUE(planning::can_be_group(memory, {0, 1}));
  EXPECT_TRUE(planning::can_be_group(memory, {5})) << "nothing is there";
  memory.machine_state.at(1).number_of_assignments = 1;
  memory.machine_state.at(1).cells = {1};
  EXPECT_TRUE(planning::can_be_group(memory, {0}));
  EXPECT_TRUE(planning::can_be_group(memory, {1}));
  EXPECT_FALSE(planning::can_be_group(memory, {0, 1}));
}

TEST(PlannedPod, AnInitContainerHasEndedWhenALaterOneWasStarted) {
  ActivePod pod{pod_of("a", {container("one", {}, ContainerKind::kInit),
                             container("two", {}, ContainerKind::kInit), container("app", {})}),
                {}};
  const auto ended = [&](std::size_t at) {
    return planning::has_ended(pod, pod.spec.containers[at]);
  };
  EXPECT_FALSE(ended(0));
  pod.started = {"one"};
  EXPECT_FALSE(ended(0)) << "it runs";
  pod.started = {"one", "two"};
  EXPECT_TRUE(ended(0));
  EXPECT_FALSE(ended(1));
  pod.started.insert("app");
  EXPECT_TRUE(ended(1));
  EXPECT_FALSE(ended(2)) << "it is none";
}

/// A pod of two containers with two CPUs and 1 GiB each.
class JudgeTest : public testing::Test {
 protected:
  const Amounts two = {{"cpu", "2"}, {"memory", "1Gi"}};
  const Node node =
      node_of(smt_machine(), with_memory_manager(aligning_config("single-numa-node")));
  const NodeState state =
      state_with(node, {pod_of("a", {container("one", two), container("two", two)})});
  planning::Judge judge{node, state};
  const planning::PodCase pod = planning::survey(node, state, state.pods[0], judge);
};

TEST_F(JudgeTest, SaysWhatAUnitMayHave) {
  ASSERT_EQ(pod.units.size(), 2U);
  EXPECT_TRUE(pod.keep_allowed);
  const auto allows = [&](const CpuSet& cpus, NumaMask memory) {
    const bool first = judge.allows(pod, pod.units[0], {cpus, memory});
    EXPECT_EQ(judge.allows(pod, pod.units[0], {cpus, memory}), first) << "asked again";
    return first;
  };
  const NumaMask near = NumaMask::of(0);
  EXPECT_TRUE(allows({1, 2}, near));
  EXPECT_FALSE(allows({1}, near));
  EXPECT_FALSE(allows({1, 2, 3}, near));
  EXPECT_FALSE(allows({0, 1}, near)) << "0 is reserved";
  EXPECT_FALSE(allows({1, 2}, {})) << "no memory";
  EXPECT_FALSE(allows({1, 4}, near)) << "on two NUMA nodes";
  EXPECT_FALSE(allows({1, 2}, NumaMask::of(1)));
}

TEST_F(JudgeTest, FindsWhatAUnitWouldGetAlone) {
  planning::Board board{{6, 7, 14}, empty_state(node).memory, {}};
  for (const planning::Unit& unit : pod.units) {
    const auto spot = judge.natural(pod, unit, board);
    ASSERT_TRUE(spot) << unit.container->name;
    EXPECT_EQ(spot->cpus, (CpuSet{6, 14}));
    EXPECT_EQ(spot->memory, NumaMask::of(1));
  }
  board.free = {1, 7};
  EXPECT_FALSE(judge.natural(pod, pod.units[0], board)) << "no two on a NUMA node";
}

using planning::CpuChoice;

/// For a machine with 8 CPUs, where CPU n and n + 4 are a core; cores 0 and 1 are on NUMA node 0.
struct Choosing {
  const char* name;
  std::size_t count;
  const char* available;
  const char* own = "";
  std::map<int, int> owners = {};
  std::map<int, int> sharing = {};
  const char* expected = "";  ///< in order of the visits, separated by spaces
};

CpuChoice choice_of(const Choosing& given, const Machine& machine) {
  CpuChoice choice;
  choice.machine = &machine;
  choice.available = CpuSet::parse(given.available).value();
  choice.own = CpuSet::parse(given.own).value();
  choice.count = given.count;
  choice.owner.assign(machine.cpus().size(), -1);
  for (const auto& [cpu, owner] : given.owners) choice.owner[static_cast<std::size_t>(cpu)] = owner;
  if (!given.sharing.empty()) choice.sharing.assign(machine.cpus().size(), 0);
  for (const auto& [cpu, number] : given.sharing) {
    choice.sharing[static_cast<std::size_t>(cpu)] = number;
  }
  return choice;
}

using Enumerate = Enumeration (*)(const CpuChoice&, const planning::VisitCpus&);

/// Returns the visited CPUs, each named once. The visits stop after `most`.
std::string visited(Enumerate enumerate, const Choosing& given, const Machine& machine,
                    std::size_t most = 1000) {
  std::string text;
  std::size_t visits = 0;
  const auto result = enumerate(choice_of(given, machine), [&](const CpuSet& cpus) {
    EXPECT_EQ(cpus.size(), given.count) << given.name;
    const std::string name = " " + cpus.to_string();
    if ((text + " ").find(name + " ") == std::string::npos) text += name;
    return ++visits < most ? Enumeration::kContinue : Enumeration::kStop;
  });
  EXPECT_LE(visits, most) << given.name;
  EXPECT_EQ(result == Enumeration::kStop, visits >= most) << given.name;
  return text.empty() ? text : text.substr(1);
}

TEST(GoodChoices, KeepOwnCpusAndLeaveOthersAlone) {
  const std::vector<Choosing> cases = {
      {"nobody has any", 2, "0-7", "", {}, {}, "0,4 2,6"},
      {"one of two is its own", 2, "0-7", "1", {}, {}, "0-1 1,5 2,6"},
      {"own CPU on NUMA node 1", 3, "0-7", "6", {}, {}, "2-3,6 0,2,6 0-1,4"},
      {"own CPUs of two cores", 2, "0-7", "1,4", {}, {}, "1,4 0,4 2,6"},
      {"a core in part", 2, "0-3,5-7", "", {}, {}, "1,5 2,6"},
      {"others on the first core", 2, "0-7", "", {{0, 1}, {4, 1}}, {}, "1,5 2,6"},
      {"half of each core is of another",
       3,
       "0-7",
       "",
       {{0, 0}, {1, 1}, {2, 0}, {7, 2}},
       {},
       "4-6 0,4-5 2-3,6 0-1,4"},
      {"one loses rather than two", 3, "0-1,4-5", "0", {{1, 3}, {4, 2}, {5, 3}}, {}, "0-1,5 0-1,4"},
      {"only of others", 2, "0-3", "", {{0, 0}, {1, 1}, {2, 2}, {3, 2}}, {}, "2-3 0-1"},
      {"shared before unshared", 2, "0-7", "", {}, {{5, 1}, {6, 1}}, "0,5 0,4 2,6 5-6"},
      {"its own before the first of a core", 1, "0-7", "4", {}, {}, "4 2"},
      {"as many as there are", 3, "1-3", "2", {}, {}, "1-3"},
      {"a NUMA node has too few", 3, "0-3", "", {}, {}, "0-2"},
  };
  const Machine machine = smt_machine(2);
  for (const Choosing& each : cases) {
    EXPECT_EQ(visited(planning::for_each_good_choice, each, machine), each.expected) << each.name;
  }
}

TEST(GoodChoices, ArePairsOfNumaNodesOnMachinesThatAreNotLarge) {
  const Choosing given = {"a CPU of each", 2, "0-8", "", {}, {}, ""};
  EXPECT_EQ(visited(planning::for_each_good_choice, given, machine_of({.numa = 1, .cpus = 9})),
            "0-1");
  EXPECT_EQ(visited(planning::for_each_good_choice, given, machine_of({.numa = 3, .cpus = 1})),
            "0-1 0,2 1-2");
  const Choosing last = {"the last two", 2, "6-8", "", {}, {}, ""};
  EXPECT_EQ(visited(planning::for_each_good_choice, last, machine_of({.numa = 8, .cpus = 1})),
            "6-7");
  const Choosing far = {"not the first two", 2, "0-7", "7", {}, {}, ""};
  EXPECT_EQ(visited(planning::for_each_good_choice, far, machine_of({.numa = 8, .cpus = 1}))
                .substr(0, 15),
            "0,7 1,7 2,7 3,7");
  EXPECT_EQ(visited(planning::for_each_good_choice, given, machine_of({.numa = 9, .cpus = 1})),
            "0-1");
}

TEST(AllChoices, AreOneOfEachEqual) {
  const std::vector<Choosing> cases = {
      {"nobody has any", 2, "0-7", "", {}, {}, "0,4 0-1 0,2 2,6 2-3"},
      {"one is its own", 2, "0-1,4-5", "4", {}, {}, "0,4 0-1 1,4 1,5"},
      {"one is of another", 2, "0-1,4-5", "", {{5, 0}}, {}, "1,5 0,5 0-1 0,4"},
      {"two are of others", 1, "0-1,4-5", "", {{5, 0}, {0, 1}}, {}, "5 1 0 4"},
      {"one is shared", 1, "0-7", "", {}, {{6, 1}}, "0 6 2 3"},
      {"cores in part", 3, "0-2,5,7", "", {}, {}, "0-1,5 0-2 0,2,7 1-2,5 1-2,7"},
      {"all", 8, "0-7", "", {}, {}, "0-7"},
      {"too few", 3, "0-1", "", {}, {}, ""},
  };
  const Machine machine = smt_machine(2);
  for (const Choosing& each : cases) {
    EXPECT_EQ(visited(planning::for_each_choice_of_cpus, each, machine), each.expected)
        << each.name;
  }
}

TEST(AllChoices, AreFoundOnManyEqualCores) {
  const Choosing all = {"all", 16, "0-15", "", {}, {}, ""};
  EXPECT_EQ(visited(planning::for_each_choice_of_cpus, all, smt_machine(4)), "0-15");
}

TEST(Choices, EndWhenTheVisitorSaysSo) {
  const Machine machine = machine_of({.numa = 3, .cpus = 2});
  const Choosing given = {"a CPU of each", 2, "0,2,4", "", {}, {}, ""};
  for (const Enumerate enumerate :
       {planning::for_each_good_choice, planning::for_each_choice_of_cpus}) {
    for (std::size_t most = 1; most < 6; ++most) (void)visited(enumerate, given, machine, most);
  }
}

TEST(ChoiceKeys, AreTheSameForEqualCpusOnly) {
  const Machine machine = smt_machine(2);
  const auto key = [&](const Choosing& given) {
    std::string text;
    planning::add_to_key(choice_of(given, machine), text);
    return text;
  };
  const Choosing first = {"core 0", 1, "0-3,5-7", "", {{1, 0}}, {}, ""};
  EXPECT_EQ(key(first), key({"the other CPU of the core", 1, "1-7", "", {{1, 0}}, {}, ""}));
  EXPECT_EQ(key(first), key({"the cores exchanged", 1, "0-4,6-7", "", {{0, 0}}, {}, ""}));
  for (const Choosing& other :
       std::vector<Choosing>{{"more CPUs", 1, "0-7", "", {{1, 0}}, {}, ""},
                             {"on the other NUMA node", 1, "0-5,7", "", {{3, 0}}, {}, ""},
                             {"of its own", 1, "0-3,5-7", "0", {{1, 0}}, {}, ""},
                             {"of another", 1, "0-3,5-7", "", {{1, 1}}, {}, ""},
                             {"of nobody", 1, "0-3,5-7", "", {}, {}, ""},
                             {"shared", 1, "0-3,5-7", "", {{1, 0}}, {{2, 1}}, ""}}) {
    EXPECT_NE(key(first), key(other)) << other.name;
  }
}

TEST(Survey, SaysWhetherAPodIsDividedAsBefore) {
  Config config = aligning_config("restricted", "pod");
  config.feature_gates["PodLevelResourceManagers"] = true;
  const Node node = node_of(smt_machine(), config);
  const CpuSet both = divided(node, {}).cpu.pods.at(PodUid("a"));
  CpuSet first;
  first.insert(both.first());
  const auto is_as_before = [&](const NodeState& state) {
    planning::Judge judge(node, state);
    const auto pod = planning::survey(node, state, state.pods[0], judge);
    EXPECT_TRUE(pod.is_whole);
    EXPECT_EQ(pod.whole_before.cpus, state.cpu.pods.at(PodUid("a")));
    return pod.is_divided_as_before;
  };
  EXPECT_TRUE(is_as_before(divided(node, first)));
  EXPECT_FALSE(is_as_before(divided(node, {}))) << "one had none";
  EXPECT_FALSE(is_as_before(divided(node, both))) << "one had more";
  NodeState smaller = divided(node, first);
  smaller.cpu.pods[PodUid("a")] = first;
  EXPECT_FALSE(is_as_before(smaller));
}

TEST(Survey, FindsNoUnitsInAPodThatNoNodeAdmits) {
  const Node node = node_of(smt_machine(), aligning_config("single-numa-node"));
  const NodeState state = empty_state(node);
  planning::Judge judge(node, state);
  for (const auto& [one, two] : {std::pair("1", "9"), std::pair("9", "1")}) {
    const ActivePod pod{pod_of("a", {container("one", {{"cpu", one}, {"memory", "1Gi"}}),
                                     container("two", {{"cpu", two}, {"memory", "1Gi"}})}),
                        {}};
    const auto found = planning::survey(node, state, pod, judge);
    ASSERT_TRUE(found.rejection);
    EXPECT_EQ(found.rejection->reason, kAffinityError);
    EXPECT_TRUE(found.units.empty());
    EXPECT_FALSE(found.keep_allowed);
  }
}

}  // namespace
}  // namespace pinfold::test
