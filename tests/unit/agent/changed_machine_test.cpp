#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "node_samples.hpp"
#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/agent/status.hpp"
#include "temp_dir.hpp"

/// The machine differs from the one in the state, without a reconfiguration.
namespace pinfold::agent {
namespace {

using test::best_effort;
using test::guaranteed;
using test::pod;
using test::two_sockets;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMi = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;
constexpr const char* kNone =
    "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
constexpr const char* kStatic =
    "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
    "memoryManagerPolicy: Static\nkubeReserved: {memory: 924Mi}\n"
    "evictionHard: {memory.available: 100Mi}\n"
    "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n";

using Edit = void (*)(MachineDescription&);

Machine edited(Edit edit) {
  MachineDescription description = two_sockets().description();
  edit(description);
  return Machine::make(std::move(description)).value();
}

void add_huge_pages(MachineDescription& machine) {
  machine.numa_nodes[1].hugepages["hugepages-2Mi"] = 16 * kMi;
}
void add_memory(MachineDescription& machine) { machine.numa_nodes[1].memory += kGi; }
void take_memory(MachineDescription& machine) { machine.numa_nodes[1].memory -= kGi; }
void add_node(MachineDescription& machine) {
  machine.numa_nodes.push_back({NumaId{2}, kGi, {}, {}});
  for (NumaNode& node : machine.numa_nodes) node.distances.clear();
}
void add_cpu(MachineDescription& machine) {
  machine.cpus.push_back({CpuId{8}, CoreId{8}, SocketId{1}, NumaId{1}, CacheId{1}});
}
void move_cpu_and_grow(MachineDescription& machine) {
  machine.cpus[3].numa = NumaId{1};
  add_memory(machine);
}

class ChangedMachine : public testing::Test {
 protected:
  [[nodiscard]] AgentOptions options() {
    AgentOptions out;
    out.state_dir = dir_ / "state";
    out.enforce = false;
    out.log = [this](LogLevel level, std::string_view message) {
      if (level == LogLevel::kWarning) warnings_.emplace_back(message);
    };
    return out;
  }
  [[nodiscard]] Result<NodeAgent> open(Machine machine, const char* config) {
    return open_agent(std::move(machine), parse_config(config).value().config, options());
  }
  void admit(const char* config) {
    auto agent = open(two_sockets(), config);
    ASSERT_TRUE(agent) << agent.error().message;
    const auto outcome = agent->admit(pod("a", {guaranteed("c", 2)}));
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_FALSE(outcome->rejection) << outcome->rejection->message;
  }

  test::TempDir dir_;
  std::vector<std::string> warnings_;
};

TEST_F(ChangedMachine, IsSaidAndStopsNobodyWithStaticMemory) {
  const struct {
    const char* name;
    Edit edit;
    const char* change;
  } rows[] = {
      {"huge pages", add_huge_pages, "NUMA node 1: hugepages-2Mi of 0 becomes 16Mi"},
      {"more memory", add_memory, "NUMA node 1: memory of 4Gi becomes 5Gi"},
      {"less memory", take_memory, "NUMA node 1: memory of 4Gi becomes 3Gi"},
      {"another NUMA node", add_node, "NUMA node 2 is new"},
      {"another CPU", add_cpu, "CPU 8 is new"},
  };
  admit(kStatic);
  for (const auto& row : rows) {
    warnings_.clear();
    auto agent = open(edited(row.edit), kStatic);
    ASSERT_TRUE(agent) << row.name << ": " << agent.error().message;
    EXPECT_EQ(agent->node().machine(), two_sockets()) << row.name;
    EXPECT_THAT(agent->machine_changes(), ElementsAre(row.change)) << row.name;
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr(row.change))) << row.name;
    EXPECT_THAT(warnings_.front(), HasSubstr("'pinfold reconfigure' adapts the state")) << row.name;
    const auto status = node_status(*agent);
    ASSERT_TRUE(status) << row.name;
    EXPECT_TRUE(status->ok) << row.name;
    EXPECT_EQ(to_json(*status).at("machineChanges"), nlohmann::json{row.change}) << row.name;
    // Later changes still use the machine in the state.
    const auto more = agent->admit(pod("b", {guaranteed("c", 1)}));
    ASSERT_TRUE(more) << row.name << ": " << more.error().message;
    EXPECT_FALSE(more->rejection) << row.name << ": " << more->rejection->message;
    EXPECT_TRUE(agent->start({PodUid("b"), "c"})) << row.name;
    EXPECT_TRUE(agent->remove_pod(PodUid("b"), RunningProcesses::kRefuse)) << row.name;
  }
}

TEST_F(ChangedMachine, AToleratedDriftBecomesTheNode) {
  const std::string tolerant =
      std::string(kStatic) + "memoryManagerPolicyOptions: {memory-drift-tolerance: 64Mi}\n";
  admit(tolerant.c_str());
  std::vector<std::string> said;
  AgentOptions options = this->options();
  options.log = [&](LogLevel level, std::string_view message) {
    if (level >= LogLevel::kInfo) said.emplace_back(message);
  };
  const Machine drifted =
      edited([](MachineDescription& machine) { machine.numa_nodes[1].memory -= 12UL * 1024; });
  {
    auto agent = open_agent(drifted, parse_config(tolerant).value().config, options);
    ASSERT_TRUE(agent) << agent.error().message;
    EXPECT_EQ(agent->node().machine(), drifted);
    EXPECT_THAT(agent->machine_changes(), IsEmpty());
    EXPECT_THAT(said, Contains("memory-drift-tolerance: NUMA node 1: memory of 4Gi becomes "
                               "4194292Ki; the pods keep their memory"));
    EXPECT_TRUE(agent->state().node.memory.assignments.contains({PodUid("a"), "c"}));
    const auto more = agent->admit(pod("b", {guaranteed("c", 1)}));
    ASSERT_TRUE(more && !more->rejection);
  }
  // The files now hold the new sizes.
  said.clear();
  auto exact = open_agent(drifted, parse_config(kStatic).value().config, options);
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_THAT(exact->machine_changes(), IsEmpty());
  EXPECT_THAT(said, testing::Not(Contains(HasSubstr("memory-drift-tolerance: NUMA node"))));
}

/// The kernel image is read from the observed machine, not from the machine that runs the test.
TEST_F(ChangedMachine, ToleratesAsMuchAsTheKernelOfThatMachineTakes) {
  const test::TempDir tree;
  tree.write("proc/iomem", "00100000-bfffffff : System RAM\n  01000000-03ffffff : Kernel code\n");
  Config config = parse_config(kStatic).value().config;
  config.memory_manager_policy_options["memory-drift-tolerance"] = "auto";
  std::vector<std::string> said;
  const auto image_of = [&](const std::string& iomem) {
    const auto log = [&](LogLevel /*level*/, std::string_view message) {
      said.emplace_back(message);
    };
    return with_kernel_image(config, iomem, log).kernel_image.bytes;
  };
  EXPECT_EQ(image_of(tree / "proc/iomem"), 48 * kMi);
  EXPECT_THAT(said, IsEmpty());
  EXPECT_EQ(image_of(tree / "iomem"), std::nullopt);
  EXPECT_EQ(image_of(""), std::nullopt);
  EXPECT_THAT(said, ElementsAre(HasSubstr("/iomem' does not show"),
                                HasSubstr("a machine file does not show")));
}

TEST_F(ChangedMachine, MoreThanIsToleratedIsSaid) {
  const std::string tolerant =
      std::string(kStatic) + "memoryManagerPolicyOptions: {memory-drift-tolerance: 64Mi}\n";
  admit(tolerant.c_str());
  auto agent = open(edited(take_memory), tolerant.c_str());
  ASSERT_TRUE(agent) << agent.error().message;
  EXPECT_EQ(agent->node().machine(), two_sockets());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("memory of 4Gi becomes 3Gi")));
}

TEST_F(ChangedMachine, SizesAreNoPartOfItWithoutStaticMemory) {
  admit(kNone);
  for (const Edit edit : {add_huge_pages, add_memory, take_memory}) {
    const Machine observed = edited(edit);
    auto agent = open(observed, kNone);
    ASSERT_TRUE(agent) << agent.error().message;
    EXPECT_EQ(agent->node().machine(), observed);
    EXPECT_THAT(agent->machine_changes(), IsEmpty());
    EXPECT_THAT(warnings_, IsEmpty());
    const Config& config = agent->node().config();
    EXPECT_THAT(differences(two_sockets(), config, observed, config), IsEmpty());
  }
}

/// Removes the huge page sizes that have no pages.
void take_empty_huge_pages(MachineDescription& machine) {
  for (NumaNode& node : machine.numa_nodes)
    std::erase_if(node.hugepages, [](const auto& one) { return one.second == 0; });
}
void add_empty_huge_pages(MachineDescription& machine) {
  machine.numa_nodes[0].hugepages["hugepages-1Gi"] = 0;
}
void rename(MachineDescription& machine) { machine.name = "other"; }
void take_distances(MachineDescription& machine) {
  for (NumaNode& node : machine.numa_nodes) node.distances.clear();
}
void move_cache(MachineDescription& machine) { machine.cpus[3].l3 = CacheId{7}; }
void add_device(MachineDescription& machine) {
  machine.devices.push_back({"example.com/gpu", "g0", {NumaId{0}}});
}

TEST(MachineDifferences, NameWhatHasChanged) {
  const Machine before = edited([](MachineDescription& machine) {
    machine.name = "one";
    machine.numa_nodes[0].distances = {10, 21};
    machine.numa_nodes[1].distances = {21, 10};
  });
  const struct {
    Edit edit;
    std::vector<std::string> changes;
  } rows[] = {
      {rename, {"name 'one' becomes 'other'"}},
      {take_distances,
       {"NUMA node 0: distances 10 21 become (unknown)",
        "NUMA node 1: distances 21 10 become (unknown)"}},
      {move_cache, {"CPU 3 has another L3 cache"}},
      {add_device, {"the devices of 'example.com/gpu' changed or moved: 0 before, 1 now"}},
      {[](MachineDescription&) {}, {}},
  };
  for (const auto& row : rows) {
    MachineDescription description = before.description();
    row.edit(description);
    const auto changes =
        machine_differences(before, Machine::make(description).value(), MemorySizes::kCount);
    EXPECT_EQ(changes, row.changes);
  }
}

TEST(MachineDifferences, AreNoneForZeroHugePages) {
  const Machine before = edited(add_empty_huge_pages);
  const Machine after = edited(take_empty_huge_pages);
  for (const MemorySizes sizes : {MemorySizes::kCount, MemorySizes::kIgnored}) {
    EXPECT_THAT(machine_differences(before, after, sizes), IsEmpty());
    EXPECT_THAT(machine_differences(after, before, sizes), IsEmpty());
  }
}

TEST_F(ChangedMachine, AnotherConfigurationThanTheLastIsSaid) {
  admit(kStatic);
  ASSERT_TRUE(open(two_sockets(), kStatic));
  EXPECT_THAT(warnings_, IsEmpty());
  const std::string other = std::string(kStatic) + "topologyManagerPolicy: restricted\n";
  ASSERT_TRUE(open(two_sockets(), other.c_str()));
  EXPECT_THAT(warnings_, ElementsAre("this is not the node's current configuration: "
                                     "topologyManagerPolicy: 'none' becomes 'restricted'"));
}

/// Containers would run on other NUMA nodes than the state says.
TEST_F(ChangedMachine, OfAnotherTopologyIsRefusedAsBefore) {
  admit(kStatic);
  const auto agent = open(edited(move_cpu_and_grow), kStatic);
  ASSERT_FALSE(agent);
  EXPECT_EQ(agent.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(agent.error().message, HasSubstr("'pinfold reconfigure'"));
}

TEST_F(ChangedMachine, WithACpuMoreIsRefusedByAKubeletsProfile) {
  auto parsed = parse_config(kStatic).value().config;
  parsed.profile = Profile::kKubelet136;
  ASSERT_TRUE(open_agent(two_sockets(), parsed, options())->admit(pod("a", {guaranteed("c", 2)})));
  EXPECT_FALSE(open_agent(edited(add_cpu), parsed, options()));
  EXPECT_TRUE(open_agent(edited(add_memory), parsed, options())) << "sizes harm nobody";
}

TEST_F(ChangedMachine, NeverAllocatesMemoryThatIsGone) {
  admit(kStatic);  // 64Mi on NUMA node 0, where 1Gi is reserved
  auto agent = open(edited([](MachineDescription& machine) {
                      machine.numa_nodes[0].memory = kGi + 100 * kMi;
                      machine.numa_nodes[1].memory = 32 * kMi;
                    }),
                    kStatic);
  ASSERT_TRUE(agent) << agent.error().message;
  EXPECT_THAT(agent->machine_changes(), ElementsAre("NUMA node 0: memory of 4Gi becomes 1124Mi",
                                                    "NUMA node 1: memory of 4Gi becomes 32Mi"));
  const auto outcomes =
      agent->admit({pod("b", {guaranteed("c", 2)}), pod("s", {best_effort("c")})});
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  ASSERT_TRUE(outcomes->front().rejection);
  EXPECT_THAT(outcomes->front().rejection->message, HasSubstr("memory is allocated and "));
  EXPECT_FALSE(outcomes->back().rejection) << "it needs none of that memory";
  EXPECT_EQ(agent->state().node.find(PodUid("b")), nullptr);
}

TEST_F(ChangedMachine, SaysWhatIsAllocatedOfMemoryThatIsGone) {
  admit(kStatic);
  const auto agent = open(
      edited([](MachineDescription& machine) { machine.numa_nodes[0].memory = kGi + 32 * kMi; }),
      kStatic);
  ASSERT_TRUE(agent) << agent.error().message;
  EXPECT_THAT(agent->machine_changes(),
              Contains("NUMA node 0: 64Mi of memory is allocated and 1Gi is reserved, but the "
                       "machine now has only 1056Mi"));
}

TEST_F(ChangedMachine, IsTakenOverByAServiceThatStartsIfNothingMoves) {
  admit(kStatic);
  const Machine observed = edited(add_huge_pages);
  const Config config = parse_config(kStatic).value().config;
  {
    const auto agent = open_and_reconfigure(observed, config, options());
    ASSERT_TRUE(agent) << agent.error().message;
    EXPECT_EQ(agent->node().machine(), observed);
    EXPECT_THAT(agent->machine_changes(), IsEmpty());
  }
  warnings_.clear();
  const auto agent = open(observed, kStatic);
  ASSERT_TRUE(agent) << agent.error().message;
  EXPECT_THAT(warnings_, IsEmpty()) << "it is stored";
}

TEST_F(ChangedMachine, IsLeftAloneByAServiceIfAContainerWouldMove) {
  admit(kStatic);
  const Machine observed =
      edited([](MachineDescription& machine) { machine.numa_nodes[0].memory = kGi + 32 * kMi; });
  const auto agent =
      open_and_reconfigure(observed, parse_config(kStatic).value().config, options());
  ASSERT_TRUE(agent) << agent.error().message;
  EXPECT_EQ(agent->node().machine(), two_sockets());
  EXPECT_FALSE(agent->machine_changes().empty());
}

/// A change of huge pages does not prevent the undo of a reconfiguration.
TEST_F(ChangedMachine, KeepsTheNodeBeforeWithoutStaticMemory) {
  admit(kNone);
  {
    auto agent = open(two_sockets(), kNone);
    Config config = parse_config(kNone).value().config;
    config.reserved_system_cpus = "0-1";
    auto to = make_node(two_sockets(), config).value();
    auto planned = plan_reconfiguration(*agent, to, {});
    ASSERT_TRUE(planned) << planned.error().message;
    ASSERT_TRUE(agent->reconfigure(std::move(to), planned->plan.next, RunningProcesses::kRefuse));
    ASSERT_TRUE(agent->before());
  }
  const auto agent = open(edited(add_huge_pages),
                          "kind: KubeletConfiguration\ncpuManagerPolicy: static\n"
                          "reservedSystemCPUs: 0-1\n");
  ASSERT_TRUE(agent) << agent.error().message;
  EXPECT_TRUE(agent->before());
}

}  // namespace
}  // namespace pinfold::agent
