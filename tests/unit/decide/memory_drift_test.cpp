#include "pinfold/memory/memory_drift.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "node_samples.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/memory/count_again.hpp"

/// memory-drift-tolerance (KEP-6232). Inputs and results come from the tests of kubernetes#140473
/// and #142121, as far as they are readable.
namespace pinfold {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMi = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;

TEST(KernelImage, IsTheSpanOfItsParts) {
  EXPECT_EQ(kernel_image_size("00100000-bfffffff : System RAM\n"
                              "  01000000-01dfffff : Kernel code\n"
                              "  01e00000-027fffff : Kernel rodata\n"
                              "  02800000-02bfffff : Kernel data\n"
                              "  03000000-035fffff : Kernel bss\n"),
            0x2600000U);
  EXPECT_EQ(kernel_image_size("  00000000-00000000 : Kernel code\n"
                              "  00000000-00000000 : Kernel data\n"
                              "  00000000-00000000 : Kernel bss\n"),
            std::nullopt);
  EXPECT_EQ(kernel_image_size("  00100000-07ffffff : System RAM\n"), std::nullopt);
  EXPECT_EQ(kernel_image_size(""), std::nullopt);
  EXPECT_EQ(kernel_image_size("x-y : Kernel code\n9-1 : Kernel data\n : Kernel bss"), std::nullopt);
  EXPECT_EQ(kernel_image_size("1-1:Kernel code"), 1U);
}

Config with_option(const std::string& value, const std::string& name = "memory-drift-tolerance") {
  Config config;
  config.memory_manager_policy = "Static";
  config.system_reserved = {{"memory", "64Mi"}};
  config.eviction_hard.emplace()["memory.available"] = "64Mi";
  config.reserved_memory = {{0, {{"memory", "128Mi"}}}};
  config.memory_manager_policy_options[name] = value;
  config.kernel_image.bytes = 55 * kMi;
  return config;
}

TEST(MemoryDriftTolerance, IsRead) {
  EXPECT_EQ(memory_drift_tolerance({}).value(), 0U);
  EXPECT_EQ(memory_drift_tolerance(with_option("off")).value(), 0U);
  EXPECT_EQ(memory_drift_tolerance(with_option("128Mi")).value(), 128 * kMi);
  EXPECT_EQ(memory_drift_tolerance(with_option("0")).value(), 0U);
  EXPECT_EQ(memory_drift_tolerance(with_option("auto")).value(), 119 * kMi);
  Config unknown = with_option("auto");
  unknown.kernel_image = {};
  EXPECT_EQ(memory_drift_tolerance(unknown).value(), 0U);
}

TEST(MemoryDriftTolerance, IsRefused) {
  const auto error = [](const Config& config) {
    const auto read = memory_drift_tolerance(config);
    return read ? "read" : read.error().message;
  };
  EXPECT_EQ(error(with_option("-1Mi")),
            R"(bad value for option "memory-drift-tolerance": "-1Mi" is negative)");
  EXPECT_THAT(error(with_option("lots")), HasSubstr(R"(bad value for option "memory-drift-)"));
  EXPECT_EQ(error(with_option("true", "no-such-option")),
            R"(unknown Memory Manager Policy option: "no-such-option")");
  Config none = with_option("off");
  none.memory_manager_policy = "None";
  EXPECT_THAT(error(none), HasSubstr(R"(policy "None" takes no)"));
}

TEST(MemoryDriftTolerance, NeedsItsVersionAndGate) {
  Config config = with_option("lots");
  config.profile = Profile::kKubelet137;
  EXPECT_EQ(memory_drift_tolerance(config).value(), 0U) << "a field that it does not know";
  config = with_option("1Mi");
  config.profile = Profile::kKubelet138;
  EXPECT_EQ(memory_drift_tolerance(config).error().message,
            "memory manager policy option \"memory-drift-tolerance\" requires the "
            "MemoryManagerDriftTolerance feature gate");
  config.feature_gates["MemoryManagerDriftTolerance"] = true;
  EXPECT_EQ(memory_drift_tolerance(config).value(), kMi);
  config.profile = Profile::kFixed;
  EXPECT_EQ(memory_drift_tolerance(config).value(), kMi);
  config.feature_gates["MemoryManagerDriftTolerance"] = false;
  EXPECT_FALSE(memory_drift_tolerance(config));
}

/// Two NUMA nodes of these sizes.
Machine machine_of(std::uint64_t first, std::uint64_t second, std::uint64_t huge = 0) {
  MachineDescription description = test::two_sockets().description();
  description.numa_nodes[0].memory = first;
  description.numa_nodes[1].memory = second;
  if (huge != 0) description.numa_nodes[0].hugepages["hugepages-2Mi"] = huge;
  return Machine::make(std::move(description)).value();
}

class MemoryDrift : public testing::Test {
 protected:
  /// Starts the manager on `after`, with the state that a start on `before` with these blocks
  /// leaves.
  [[nodiscard]] std::string restart(const Machine& before, const Machine& after,
                                    const std::vector<MemoryBlock>& blocks,
                                    const std::string& tolerance) {
    const Node first = Node::make(before, with_option(tolerance)).value();
    state_ = {};
    EXPECT_TRUE(first.memory().start(state_));
    if (!blocks.empty()) {
      state_.assignments[ContainerId{PodUid("p"), "c"}] = blocks;
      take_blocks(state_.machine_state, blocks);
    }
    EXPECT_TRUE(first.memory().start(state_)) << "without a drift";
    const Node second = Node::make(after, with_option(tolerance)).value();
    const auto started = second.memory().start(state_);
    return started ? "" : started.error().message;
  }
  [[nodiscard]] const MemoryTable& table(std::int32_t node) const {
    return state_.machine_state.at(node).tables.at("memory");
  }

  MemoryState state_;
};

constexpr const char* kDifferent =
    "[memorymanager] the expected machine state is different from the real one";

TEST_F(MemoryDrift, IsToleratedUpToTheBound) {
  const Machine before = machine_of(16 * kGi, 16 * kGi);
  for (const auto& [drift, error] : {std::pair{12 * (kMi / 1024), ""}, std::pair{64 * kMi, ""},
                                     std::pair{64 * kMi + 1, kDifferent}}) {
    EXPECT_EQ(restart(before, machine_of(16 * kGi - drift, 16 * kGi), {}, "64Mi"), error) << drift;
    EXPECT_EQ(restart(before, machine_of(16 * kGi + drift, 16 * kGi), {}, "64Mi"), error) << drift;
  }
  EXPECT_EQ(restart(before, machine_of(16 * kGi - 1, 16 * kGi), {}, "off"), kDifferent);
  EXPECT_EQ(restart(before, machine_of(16 * kGi - 119 * kMi, 16 * kGi), {}, "auto"), "");
}

TEST_F(MemoryDrift, CountsAgainOnTheNewSizes) {
  const Machine after = machine_of(16 * kGi - kMi, 16 * kGi + kMi);
  ASSERT_EQ(restart(machine_of(16 * kGi, 16 * kGi), after, {{{0}, "memory", kGi}}, "64Mi"), "");
  EXPECT_EQ(table(0).total, 16 * kGi - kMi);
  EXPECT_EQ(table(0).reserved, kGi);
  EXPECT_EQ(table(0).free, table(0).allocatable - kGi);
  EXPECT_EQ(table(1).total, 16 * kGi + kMi);
  const Node node = Node::make(after, with_option("off")).value();
  EXPECT_TRUE(node.memory().start(state_)) << "a later start needs no tolerance";
}

/// The share of each NUMA node in an assignment over both can change; the sum does not.
TEST_F(MemoryDrift, SplitsAnAssignmentOverNumaNodesAnew) {
  ASSERT_EQ(restart(machine_of(16 * kGi, 16 * kGi), machine_of(16 * kGi - kMi, 16 * kGi),
                    {{{0, 1}, "memory", 20 * kGi}}, "64Mi"),
            "");
  EXPECT_EQ(table(0).free, 0U);
  EXPECT_EQ(table(0).reserved + table(1).reserved, 20 * kGi);
}

TEST_F(MemoryDrift, IsNoExcuseForAnAssignmentThatNoLongerFits) {
  const Machine before = machine_of(16 * kGi, 16 * kGi);
  const Node node = Node::make(before, with_option("64Mi")).value();
  MemoryState fresh;
  ASSERT_TRUE(node.memory().start(fresh));
  const std::uint64_t all = fresh.machine_state.at(0).tables.at("memory").free;
  EXPECT_EQ(restart(before, machine_of(16 * kGi - kMi, 16 * kGi), {{{0}, "memory", all}}, "64Mi"),
            "[memorymanager] (pod: p, container: c) the memory assignment does not fit the machine "
            "state");
}

TEST_F(MemoryDrift, HugePagesAndReservationsStayExact) {
  EXPECT_EQ(restart(machine_of(16 * kGi, 16 * kGi, 64 * kMi),
                    machine_of(16 * kGi, 16 * kGi, 32 * kMi), {}, "1Gi"),
            kDifferent);
  const Node node = Node::make(machine_of(16 * kGi, 16 * kGi), with_option("1Gi")).value();
  MemoryState state;
  ASSERT_TRUE(node.memory().start(state));
  state.machine_state.at(1).tables.at("memory").system_reserved += 1;
  EXPECT_FALSE(node.memory().start(state));
}

}  // namespace
}  // namespace pinfold
