#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "../../support/run_program.hpp"
#include "../../support/temp_dir.hpp"
#include "pinfold/checkpoint/store.hpp"

/// The commands admit, remove, status and reconcile as an operator runs them.
namespace pinfold {
namespace {

using testing::HasSubstr;

struct Answer {
  int status = -1;
  std::string text;  ///< standard output and error
};

constexpr const char* kNode = R"({"name":"n","cpus":[
  {"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":1,"socket":0,"numa":0,"l3":0},
  {"id":2,"core":2,"socket":0,"numa":0,"l3":0},{"id":3,"core":3,"socket":0,"numa":0,"l3":0}],
  "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],"devices":[]})";

constexpr const char* kConfig =
    "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";

std::string pod_yaml(const std::string& name, int cpus) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  containers:\n" +
         "  - name: main\n    resources: {limits: {cpu: " + std::to_string(cpus) +
         ", memory: 64Mi}}\n";
}

class AgentCli : public testing::Test {
 protected:
  AgentCli() {
    put("node.json", kNode);
    put("config.yaml", kConfig);
    put("web.yaml", pod_yaml("web", 2));
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text;
  }
  /// Runs `pinfold COMMAND` in the test's directory.
  [[nodiscard]] Answer pinfold(const std::string& command) const {
    const auto [status, out, err] =
        test::run_shell("cd " + dir_.path() + " && " + PINFOLD_COMMAND + " " + command + " 2>&1");
    return {status, out};
  }
  [[nodiscard]] Answer agent(const std::string& command, const std::string& rest = "") const {
    const bool can_enforce = !command.starts_with("explain");
    return pinfold(command + " --state-dir state --machine node.json --config config.yaml " +
                   (can_enforce ? "--no-enforce " : "") + rest);
  }

  test::TempDir dir_;
};

TEST_F(AgentCli, AdmitsShowsAndRemovesAPod) {
  const Answer admitted = agent("admit", "web.yaml");
  EXPECT_EQ(admitted.status, 0) << admitted.text;
  EXPECT_THAT(admitted.text, HasSubstr("default/web: admitted\n"));
  EXPECT_THAT(admitted.text, HasSubstr("default/web  main       Guaranteed  container  1-2"));
  const Answer status = agent("status");
  EXPECT_EQ(status.status, 0) << status.text;
  EXPECT_THAT(status.text, HasSubstr("default/web"));
  const Answer removed = agent("remove", "--pod web");
  EXPECT_EQ(removed.status, 0) << removed.text;
  EXPECT_EQ(removed.text, "web: removed; shared pool: 0-3\n");
  EXPECT_EQ(agent("remove", "--pod web").status, 2);
}

TEST_F(AgentCli, ExitStatusOfARejectionIsOne) {
  put("big.yaml", pod_yaml("big", 9));
  const Answer answer = agent("admit", "big.yaml");
  EXPECT_EQ(answer.status, 1) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("default/big: rejected, UnexpectedAdmissionError: "));
}

TEST_F(AgentCli, ExplainsInTextAndInJson) {
  const Answer text = agent("admit", "--explain web.yaml");
  EXPECT_THAT(text.text, HasSubstr("  cpu"));
  EXPECT_THAT(text.text, HasSubstr("CPUs 1-2"));
  put("web2.yaml", pod_yaml("web2", 1));
  const Answer answer = agent("admit", "--explain --output json web2.yaml");
  ASSERT_EQ(answer.status, 0) << answer.text;
  const auto json = nlohmann::json::parse(answer.text);
  const auto& pod = json.at("pods").at(0);
  EXPECT_EQ(pod.at("admitted"), true);
  EXPECT_TRUE(pod.at("rejection").is_null());
  EXPECT_EQ(pod.at("enforced"), false);
  EXPECT_FALSE(pod.at("trace").empty());
  const auto& container = pod.at("containers").at(0);
  EXPECT_EQ(container.at("name"), "main");
  EXPECT_EQ(container.at("isolation"), "container");
  EXPECT_EQ(container.at("cpus"), "3");
  EXPECT_EQ(container.at("cgroup"), "poddefault_web2/main");
  EXPECT_EQ(container.at("cpuQuota"), -1);
}

TEST_F(AgentCli, ReportsInvalidInput) {
  put("broken.yaml", "metadata: {name: [}\n");
  put("escape.yaml",
      "kind: Pod\nmetadata: {name: a, uid: ../../x}\nspec: {containers: [{name: c}]}\n");
  put("container.yaml", "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: ../c}]}\n");
  put("quantity.yaml",
      "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, resources: {limits: {cpu: "
      "lots}}}]}\n");
  put("empty.yaml", "");
  put("badconfig.yaml", "kind: KubeletConfiguration\ncpuManagerPolicyOptions: 7\n");
  put("policy.yaml", "kind: KubeletConfiguration\ncpuManagerPolicy: fancy\n");
  put("badnode.json", "{\"cpus\":[]}");
  const struct {
    const char* name;
    std::string command;
    std::string says;
  } cases[] = {
      {"no such file", "admit --no-enforce none.yaml", "read 'none.yaml'"},
      {"broken YAML", "admit --no-enforce broken.yaml", "broken.yaml"},
      {"uid that leaves its directory", "admit --no-enforce escape.yaml",
       "escape.yaml: metadata.uid: '../../x'"},
      {"container name that leaves its directory", "admit --no-enforce container.yaml",
       "container.yaml: spec.containers[0].name: '../c'"},
      {"quantity", "admit --no-enforce quantity.yaml",
       "quantity.yaml: spec.containers[0].resources.limits.cpu: 'lots'"},
      {"no pod at all", "admit --no-enforce empty.yaml", "empty.yaml"},
      {"bad configuration", "admit --no-enforce --config badconfig.yaml web.yaml",
       "badconfig.yaml: cpuManagerPolicyOptions: 7: expected"},
      {"unknown policy",
       "admit --no-enforce --machine node.json --config policy.yaml --state-dir s web.yaml",
       "fancy"},
      {"bad machine", "admit --no-enforce --machine badnode.json web.yaml", "badnode.json: "},
      {"unknown profile", "admit --no-enforce --profile kubelet-9 web.yaml", "'kubelet-9'"},
      {"root that is no cgroup", "admit --machine node.json --cgroup-root . --state-dir s web.yaml",
       "is not in a control group file system"},
      {"contradiction", "admit --cgroup-root /x --no-enforce web.yaml", "--no-enforce"},
      {"no pod named", "remove --no-enforce", "--pod is required"},
      {"unknown command", "evict", "unknown command"},
  };
  for (const auto& c : cases) {
    const Answer answer = pinfold(c.command);
    EXPECT_EQ(answer.status, 2) << c.name << ": " << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(c.says)) << c.name;
  }
}

TEST_F(AgentCli, RefusesADamagedStateAndKeepsIt) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  put("state/cpu_manager_state", "{\"policyName\":\"static\"");
  for (const char* command : {"admit", "status"}) {
    const Answer answer = agent(command, std::string(command) == "admit" ? "web.yaml" : "");
    EXPECT_EQ(answer.status, 2) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("start: cpumanager: could not restore state"));
  }
  std::ifstream in(dir_ / "state/cpu_manager_state");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "{\"policyName\":\"static\"");
}

TEST_F(AgentCli, ReportsAStateDirectoryThatAQueryDoesNotFind) {
  for (const char* const query : {"status", "metrics", "admit --dry-run web.yaml",
                                  "remove --dry-run --pod web", "oci-resources --pod web"}) {
    const Answer answer = agent(query);
    EXPECT_EQ(answer.status, 2) << query << ": " << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("state directory 'state' does not exist")) << query;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "state")) << query;
  }
}

/// A query needs no lock: another process holds it here.
TEST_F(AgentCli, WritesNothingForAQuery) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  put("other.yaml", pod_yaml("other", 1));
  const auto store = checkpoint::Store::open(dir_ / "state");
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const auto contents = [&] {
    std::map<std::string, std::pair<std::filesystem::file_time_type, std::string>> out;
    for (const auto& file : std::filesystem::directory_iterator(dir_ / "state")) {
      std::ifstream in(file.path());
      out[file.path().filename()] = {file.last_write_time(),
                                     std::string(std::istreambuf_iterator<char>(in), {})};
    }
    return out;
  };
  const auto before = contents();
  for (const char* const query :
       {"status", "metrics", "admit --dry-run other.yaml", "remove --dry-run --pod web",
        "remove --dry-run --pod web --container main", "oci-resources --pod web"}) {
    const Answer answer = agent(query);
    EXPECT_EQ(answer.status, 0) << query << ": " << answer.text;
    EXPECT_EQ(contents(), before) << query;
  }
  EXPECT_THAT(agent("status").text, HasSubstr("default/web"));
}

/// A query does not create a missing group; it reports drift.
TEST_F(AgentCli, MakesNoGroupForAQuery) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  const std::filesystem::path mount = "/sys/fs/cgroup";
  const auto root = (std::filesystem::exists(mount / "cpuset") ? mount / "cpuset" : mount) /
                    "pinfold-that-no-test-makes";
  const Answer status =
      pinfold("status --state-dir state --machine node.json --config config.yaml --cgroup-root " +
              root.string());
  if (status.text.find("no hierarchy has the 'cpuset'") != std::string::npos ||
      status.text.find("is not in a control group file system") != std::string::npos) {
    GTEST_SKIP() << status.text;
  }
  EXPECT_EQ(status.status, 1) << status.text;
  EXPECT_THAT(status.text, HasSubstr("poddefault_web/main: does not exist"));
  EXPECT_THAT(status.text, HasSubstr("pinfold-that-no-test-makes' does not exist"));
  EXPECT_FALSE(std::filesystem::exists(root));
}

TEST_F(AgentCli, MakesNoStateDirectoryForAConfigurationThatCannotStart) {
  put("config.yaml", "kind: KubeletConfiguration\ncpuManagerPolicy: static\n");
  const Answer answer = agent("admit", "web.yaml");
  EXPECT_EQ(answer.status, 2) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("start: "));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "state"));
}

/// A user who can write to the directory decides which CPUs are free.
TEST_F(AgentCli, RefusesAStateDirectoryThatOthersCanWrite) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(dir_ / "state").permissions(), fs::perms::owner_all);
  fs::permissions(dir_ / "state", fs::perms::all);
  for (const char* const command :
       {"status", "metrics", "remove --pod web", "admit web.yaml", "admit --dry-run web.yaml"}) {
    const Answer refused = agent(command);
    EXPECT_EQ(refused.status, 2) << command << ": " << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("has mode 0777, so others can change the state: "));
    EXPECT_THAT(refused.text, HasSubstr("run 'chmod go-w state'"));
    EXPECT_EQ(agent("status", "--insecure-state-dir").status, 0);
  }
  EXPECT_EQ(agent("remove --pod web", "--insecure-state-dir").status, 0);
}

/// A user who can write the configuration has the same power.
TEST_F(AgentCli, RefusesAConfigurationThatOthersCanWrite) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  namespace fs = std::filesystem;
  const fs::path config = dir_ / "state/config.yaml";
  fs::copy(dir_ / "config.yaml", config);
  const auto run = [&](const std::string& command) {
    const bool can_enforce = !command.starts_with("explain");
    return pinfold(command + " --state-dir state --machine node.json" +
                   (can_enforce ? " --no-enforce" : ""));
  };
  fs::permissions(config, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(run("status").status, 0) << run("status").text;
  fs::permissions(config, fs::perms::all);
  for (const char* const command :
       {"status", "metrics", "who 2", "remove --pod web", "admit web.yaml",
        "admit --dry-run web.yaml", "explain web.yaml", "reconfigure --dry-run", "reconcile"}) {
    const Answer refused = run(command);
    EXPECT_EQ(refused.status, 2) << command << ": " << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("'state/config.yaml' belongs to user "));
    EXPECT_THAT(refused.text, HasSubstr("chmod go-w state/config.yaml")) << command;
  }
  EXPECT_EQ(run("status --insecure-state-dir").status, 0);
  for (const char* const target : {"../config.yaml", "missing.yaml"}) {
    fs::remove(config);
    fs::create_symlink(target, config);
    EXPECT_THAT(run("status").text, HasSubstr("'state/config.yaml' is a symbolic link")) << target;
  }
}

constexpr const char* kStaticMemory =
    "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
    "memoryManagerPolicy: Static\nkubeReserved: {memory: 924Mi}\n"
    "evictionHard: {memory.available: 100Mi}\n"
    "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n";

/// An operator has reserved huge pages on a running node.
TEST_F(AgentCli, AnswersAndWarnsAfterTheMachineHasChanged) {
  put("config.yaml", kStaticMemory);
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  auto node = nlohmann::json::parse(kNode);
  node["numaNodes"][0]["hugepages"] = {{"hugepages-2Mi", 16777216}};
  put("node.json", node.dump());
  const std::string change = "NUMA node 0: hugepages-2Mi of 0 becomes 16Mi";
  for (const char* const command : {"status", "who 2", "metrics", "explain web.yaml",
                                    "admit --dry-run web.yaml", "oci-resources --pod web"}) {
    const Answer answer = agent(command);
    EXPECT_EQ(answer.status, 0) << command << ": " << answer.text;
    EXPECT_THAT(
        answer.text,
        HasSubstr("pinfold: warning: the machine differs from the one in the state: " + change))
        << command;
  }
  const Answer status = agent("status");
  EXPECT_THAT(status.text, HasSubstr("The machine differs from the one in the state ('pinfold "
                                     "reconfigure' adapts the state):\n  " +
                                     change + "\n"));
  put("other.yaml", pod_yaml("other", 1));
  EXPECT_EQ(agent("admit", "other.yaml").status, 0);
  EXPECT_EQ(agent("remove", "--pod other").status, 0);
  const Answer plan = agent("reconfigure", "--dry-run");
  EXPECT_THAT(plan.text, HasSubstr("machine: " + change));
  EXPECT_EQ(agent("reconfigure").status, 0);
  const Answer after = agent("status");
  EXPECT_EQ(after.status, 0) << after.text;
  EXPECT_THAT(after.text, testing::Not(HasSubstr("becomes")));
}

/// The kernel reserves a different amount of memory at this boot.
TEST_F(AgentCli, SaysWhichDriftOfMemoryItTolerates) {
  put("config.yaml",
      std::string(kStaticMemory) + "memoryManagerPolicyOptions: {memory-drift-tolerance: 64Mi}\n");
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  auto node = nlohmann::json::parse(kNode);
  node["numaNodes"][0]["memory"] = 4294967296 - std::int64_t{12} * 1024;
  put("node.json", node.dump());
  put("other.yaml", pod_yaml("other", 1));
  const Answer other = agent("admit", "other.yaml");
  EXPECT_EQ(other.status, 0) << other.text;
  EXPECT_THAT(other.text,
              HasSubstr("pinfold: warning: memory-drift-tolerance: NUMA node 0: memory of 4Gi "
                        "becomes 4194292Ki; the pods keep their memory"));
  const Answer after = agent("status");
  EXPECT_THAT(after.text, testing::Not(HasSubstr("becomes"))) << "the files have the new size";
  EXPECT_THAT(after.text, HasSubstr("default/web"));
}

TEST_F(AgentCli, RefusesAnotherSpecOfAPodThatHasExclusiveCpus) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  std::string other = pod_yaml("web", 2);
  other.replace(other.find("main"), 4, "side");
  put("again.yaml", other);
  const Answer refused = agent("admit", "again.yaml");
  EXPECT_EQ(refused.status, 2) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("its container 'main' is not in the new spec, and has CPUs "
                                      "1-2 exclusively: remove that pod or container first"));
  for (const char* const question : {"admit --dry-run", "explain"}) {
    const Answer answer = agent(question, "again.yaml");
    EXPECT_EQ(answer.status, 2) << question << ": " << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("remove that pod or container first")) << question;
  }
  EXPECT_EQ(agent("admit", "web.yaml").status, 0) << "the same again";
  EXPECT_EQ(agent("remove", "--pod web").status, 0);
  EXPECT_EQ(agent("admit", "again.yaml").status, 0);
}

TEST_F(AgentCli, DoesNotWaitForAFifo) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  for (const std::string name : {".pinfold_pods", ".pinfold_lock", "config.yaml"}) {
    std::filesystem::remove(dir_ / ("state/" + name));
    ASSERT_EQ(::mkfifo((dir_ / ("state/" + name)).c_str(), 0600), 0);
    for (const char* const command : {"status", "remove --pod web"}) {
      const Answer refused =
          pinfold(std::string(command) + " --state-dir state --machine node.json --no-enforce");
      EXPECT_EQ(refused.status, 2) << refused.text;
      EXPECT_THAT(refused.text, HasSubstr("'state/" + name + "' is "));
    }
    std::filesystem::remove(dir_ / ("state/" + name));
  }
}

TEST_F(AgentCli, WarnsAboutAnUnreadableSideFile) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  put("state/.pinfold_metrics", "#pinfold_metrics crc64 0\n{}");
  const Answer status = agent("status");
  EXPECT_EQ(status.status, 0) << status.text;
  EXPECT_THAT(status.text, HasSubstr("pinfold: warning: side file '.pinfold_metrics': "));
}

TEST_F(AgentCli, HoldsTheCpusOfUnknownPodsUntilTheyAreReleased) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  std::filesystem::remove(dir_ / "state/.pinfold_pods");
  put("other.yaml", pod_yaml("other", 1));
  const Answer held = agent("admit", "other.yaml");
  EXPECT_EQ(held.status, 0) << held.text;
  EXPECT_THAT(held.text, HasSubstr("default/other  main       Guaranteed  container  3"));
  EXPECT_THAT(held.text, HasSubstr("held pods, known only from the kubelet's files: default_web"));
  const Answer status = agent("status");
  EXPECT_EQ(status.status, 0) << status.text;
  EXPECT_THAT(status.text, HasSubstr("default_web/main  CPUs 1-2, memory nodes any"));
  EXPECT_EQ(agent("oci-resources", "--pod default_web").status, 2) << "it is not active";
  EXPECT_EQ(agent("remove", "--dry-run --pod default_web").status, 0);
  put("third.yaml", pod_yaml("third", 2));
  const Answer released = agent("admit", "--release-unknown third.yaml");
  EXPECT_EQ(released.status, 0) << released.text;
  EXPECT_THAT(released.text, HasSubstr("default/third  main       Guaranteed  container  1-2"));
}

TEST_F(AgentCli, PrintsItsMetricsUnderTheKubeletsNames) {
  put("big.yaml", pod_yaml("big", 9));
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  ASSERT_EQ(agent("admit", "big.yaml").status, 1);
  const Answer answer = agent("metrics");
  EXPECT_EQ(answer.status, 0) << answer.text;
  for (const char* line : {
           "# TYPE kubelet_cpu_manager_pinning_requests_total counter\n"
           "kubelet_cpu_manager_pinning_requests_total 2\n",
           "kubelet_cpu_manager_pinning_errors_total 1\n",
           "kubelet_memory_manager_pinning_requests_total 0\n",
           "kubelet_topology_manager_admission_requests_total 2\n",
           "kubelet_topology_manager_admission_duration_ms_count 2\n",
           "# HELP kubelet_cpu_manager_shared_pool_size_millicores The size of the shared CPU pool "
           "for non-guaranteed QoS pods, in millicores.\n"
           "# TYPE kubelet_cpu_manager_shared_pool_size_millicores gauge\n"
           "kubelet_cpu_manager_shared_pool_size_millicores 1000\n",
           "kubelet_cpu_manager_exclusive_cpu_allocation_count 2\n",
           "kubelet_cpu_manager_allocation_per_numa{numa_node=\"0\"} 2\n",
           "kubelet_container_aligned_compute_resources_count{boundary=\"uncore_cache\","
           "scope=\"container\"} 1\n",
           "kubelet_container_aligned_compute_resources_failure_count{boundary=\"physical_cpu\","
           "scope=\"container\"} 0\n",
       }) {
    EXPECT_THAT(answer.text, HasSubstr(line));
  }
  EXPECT_THAT(answer.text, testing::Not(HasSubstr("resource_manager_"))) << "its gate is off";
  EXPECT_THAT(answer.text, testing::Not(HasSubstr("numa_node\",scope"))) << "policy none";
  put("config.yaml",
      std::string(kConfig) +
          "featureGates: {PodLevelResources: true, PodLevelResourceManagers: true}\n");
  EXPECT_THAT(agent("metrics").text,
              HasSubstr("resource_manager_allocations_total{resource_name=\"cpu\","
                        "source=\"node\"} 1\n"));
}

TEST_F(AgentCli, RefusesPodsThatTheApiServerWouldRefuse) {
  const auto bad_pod = [](const std::string& name) {
    return "kind: Pod\nmetadata: {name: " + name +
           "}\nspec: {containers: [{name: c, resources: {requests: {cpu: 500m, memory: 1Gi}, "
           "limits: {cpu: 250m, memory: 512Mi}}}]}\n";
  };
  put("bad.yaml", bad_pod("a") + "---\n" + bad_pod("b"));
  const Answer refused = agent("admit", "web.yaml bad.yaml");
  EXPECT_EQ(refused.status, 2) << refused.text;
  const std::string violations =
      "[spec.containers[0].resources.requests: Invalid value: \"500m\": must be less than or equal "
      "to cpu limit of 250m, spec.containers[0].resources.requests: Invalid value: \"1Gi\": must "
      "be "
      "less than or equal to memory limit of 512Mi]";
  EXPECT_THAT(refused.text, HasSubstr("Pod \"a\" is invalid: " + violations +
                                      "; Pod \"b\" is invalid: " + violations));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "state"));
  const Answer accepted = agent("admit", "--no-validation web.yaml bad.yaml");
  EXPECT_EQ(accepted.status, 0) << accepted.text;
  EXPECT_THAT(agent("status").text, HasSubstr("pods: 3"));
}

TEST_F(AgentCli, AdmitsNothingIfOnePodOfSeveralIsMalformed) {
  put("bad.yaml", pod_yaml("ok", 1) + "---\nkind: Pod\nmetadata: {name: B_}\n");
  const Answer answer = agent("admit", "web.yaml bad.yaml");
  EXPECT_EQ(answer.status, 2) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("bad.yaml, document 2: "));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "state"));
}

TEST_F(AgentCli, ResizesAContainer) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  const Answer dry = agent("resize", "web --cpu 3 --dry-run --explain");
  EXPECT_EQ(dry.status, 0) << dry.text;
  EXPECT_THAT(dry.text,
              HasSubstr("default/web/main: resized from 2 to 3 CPUs: 1-3 instead of 1-2"));
  EXPECT_THAT(dry.text, HasSubstr("keeps its CPUs 1-2 and takes 3"));
  const Answer done = agent("resize", "default/web --container main --cpu 3");
  EXPECT_EQ(done.text, "default/web/main: resized from 2 to 3 CPUs: 1-3 instead of 1-2\n");
  EXPECT_EQ(agent("resize", "web --cpu 3").text, "default/web/main: already has 3 CPUs: 1-3\n");
  const Answer refused = agent("resize", "web --cpu 1");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.text, HasSubstr("not resized, Infeasible: prohibitedCPUAllocation Error"));
  EXPECT_THAT(refused.text, HasSubstr("\n  container 'main' keeps the CPUs of its admission, 1-2"));
  EXPECT_THAT(agent("explain", "--pod web").text,
              HasSubstr("Container main can be resized to 2-3 CPUs now; it keeps CPUs 1-2 of its "
                        "admission; 4 would be Infeasible: Node didn't have enough capacity"));
  const auto json = nlohmann::json::parse(agent("resize", "web --cpu 2 -o json").text);
  EXPECT_EQ(json["container"], "main");
  EXPECT_EQ(json["pod"]["name"], "web");
  EXPECT_EQ(json["cpusBefore"], "1-3");
  EXPECT_EQ(json["cpusAfter"], "1-2");
  EXPECT_TRUE(json["stored"].get<bool>());
  EXPECT_THAT(agent("resize", "web --cpu 5").text,
              HasSubstr("\n  container 'main' can have 3 CPUs now"));
}

TEST_F(AgentCli, RefusesAResizeThatMeansNothing) {
  ASSERT_EQ(agent("admit", "web.yaml").status, 0);
  put("two.yaml",
      "apiVersion: v1\nkind: Pod\nmetadata: {name: two}\nspec: {containers: [{name: a}]}");
  ASSERT_EQ(agent("admit", "two.yaml").status, 0);
  put("both.yaml",
      "apiVersion: v1\nkind: Pod\nmetadata: {name: both}\n"
      "spec: {containers: [{name: a}, {name: b}]}");
  ASSERT_EQ(agent("admit", "both.yaml").status, 0);
  const std::map<std::string, std::string> texts = {
      {"web --cpu many", "--cpu 'many': "},
      {"web --cpu 0", "expected 1 or more"},
      {"web --container other --cpu 2", "no active pod 'default_web' with a container 'other'"},
      {"nobody --cpu 2", "nobody"},
      {"two --cpu 2", "container 'a' has no exclusive CPUs (its pod is BestEffort"},
      {"both --cpu 2", "pod 'both' has no container with exclusive CPUs"},
  };
  for (const auto& [arguments, text] : texts) {
    const Answer answer = agent("resize", arguments);
    EXPECT_EQ(answer.status, 2) << arguments << ": " << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(text)) << arguments;
  }
  const Answer shared = agent("resize", "two --container a --cpu 2");
  EXPECT_EQ(shared.status, 2) << "no CPU would change: " << shared.text;
  EXPECT_THAT(shared.text, HasSubstr("its pod is BestEffort, not Guaranteed"));
}

}  // namespace
}  // namespace pinfold
