#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "callback_runtime.hpp"

/// Reconfiguring a node, and making room for a pod, through the C interface.
namespace pinfold {
namespace {

using enforce::CgroupVersion;
using test::pod;
using test::Runtime;
using testing::HasSubstr;

class ReconfigureNode : public testing::Test {
 protected:
  ~ReconfigureNode() override { pinfold_node_close(node_); }
  void open(const char* config) {
    runtime_.options.config = config;
    node_ = runtime_.open();
    admit("a", 1);
  }
  void admit(const std::string& name, int cpus, pinfold_code expected = PINFOLD_OK) {
    pinfold_pod* answer = nullptr;
    char* error = nullptr;
    EXPECT_EQ(pinfold_pod_admit(node_, pod(name, cpus).c_str(), &answer, &error), expected)
        << error;
    pinfold_pod_free(answer);
    pinfold_free(error);
  }
  /// `message_`, `plan_`: null without one.
  pinfold_code reconfigure(std::uint32_t flags, const char* config, const char* machine = nullptr) {
    pinfold_reconfiguration wanted = PINFOLD_RECONFIGURATION_INIT;
    wanted.flags = flags;
    wanted.config = config;
    wanted.machine = machine;
    char* plan = nullptr;
    char* error = nullptr;
    const pinfold_code code = pinfold_node_reconfigure(node_, &wanted, &plan, &error);
    keep(plan, error);
    return code;
  }
  pinfold_code defragment(const std::string& manifest, std::uint32_t flags) {
    char* plan = nullptr;
    char* error = nullptr;
    const pinfold_code code =
        pinfold_node_defragment(node_, manifest.c_str(), flags, &plan, &error);
    keep(plan, error);
    return code;
  }
  void keep(char* plan, char* error) {
    plan_ = plan == nullptr ? nlohmann::json() : nlohmann::json::parse(plan);
    message_ = error == nullptr ? "" : error;
    pinfold_free(plan);
    pinfold_free(error);
  }

  static constexpr const char* kOne = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  static constexpr const char* kTwo = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n";
  static constexpr const char* kThree = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-2'\n";
  Runtime runtime_{CgroupVersion::kV2};
  pinfold_node* node_ = nullptr;
  nlohmann::json plan_;
  std::string message_;
};

TEST_F(ReconfigureNode, PlansAppliesAndGoesBack) {
  open(kOne);
  EXPECT_EQ(runtime_.cpus("poda/c"), "1");
  EXPECT_EQ(reconfigure(PINFOLD_RECONFIGURE_DRY_RUN, kTwo), PINFOLD_OK) << message_;
  EXPECT_EQ(plan_.at("applied"), false);
  EXPECT_EQ(runtime_.cpus("poda/c"), "1");
  EXPECT_EQ(reconfigure(0, kTwo), PINFOLD_OK) << message_;
  EXPECT_EQ(plan_.at("applied"), true);
  EXPECT_EQ(plan_.at("plan").at("containers").at(0).at("cpusAfter"), runtime_.cpus("poda/c"));
  EXPECT_NE(runtime_.cpus("poda/c"), "1");
  admit("b", 1);  // the handle has the new configuration
  EXPECT_EQ(reconfigure(PINFOLD_RECONFIGURE_UNDO, nullptr), PINFOLD_UNSUPPORTED);
  EXPECT_THAT(message_, HasSubstr("'default/b' was admitted after the reconfiguration"));
  char* error = nullptr;
  ASSERT_EQ(pinfold_pod_remove(node_, "b", 0, &error), PINFOLD_OK) << error;
  EXPECT_EQ(reconfigure(PINFOLD_RECONFIGURE_UNDO, nullptr), PINFOLD_OK) << message_;
  EXPECT_EQ(runtime_.cpus("poda/c"), "1");
  admit("d", 3, PINFOLD_REJECTED);
}

TEST_F(ReconfigureNode, PodsThatCannotStayNeedAFlag) {
  open(kOne);
  admit("b", 2);
  EXPECT_EQ(reconfigure(0, kThree), PINFOLD_UNSUPPORTED);
  EXPECT_THAT(message_, HasSubstr("pods that no longer fit: b; nothing has changed"));
  EXPECT_EQ(plan_.at("plan").at("evicted").at(0).at("uid"), "b");
  EXPECT_EQ(runtime_.cpus("podb/c"), "2-3");
  EXPECT_EQ(reconfigure(PINFOLD_RECONFIGURE_EVICT_LOST, kThree), PINFOLD_OK) << message_;
  EXPECT_EQ(runtime_.cpus("podb/c"), "gone");
}

TEST_F(ReconfigureNode, ReplacesTheFileOfTheStateDirectory) {
  const std::string file = runtime_.state / "config.yaml";
  std::ofstream(file) << kOne;
  open(nullptr);
  std::ofstream(file) << kTwo;
  EXPECT_EQ(reconfigure(0, nullptr), PINFOLD_OK) << message_;
  EXPECT_NE(runtime_.cpus("poda/c"), "1") << "the file was read again";
  EXPECT_EQ(reconfigure(0, kOne), PINFOLD_OK) << message_;
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), kOne);
}

TEST_F(ReconfigureNode, NamesWhatIsWrong) {
  open(kOne);
  EXPECT_EQ(reconfigure(64, kTwo), PINFOLD_UNSUPPORTED);
  EXPECT_EQ(message_, "reconfigure: flags 0x40: unknown");
  EXPECT_EQ(reconfigure(0, "cpuManagerPolicy: ["), PINFOLD_INVALID_ARGUMENT);
  EXPECT_THAT(message_, HasSubstr("reconfigure: configuration: "));
  EXPECT_EQ(reconfigure(0, nullptr, "{}"), PINFOLD_INVALID_ARGUMENT);
  EXPECT_THAT(message_, HasSubstr("reconfigure: machine: "));
  EXPECT_EQ(reconfigure(PINFOLD_RECONFIGURE_UNDO, nullptr), PINFOLD_NOT_FOUND);
  EXPECT_THAT(message_, HasSubstr("was not reconfigured"));
  EXPECT_EQ(reconfigure(PINFOLD_RECONFIGURE_UNDO, kTwo), PINFOLD_INVALID_ARGUMENT);
  EXPECT_EQ(defragment("{}", 0), PINFOLD_INVALID_ARGUMENT);
  EXPECT_EQ(defragment(pod("b", 1), PINFOLD_RECONFIGURE_UNDO), PINFOLD_UNSUPPORTED);
  EXPECT_EQ(runtime_.cpus("poda/c"), "1");
}

/// CPU 0 and one of NUMA node 1 are taken; `b` needs two on one NUMA node.
TEST_F(ReconfigureNode, MakesRoomForAPod) {
  open(
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
      "topologyManagerPolicy: single-numa-node\n");
  EXPECT_EQ(defragment(pod("b", 2), 0), PINFOLD_OK) << message_;
  EXPECT_EQ(plan_.at("applied"), false) << "NUMA node 1 is free";
  admit("m", 1);
  ASSERT_EQ(pinfold_pod_remove(node_, "a", 0, nullptr), PINFOLD_OK);
  admit("b", 2, PINFOLD_REJECTED);
  EXPECT_EQ(defragment(pod("b", 2), PINFOLD_RECONFIGURE_DRY_RUN), PINFOLD_OK) << message_;
  EXPECT_EQ(plan_.at("applied"), false);
  EXPECT_EQ(plan_.at("room").at("possible"), true);
  EXPECT_EQ(defragment(pod("b", 2), 0), PINFOLD_OK) << message_;
  EXPECT_EQ(plan_.at("applied"), true);
  admit("b", 2);
  EXPECT_EQ(defragment(pod("e", 3), 0), PINFOLD_REJECTED);
  EXPECT_EQ(plan_.at("room").at("possible"), false);
}

TEST_F(ReconfigureNode, AReadOnlyNodePlansAndAppliesNothing) {
  open(kOne);
  pinfold_node_close(node_);
  runtime_.options.flags = PINFOLD_NODE_READ_ONLY;
  node_ = runtime_.open();
  EXPECT_EQ(reconfigure(PINFOLD_RECONFIGURE_DRY_RUN, kTwo), PINFOLD_OK) << message_;
  EXPECT_EQ(reconfigure(0, kTwo), PINFOLD_UNSUPPORTED);
  EXPECT_THAT(message_, HasSubstr("read-only"));
}

// The allocator would take CPU 2 next.
TEST_F(ReconfigureNode, ExplainAnswersAsAdmitWithACpuOffline) {
  open(kOne);
  pinfold_node_close(node_);
  auto without = nlohmann::json::parse(runtime_.options.machine);
  without.at("cpus").erase(2);
  const std::string machine = without.dump();
  runtime_.options.machine = machine.c_str();
  node_ = runtime_.open();
  for (int cpus = 1; cpus <= 3; ++cpus) {
    const std::string manifest = pod(fmt::format("b{}", cpus), cpus);
    pinfold_pod* explained = nullptr;
    pinfold_pod* admitted = nullptr;
    char* error = nullptr;
    const pinfold_code explain = pinfold_pod_explain(node_, manifest.c_str(), &explained, nullptr);
    const pinfold_code admit = pinfold_pod_admit(node_, manifest.c_str(), &admitted, &error);
    EXPECT_EQ(explain, admit) << cpus << ": " << (error == nullptr ? "" : error);
    EXPECT_NE(admit, PINFOLD_OK) << cpus;
    pinfold_pod_free(explained);
    pinfold_pod_free(admitted);
    pinfold_free(error);
  }
}

}  // namespace
}  // namespace pinfold
