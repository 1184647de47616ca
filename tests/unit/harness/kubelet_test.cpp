#include "pinfold/harness/kubelet.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "judge/kubelet_pods.hpp"
#include "judge/state_file.hpp"
#include "pinfold/base/read_file.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

Scenario scenario_with(const std::filesystem::path& kubelet, std::uint64_t memory) {
  Scenario scenario;
  scenario.name = "upgrade";
  scenario.kubelets = {kubelet};
  scenario.machine.nodes = {{CpuSet::range(0, 0), memory, {}}};
  return scenario;
}

/// The header of a program for an architecture, by its number in ELF.
std::string elf_of(char machine) {
  return std::string(
             "\x7f"
             "ELF") +
         std::string(14, '\0') + machine + std::string(45, '\0');
}

TEST(CheckKubelets, AcceptsAProgram) {
  const auto checked = check_kubelets(scenario_with("/proc/self/exe", std::uint64_t{64} << 30U));
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST(CheckKubelets, SaysWhatIsWrongWithAProgram) {
  const test::TempDir folder;
  folder.write("directory/file", "");
  folder.write("script", "#!/bin/sh\n");
  folder.write("arm64", elf_of('\xb7'));
  const struct {
    const char* name;
    std::string message;
  } cases[] = {
      {"absent", "kubelet '{}': no such file, expected a kubelet for amd64; check its path"},
      {"directory", "kubelet '{}': a directory, expected the program of a kubelet for amd64"},
      {"script", "kubelet '{}': not an ELF program, expected a kubelet for amd64"},
      {"arm64", "kubelet: program '{}': of arm64, expected one of amd64"},
  };
  for (const auto& c : cases) {
    const std::filesystem::path file = folder / c.name;
    const auto checked = check_kubelets(scenario_with(file, std::uint64_t{4} << 30U));
    std::string message = c.message;
    message.replace(message.find("{}"), 2, file.string());
    ASSERT_FALSE(checked) << c.name;
    EXPECT_EQ(checked.error().message, message);
  }
}

TEST(CheckKubelets, FindsAProgramThatEndsEarly) {
  const test::TempDir folder;
  const std::string whole = read_file("/proc/self/exe", std::size_t{1} << 30U).value();
  for (const std::size_t bytes : {std::size_t{40}, std::size_t{100}, whole.size() / 2}) {
    folder.write("kubelet", whole.substr(0, bytes));
    const auto checked =
        check_kubelets(scenario_with(folder / "kubelet", std::uint64_t{64} << 30U));
    ASSERT_FALSE(checked) << bytes;
    EXPECT_TRUE(checked.error().message.starts_with("kubelet: program '" + (folder / "kubelet") +
                                                    "': " + std::to_string(bytes) +
                                                    " bytes, expected "))
        << checked.error().message;
    EXPECT_TRUE(checked.error().message.ends_with(" or more by its ELF header; copy it again"))
        << checked.error().message;
  }
}

TEST(CheckKubeletVersion, KnowsKubelets) {
  for (const char* const printed :
       {"Kubernetes v1.35.6\n", "Kubernetes v1.36.2\n", "Kubernetes v1.37.0-fake\n",
        "Kubernetes v1.38.0-alpha.2+0123abc-dirty"}) {
    const auto note = check_kubelet_version("/k", printed);
    ASSERT_TRUE(note) << note.error().message;
    EXPECT_EQ(*note, "") << printed;
  }
}

TEST(CheckKubeletVersion, NotesAVersionThatIsNotKnown) {
  const struct {
    const char* printed;
    const char* version;
  } cases[] = {{"Kubernetes v1.34.9\n", "1.34"}, {"Kubernetes v1.99.0-fake\n", "1.99"}};
  for (const auto& c : cases) {
    EXPECT_EQ(check_kubelet_version("/k", c.printed).value(),
              std::string("kubelet '/k': version ") + c.version +
                  "; Pinfold knows the state files and decisions of 1.35 to 1.38");
  }
}

TEST(CheckKubeletVersion, NamesAProgramThatIsNoKubelet) {
  const struct {
    const char* printed;
    const char* observed;
  } cases[] = {{"", "it prints nothing"},
               {"\nKubernetes v1.36.2\n", "it prints nothing"},
               {"ls (GNU coreutils) 9.1\nCopyright\n", "it prints 'ls (GNU coreutils) 9.1'"},
               {"Kubernetes v2.0.0\n", "it prints 'Kubernetes v2.0.0'"},
               {"Kubernetes v1.x\n", "it prints 'Kubernetes v1.x'"},
               {"status 139\n", "it prints 'status 139'"}};
  for (const auto& c : cases) {
    const auto note = check_kubelet_version("/bin/k", c.printed);
    ASSERT_FALSE(note) << c.printed;
    EXPECT_EQ(note.error().message, std::string("kubelet '/bin/k': not a kubelet: for --version ") +
                                        c.observed + ", expected 'Kubernetes v1.N'");
  }
}

TEST(CheckKubelets, ComparesThemWithTheMemory) {
  const test::TempDir folder;
  folder.write("kubelet", elf_of('\x3e') + std::string(std::size_t{3} << 20U, '\0'));
  const auto checked = check_kubelets(scenario_with(folder / "kubelet", kRuntimeMemory));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "scenario 'upgrade': a machine with 1024 MiB of memory, expected 1031 MiB or more for "
            "kubelets of 3 MiB in total, such as '" +
                (folder / "kubelet") + "'");
}

TEST(KubeletInGuest, HasAPathForEachProgram) {
  const std::vector<std::filesystem::path> kubelets = {"/a/kubelet", "/b/kubelet"};
  EXPECT_EQ(kubelet_in_guest(kubelets, "/b/kubelet"), "/usr/lib/pinfold/kubelets/2/kubelet");
}

TEST(KubeletConfig, IsTheScenariosWithWhatAGuestNeeds) {
  const Json config =
      kubelet_config({{"cpuManagerPolicy", "static"}, {"fileCheckFrequency", "1s"}});
  EXPECT_EQ(config.at("cpuManagerPolicy"), "static");
  EXPECT_EQ(config.at("fileCheckFrequency"), "1s");
  EXPECT_EQ(config.at("staticPodPath"), "/etc/kubernetes/manifests");
  EXPECT_EQ(config.at("authentication").at("anonymous").at("enabled"), true);
  EXPECT_EQ(config.at("enforceNodeAllocatable"), Json::array());
}

TEST(StaticPod, UsesTheGuestsImages) {
  const auto pod = static_pod(R"(
metadata: {name: p}
spec:
  initContainers:
    - {name: once, image: setup, command: [setup]}
    - {name: car, image: proxy, restartPolicy: Always}
  containers:
    - {name: other, image: postgres, args: [-v]}
    - {name: own, image: "localhost/busybox:1", command: [sleep, "9"]}
)");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->at("kind"), "Pod");
  const Json& spec = pod->at("spec");
  EXPECT_EQ(spec.at("hostNetwork"), true);
  EXPECT_EQ(spec.at("terminationGracePeriodSeconds"), 1);
  EXPECT_EQ(spec.at("initContainers")[0].at("command"), Json::array({"true"})) << "it must end";
  EXPECT_FALSE(spec.at("initContainers")[1].contains("command"));
  EXPECT_EQ(spec.at("containers")[0].at("image"), "localhost/busybox:1");
  EXPECT_FALSE(spec.at("containers")[0].contains("args"));
  EXPECT_EQ(spec.at("containers")[0].at("imagePullPolicy"), "Never");
  EXPECT_EQ(spec.at("containers")[1].at("command"), Json::array({"sleep", "9"}));
}

TEST(StaticPod, RejectsOtherDocuments) {
  for (const char* const text : {"3", "{spec: 3}", "{}"}) {
    EXPECT_FALSE(static_pod(text)) << text;
  }
}

/// A kubelet's answer with one pod.
Json pods_with(const Json& status) {
  return {{"items",
           {{{"metadata", {{"name", "web-node"}, {"uid", "u1"}}},
             {"spec", {{"containers", {{{"name", "a"}}, {{"name", "b"}}}}}},
             {"status", status}}}}};
}

TEST(StaticPodOfKubelet, RunsOnceAllItsContainersDo) {
  const Json running = {{"name", "a"},
                        {"containerID", "containerd://i1"},
                        {"state", {{"running", {{"startedAt", "now"}}}}}};
  const Json waits = {{"name", "b"}, {"state", {{"waiting", {{"reason", "ContainerCreating"}}}}}};
  Json status = {{"phase", "Running"}, {"qosClass", "Burstable"}};
  status["containerStatuses"] = Json::array({running});
  EXPECT_FALSE(find_static_pod(pods_with(status), "web")->is_running) << "one is not listed yet";
  status["containerStatuses"] = Json::array({running, waits});
  const auto pod = find_static_pod(pods_with(status), "web");
  ASSERT_TRUE(pod);
  EXPECT_FALSE(pod->is_running);
  EXPECT_EQ(describe(*pod), "Running (b: ContainerCreating)");
  EXPECT_EQ(pod->cgroup, "/kubepods/burstable/podu1");
  EXPECT_EQ(pod->containers, (std::map<std::string, std::string>{{"a", "i1"}}));
  status["containerStatuses"] = Json::array({running, running});
  EXPECT_TRUE(find_static_pod(pods_with(status), "web")->is_running);
}

TEST(StaticPodOfKubelet, HasTheIdsOfSidecarsButNotOfEndedInitContainers) {
  const Json ended = {{"name", "once"},
                      {"containerID", "containerd://i0"},
                      {"state", {{"terminated", {{"exitCode", 0}}}}}};
  const Json sidecar = {{"name", "car"},
                        {"containerID", "containerd://i1"},
                        {"state", {{"running", Json::object()}}}};
  const Json status = {{"phase", "Running"},
                       {"initContainerStatuses", Json::array({ended, sidecar})}};
  const auto pod = find_static_pod(pods_with(status), "web");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->containers, (std::map<std::string, std::string>{{"car", "i1"}}));
}

TEST(StaticPodOfKubelet, MayBeRejected) {
  const Json status = {{"phase", "Failed"}, {"reason", "R"}, {"message", "Pod was rejected: m"}};
  const auto pod = find_static_pod(pods_with(status), "web");
  ASSERT_TRUE(pod);
  EXPECT_EQ(describe(*pod), "Failed: R: Pod was rejected: m");
}

TEST(StaticPodOfKubelet, IsNotInOtherAnswers) {
  EXPECT_FALSE(find_static_pod(pods_with({}), "we"));
  for (const Json& other :
       {Json(), Json(3), Json::array(), Json{{"items", 3}}, Json{{"items", {3, Json::object()}}}}) {
    EXPECT_FALSE(find_static_pod(other, "web")) << other.dump();
  }
}

TEST(StateValue, IsThatOfAContainer) {
  const std::map<std::string, std::string> uids = {{"web", "u1"}};
  const std::string cpu =
      R"({"policyName":"static","defaultCpuSet":"0-1","entries":{"u1":{"a":"2-3"}},"checksum":1})";
  EXPECT_EQ(state_value(cpu, "policyName", uids), "static");
  EXPECT_EQ(state_value(cpu, "defaultCpuSet", uids), "0-1");
  EXPECT_EQ(state_value(cpu, "web/a", uids), "2-3");
  EXPECT_EQ(state_value(cpu, "web/b", uids), "(none)");
  EXPECT_EQ(state_value(cpu, "other/a", uids), "(no waitPod has seen such a pod)");
  const std::string memory =
      R"({"entries":{"u1":{"a":[{"numaAffinity":[1,2],"type":"memory","size":8},)"
      R"({"numaAffinity":[0],"type":"hugepages-2Mi","size":8}]}}})";
  EXPECT_EQ(state_value(memory, "web/a", uids), "0-2");
  EXPECT_EQ(state_value("(ENOENT)", "policyName", uids), "(no JSON object)");
  EXPECT_EQ(state_value(R"({"entries":3})", "web/a", uids), "(none)");
}

TEST(AssignedByFiles, AreTheContainersOwnCpusOrTheSharedPool) {
  const std::map<std::string, std::string> uids = {{"web", "u1"}};
  const std::string cpu = R"({"defaultCpuSet":"0-1","entries":{"u1":{"a":"2-3"}}})";
  const std::string memory = R"({"entries":{"u1":{"a":[{"numaAffinity":[1]}]}}})";
  const auto own = assigned_by_files(cpu, memory, "web/a", uids);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->name, "web/a");
  EXPECT_EQ(own->isolation, "container");
  EXPECT_EQ(own->cpus, "2-3");
  EXPECT_EQ(own->mems, "1");
  const auto shared = assigned_by_files(cpu, memory, "web/b", uids);
  ASSERT_TRUE(shared) << shared.error().message;
  EXPECT_EQ(shared->isolation, "host");
  EXPECT_EQ(shared->cpus, "0-1");
  EXPECT_EQ(shared->mems, "");
}

TEST(AssignedByFiles, NeedBothFiles) {
  const auto assigned = assigned_by_files("{}", "(ENOENT)", "web/a", {});
  ASSERT_FALSE(assigned);
  EXPECT_EQ(assigned.error().message,
            "memory_manager_state: (no JSON object), expected a state file of a kubelet");
}

}  // namespace
}  // namespace pinfold::harness
