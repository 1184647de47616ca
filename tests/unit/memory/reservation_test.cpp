#include "memory_fixture.hpp"

namespace pinfold::memory_test {
namespace {

std::string make_error(const Machine& machine, const Config& config,
                       const NodeReservation& reservation = reservation_of()) {
  const auto made = MemoryManager::make(machine, config, reservation);
  return made ? "" : made.error().message;
}

TEST(MemoryManagerMake, ChecksThePolicyName) {
  const Machine machine = even_machine(1, 8);
  Config config = static_config();
  config.memory_manager_policy = "static";
  EXPECT_EQ(make_error(machine, config), "unknown policy: \"static\"");
  config.memory_manager_policy = "BestEffort";
  EXPECT_EQ(make_error(machine, config),
            "policy \"BestEffort\" is not available for platform \"linux\"");
}

struct ReservationCase {
  const char* name;
  std::vector<MemoryReservation> reserved;
  const char* of_node;
  const char* error;
};

class MemoryReservationText : public testing::TestWithParam<ReservationCase> {};

TEST_P(MemoryReservationText, MatchesTheKubelet) {
  const ReservationCase& c = GetParam();
  Config config = static_config();
  config.reserved_memory = c.reserved;
  EXPECT_EQ(make_error(even_machine(2, 8), config, reservation_of(c.of_node)), c.error);
}

const ReservationCase kReservationCases[] = {
    {"SumFits", {{0, {{"memory", "1Gi"}}}, {1, {{"memory", "100Mi"}}}}, "1124Mi", ""},
    {"SumOverNodesIsCompared",
     {{0, {{"memory", "1Gi"}}}, {1, {{"memory", "1Gi"}}}},
     "1Gi",
     "the total amount \"2Gi\" of type \"memory\" is not equal to the value \"1Gi\" determined by "
     "Node Allocatable feature"},
    {"NothingReserved",
     {},
     "1124Mi",
     "the total amount \"0\" of type \"memory\" is not equal to the value \"1124Mi\" determined by "
     "Node Allocatable feature"},
    {"HugePagesMustBeReservedToo",
     {{0, {{"memory", "1Gi"}, {"hugepages-2Mi", "4Mi"}}}},
     "1Gi",
     "the total amount \"4Mi\" of type \"hugepages-2Mi\" is not equal to the value \"0\" "
     "determined "
     "by Node Allocatable feature"},
    {"UnknownNode",
     {{9, {{"memory", "1Gi"}}}},
     "1Gi",
     "the reserved memory configuration references a NUMA node 9 that does not exist on this "
     "machine"},
    {"FractionOfAByte",
     {{0, {{"memory", "1073741824500m"}}}},
     "1073741824500m",
     "could not covert a variable of type Quantity to int64"},
    {"StaticNeedsSomeReservation",
     {},
     "0",
     "[memorymanager] you should specify the system reserved memory"},
};

INSTANTIATE_TEST_SUITE_P(Table, MemoryReservationText, testing::ValuesIn(kReservationCases),
                         [](const auto& tested) { return tested.param.name; });

TEST(MemoryQuirks, ExcessReservedMemoryWrapsAround) {
  const Machine machine = even_machine(2, 8);
  Config config = static_config(Profile::kFixed);
  config.reserved_memory = {{.numa_node = 0, .limits = {{"memory", "9Gi"}}}};
  EXPECT_EQ(make_error(machine, config, reservation_of("9Gi")),
            "reservedMemory: 9Gi of memory on NUMA node 0: expected at most what the "
            "node has (8Gi, huge pages not counted)");
  config.profile = Profile::kKubelet136;
  EXPECT_EQ(make_error(machine, config, reservation_of("9Gi")), "");
}

TEST(MemoryManagerStart, FillsAnEmptyState) {
  const Node node(machine_of({{.id = 0, .gib = 8, .hugepages = {{"hugepages-1Gi", 2 * kGi}}},
                              {.id = 3, .gib = 4, .hugepages = {}}}));
  EXPECT_EQ(node.table(0), (MemoryTable{8 * kGi, kGi, 5 * kGi, 0, 5 * kGi}));
  EXPECT_EQ(node.table(0, "hugepages-1Gi"), (MemoryTable{2 * kGi, 0, 2 * kGi, 0, 2 * kGi}));
  EXPECT_EQ(node.table(3), (MemoryTable{4 * kGi, 0, 4 * kGi, 0, 4 * kGi}));
  EXPECT_EQ(node.state.machine_state.at(3).cells, std::vector<std::int32_t>{3});
}

TEST(MemoryManagerStart, LeavesTheStateEmptyWithPolicyNone) {
  Config config;
  const Node node(even_machine(2, 8), config, {});
  EXPECT_EQ(node.state, MemoryState{});
}

struct RestoreCase {
  const char* name;
  void (*damage)(MemoryState&);
  const char* error;
};

class MemoryRestore : public testing::TestWithParam<RestoreCase> {};

TEST_P(MemoryRestore, ValidatesTheState) {
  Node node(even_machine(2, 8));
  ASSERT_EQ(node.admit(pod_of("a", {container_of("c", {{"memory", "10Gi"}})})), "");
  MemoryState state = node.state;
  GetParam().damage(state);
  const auto started = node.manager.start(state);
  EXPECT_EQ(started ? "" : started.error().message, GetParam().error);
}

constexpr const char* kDiffers =
    "[memorymanager] the expected machine state is different from the real one";
const RestoreCase kRestoreCases[] = {
    {"SoundState", [](MemoryState&) {}, ""},
    {"OnlyTheSumOfAGroupCounts",
     [](MemoryState& s) {
       auto& nodes = s.machine_state;
       for (const std::int32_t id : {0, 1}) {
         auto& t = nodes.at(id).tables.at("memory");
         (id == 0 ? t.free : t.reserved) += kGi;
         (id == 0 ? t.reserved : t.free) -= kGi;
       }
     },
     ""},
    {"OtherSumOfAGroup",
     [](MemoryState& s) { s.machine_state.at(0).tables.at("memory").free -= kGi; }, kDiffers},
    {"OtherReservedSumOfAGroup",
     [](MemoryState& s) { s.machine_state.at(1).tables.at("memory").reserved += kGi; }, kDiffers},
    {"NoMachineState", [](MemoryState& s) { s.machine_state.clear(); },
     "[memorymanager] machine state can not be empty when it has memory assignments"},
    {"OtherNodes", [](MemoryState& s) { s.machine_state.erase(1); }, kDiffers},
    {"OtherTotal", [](MemoryState& s) { s.machine_state.at(0).tables.at("memory").total = 1; },
     kDiffers},
    {"OtherCount", [](MemoryState& s) { s.machine_state.at(0).number_of_assignments = 7; },
     kDiffers},
    {"GroupInAnotherOrder",
     [](MemoryState& s) {
       s.machine_state.at(0).cells = {1, 0};
     },
     ""},
    {"OtherGroup", [](MemoryState& s) { s.machine_state.at(0).cells = {0}; }, kDiffers},
    {"UnknownNode",
     [](MemoryState& s) {
       s.assignments[{PodUid("b"), "x"}] = {{{0, 5}, "memory", 1}};
     },
     "[memorymanager] (pod: b, container: x) the memory assignment uses the NUMA that does not "
     "exist"},
    {"UnknownResource",
     [](MemoryState& s) {
       s.assignments[{PodUid("b"), "x"}] = {{{0}, "hugepages-64Ki", 1}};
     },
     "[memorymanager] (pod: b, container: x) the memory assignment uses memory resource that does "
     "not exist"},
};

INSTANTIATE_TEST_SUITE_P(Table, MemoryRestore, testing::ValuesIn(kRestoreCases),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace pinfold::memory_test
