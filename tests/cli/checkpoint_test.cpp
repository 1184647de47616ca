#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "pinfold/checkpoint/journal.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/memory/count_again.hpp"
#include "run_program.hpp"
#include "tree_builder.hpp"

namespace pinfold {
namespace {

using test::Outcome;
using test::run_shell;
using testing::HasSubstr;

/// Runs "pinfold checkpoint ARGUMENTS"; `out` receives both output streams.
Outcome run(const std::string& arguments) {
  return run_shell(fmt::format("'{}' checkpoint {} 2>&1", PINFOLD_COMMAND, arguments));
}

/// The files of a directory: contents by name.
std::map<std::string, std::string> contents_of(const std::string& directory) {
  std::map<std::string, std::string> contents;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    std::ifstream stream(file.path());
    contents[file.path().filename()] = {std::istreambuf_iterator<char>(stream), {}};
  }
  return contents;
}

class Checkpoint : public testing::Test {
 protected:
  void SetUp() override {
    CpuCheckpoint cpu;
    cpu.default_set = CpuSet{0, 1, 6, 7};
    cpu.assignments[PodUid("pod-a")] = {{"c1", CpuSet{2, 3}}, {"c2", CpuSet{4, 5}}};
    cpu.pods[PodUid("pod-a")] = CpuSet{2, 3, 4, 5};
    folder_.write("cpu_manager_state", checkpoint::encode_cpu(cpu, "static", true));
    folder_.write("memory_manager_state", checkpoint::encode_memory({}, "None", true));
  }

  test::TempDir folder_;
};

TEST_F(Checkpoint, ShowPrintsBothFilesOfADirectory) {
  const Outcome outcome = run("show " + folder_.path());
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("cpu_manager_state: CPU V3, policy static\n  shared pool: 0-1,6-7\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("pod-a  (the pod)  2-5\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("memory_manager_state: memory V2, policy None\n"), std::string::npos)
      << outcome.out;
}

TEST_F(Checkpoint, ShowPrintsTheKubeletsFormAsJson) {
  const Outcome outcome = run("show -o json " + folder_.path() + "/cpu_manager_state");
  const auto shown = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(shown.at("version"), 3);
  EXPECT_EQ(shown.at("kind"), "cpu");
  EXPECT_EQ(shown.at("state").at("entries").at("pod-a").at("c1"), "2-3");
}

TEST_F(Checkpoint, VerifyAnswersForTheKubeletGiven) {
  EXPECT_EQ(run("verify " + folder_.path()).status, 0);
  const Outcome off =
      run("verify --kubelet 1.36 --pod-level-resource-managers off " + folder_.path());
  EXPECT_EQ(off.status, 1);
  EXPECT_THAT(off.out, HasSubstr("no: entries: expected a text in quotes, not an object (kubelet: "
                                 "json: cannot unmarshal object into Go struct field "
                                 "CPUManagerCheckpointV1.entries of type string)\n"));
  EXPECT_EQ(run("verify --policy none " + folder_.path()).status, 1);
}

TEST_F(Checkpoint, VerifyReadsWhatAKubeletReads) {
  // Invalid UTF-8, other cases of keys, huge numbers in unknown fields, two policy names, and a
  // name that no kubelet has.
  for (const char* const file :
       {"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-7\",\"x\":\"\xff\"}",
        R"({"POLICYNAME":"static","defaultCpuSet":"0-7"})",
        R"({"policyName":"static","defaultCpuSet":"0-7","x":1e999})",
        R"({"policyName":1e999,"defaultCpuSet":"0-7","policyName":"static"})",
        R"({"policyName":"stat\ud800ic","defaultCpuSet":"0-7"})"}) {
    folder_.write("cpu_manager_state", file);
    const std::string text = file;
    const bool is_refused =
        text.find(":1e999,\"d") != std::string::npos || text.find("ud800") != std::string::npos;
    const Outcome outcome = run("verify " + folder_.path() + "/cpu_manager_state");
    EXPECT_EQ(outcome.status, is_refused ? 1 : 0) << file << outcome.out;
  }
  folder_.write("cpu_manager_state", R"({"policyName":"\ufeffstatic","defaultCpuSet":"0-7"})");
  const Outcome other = run("verify --policy static " + folder_.path() + "/cpu_manager_state");
  EXPECT_NE(other.out.find(R"(differs from state checkpoint policy "\ufeffstatic")"),
            std::string::npos)
      << other.out;
  folder_.write("state", R"({"policyName":"None","MachineState":{}})");
  EXPECT_EQ(run("verify " + folder_.path() + "/state").status, 0);
}

TEST_F(Checkpoint, VerifyReportsBothSums) {
  CpuCheckpoint cpu;
  cpu.default_set = CpuSet{0, 1};
  cpu.assignments[{PodUid("a"), "c"}] = CpuSet{2};
  std::string file = checkpoint::encode_cpu(cpu, "static", false);
  const auto sum = file.substr(file.rfind(':') + 1, file.size() - file.rfind(':') - 2);
  file.replace(file.rfind(':') + 1, std::string::npos, "7}");
  folder_.write("cpu_manager_state", file);
  const std::string command = "verify " + folder_.path() + "/cpu_manager_state";
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.status, 1);
  const std::string line = "wrong checksum: 7 in the file, " + sum + " computed";
  EXPECT_NE(outcome.out.find("  " + line), std::string::npos) << outcome.out;
  const Outcome shown = run("show " + folder_.path() + "/cpu_manager_state");
  EXPECT_EQ(shown.status, 0);
  EXPECT_NE(shown.out.find("shared pool: 0-1"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find(line), std::string::npos) << shown.out;
  const auto printed = nlohmann::json::parse(run(command + " -o json").out);
  EXPECT_EQ(printed.at(0).at("wrongChecksums").at(1).at("found"), 7);
  EXPECT_EQ(printed.at(0).at("wrongChecksums").at(1).at("computed").dump(), sum);
  folder_.write("cpu_manager_state", checkpoint::encode_cpu(cpu, "static", false));
  EXPECT_EQ(run(command).out.find("wrong"), std::string::npos);
}

TEST_F(Checkpoint, ShowsAStateWhoseChecksumIsAText) {
  folder_.write("cpu_manager_state",
                R"({"policyName":"static","defaultCpuSet":"0-1","entries":{"a":{"c":"2"}},)"
                R"("checksum":"7"})");
  const Outcome shown = run("show " + folder_.path() + "/cpu_manager_state");
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.out, HasSubstr("shared pool: 0-1"));
  EXPECT_THAT(shown.out, HasSubstr("checksum: expected a whole number of 0 or more"));
}

TEST_F(Checkpoint, VerifyChecksTheMachineStateAsTheKubeletDoes) {
  // Memory V3 with pod-level blocks: kubelet 1.36 reads the containers, and counts their memory.
  MemoryCheckpoint memory;
  memory.machine_state[0] = {0, {{"memory", {8, 0, 8, 0, 8}}}, {0}};
  memory.assignments[{PodUid("a"), "c"}] = {{{0}, "memory", 2}};
  memory.assignments[{PodUid("a"), "d"}] = {{{0}, "memory", 1}};
  memory.pods[PodUid("a")] = {{{0}, "memory", 3}};
  take_blocks(memory.machine_state, memory.pods[PodUid("a")]);
  const auto file = checkpoint::encode_memory(memory, "Static", checkpoint::MemoryFormat::kV3);
  folder_.write("memory_manager_state", file);
  const std::string command = "verify " + folder_.path() + "/memory_manager_state --kubelet ";
  const Outcome older = run(command + "1.36");
  EXPECT_EQ(older.status, 1);
  EXPECT_NE(older.out.find("no, it reads the file but does not start: [memorymanager] the expected "
                           "machine state is different from the real one"),
            std::string::npos)
      << older.out;
  EXPECT_EQ(run(command + "1.37 --pod-level-resource-managers on").status, 0);
  EXPECT_EQ(run(command + "1.37 --pod-level-resource-managers off").status, 1);
}

TEST_F(Checkpoint, VerifyPrintsTheStateOfEachKubelet) {
  const auto rows =
      nlohmann::json::parse(run("verify -o json " + folder_.path() + "/cpu_manager_state").out);
  std::map<std::string, nlohmann::json> states;
  for (const auto& row : rows) {
    const bool gate = row.at("podLevelResourceManagers");
    states[row.at("kubelet").get<std::string>() + (gate ? " on" : " off")] =
        row.value("state", nlohmann::json());
  }
  nlohmann::json state = {{"defaultCpuSet", "0-1,6-7"},
                          {"entries", {{"pod-a", {{"c1", "2-3"}, {"c2", "4-5"}}}}},
                          {"podEntries", {{"pod-a", "2-5"}}}};
  for (const char* const kubelet : {"1.36 on", "1.37 on", "1.38 on"}) {
    EXPECT_EQ(states.at(kubelet), state) << kubelet;
  }
  state["podEntries"] = nlohmann::json::object();
  for (const char* const kubelet : {"1.37 off", "1.38 off"}) {
    EXPECT_EQ(states.at(kubelet), state) << kubelet;
  }
  for (const char* const kubelet : {"1.35 off", "1.36 off"}) {
    EXPECT_EQ(states.at(kubelet), nullptr) << kubelet;
  }
}

TEST_F(Checkpoint, VerifyKnowsWhichKubeletsHaveTheGate) {
  EXPECT_EQ(run("verify --kubelet 1.38 " + folder_.path()).status, 0);
  const Outcome none =
      run("verify --kubelet 1.35 --pod-level-resource-managers on " + folder_.path());
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.out,
            "pinfold: --pod-level-resource-managers on: kubelet 1.35 does not have this gate\n");
}

TEST_F(Checkpoint, VerifyNamesACrash) {
  MemoryCheckpoint memory;
  memory.machine_state[0] = {0, {{"memory", {}}}, {0}};
  std::string file = checkpoint::encode_memory(memory, "None", checkpoint::MemoryFormat::kV1);
  const auto table = file.find("{\"total\"");
  file.replace(table, file.find('}', table) - table + 1, "null");
  file.replace(file.rfind(':') + 1, std::string::npos, "0}");
  folder_.write("memory_manager_state", file);
  const Outcome outcome = run("verify --kubelet 1.37 " + folder_.path() + "/memory_manager_state");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("no, it crashes: runtime error: invalid memory address"),
            std::string::npos)
      << outcome.out;
}

TEST_F(Checkpoint, ShowNamesTheKubeletsThatWriteAFileAndWhatOthersLose) {
  const std::string path = folder_.path() + "/cpu_manager_state";
  const Outcome text = run("show " + path);
  EXPECT_NE(text.out.find("  1.36     off                       no         no\n"
                          "  1.36     on                        yes        yes\n"
                          "  1.37     off                       no         yes             pod-a\n"
                          "  1.37     on                        no         yes\n"),
            std::string::npos)
      << text.out;
  const auto kubelets = nlohmann::json::parse(run("show -o json " + path).out).at("kubelets");
  const auto lost = [&](std::size_t i) { return kubelets.at(i).at("lost"); };
  EXPECT_EQ(kubelets.at(3).at("kubelet"), "1.37");
  EXPECT_EQ(lost(3), nlohmann::json::parse(R"([{"object":"pod-a","before":"2-5","after":""}])"));
  EXPECT_TRUE(lost(4).empty());
}

TEST_F(Checkpoint, ShowPrintsWhatCanBeReadOfADamagedFile) {
  CpuCheckpoint cpu;
  cpu.default_set = CpuSet{0, 1};
  cpu.assignments[{PodUid("a"), "c"}] = CpuSet{2};
  cpu.assignments[{PodUid("b"), "c"}] = CpuSet{3};
  const std::string file = checkpoint::encode_cpu(cpu, "static", false);
  const auto show = [&](const std::string& text) {
    folder_.write("cpu_manager_state", text);
    return run("show " + folder_.path() + "/cpu_manager_state");
  };
  for (const std::string& text :
       {file.substr(0, file.find(R"("b")")), file + "x", "\xEF\xBB\xBF" + file}) {
    const Outcome shown = show(text);
    EXPECT_EQ(shown.status, 0) << text;
    EXPECT_THAT(shown.out, HasSubstr(": only what can be read is shown"));
    EXPECT_THAT(shown.out, HasSubstr("shared pool: 0-1"));
    EXPECT_THAT(shown.out, HasSubstr("  a    c          2"));
  }
}

TEST_F(Checkpoint, NamesAStateFileOfAnotherManager) {
  const struct {
    const char* name;
    const char* text;
    const char* message;
  } cases[] = {
      {"kubelet_internal_checkpoint",
       R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})",
       "a state file of the kubelet's device manager (kubelet_internal_checkpoint)"},
      {"copy.json", R"({"Data":{"PodDeviceEntries":[],"RegisteredDevices":{}},"Checksum":1})",
       "a state file of the kubelet's device manager (kubelet_internal_checkpoint)"},
      {"dra_manager_state", R"({"version":"v1","entries":[],"checksum":1})",
       "a state file of the kubelet's DRA manager (dra_manager_state)"},
      {"dra.json", R"({"Data":"{\"ClaimInfoStateList\":null}","Checksum":1})",
       "a state file of the kubelet's DRA manager (dra_manager_state)"},
      {"allocated_pods_state", R"({"data":"{\"entries\":{}}","checksum":1})",
       "a state file of the kubelet's allocation manager (allocated_pods_state)"},
      {"actuated_pods_state.bak", R"({"data":"{}","checksum":1})",
       "a state file of the kubelet's allocation manager (actuated_pods_state)"},
      {"pod_status_manager_state", R"({"allocationEntries":{},"checksum":1})",
       "a state file of the kubelet's status manager (pod_status_manager_state)"},
      {"graceful_node_shutdown_state", R"({"startTime":null,"endTime":null})",
       "a state file of the kubelet's shutdown manager (graceful_node_shutdown_state)"},
      {"config.json", R"({"kind":"KubeletConfiguration","cpuManagerPolicy":"static"})",
       "not a CPU or memory manager's state file: none of its keys is policyName, defaultCpuSet, "
       "entries or machineState, it has 'kind', 'cpuManagerPolicy'"},
  };
  for (const auto& one : cases) {
    const std::string path = folder_.path() + "/" + one.name;
    folder_.write(one.name, one.text);
    for (const std::string& command :
         {"show " + path, "verify " + path, "diff " + path + " " + folder_.path(), "repair " + path,
          "convert --dry-run --to 1.36 --out x " + path}) {
      const Outcome outcome = run(command);
      EXPECT_EQ(outcome.status, 2) << command;
      EXPECT_THAT(outcome.out, HasSubstr("'" + path + "': " + one.message)) << command;
      EXPECT_THAT(outcome.out, HasSubstr("expected the kubelet's cpu_manager_state or "
                                         "memory_manager_state"));
      EXPECT_EQ(outcome.out.find("checksum:"), std::string::npos) << outcome.out;
    }
  }
}

/// The name of a file in a directory does not make it a state.
TEST_F(Checkpoint, ADirectoryWithAnotherFileUnderTheNameIsAnError) {
  for (const char* const text : {R"({"state":{"policyName":"static"}})", "{}", "null"}) {
    const test::TempDir dir;
    dir.write("cpu_manager_state", text);
    const auto refused =
        test::run_shell(std::string(PINFOLD_COMMAND) + " checkpoint show " + dir.path());
    EXPECT_EQ(refused.status, 2) << text;
    EXPECT_NE(refused.err.find("none of its keys is policyName"), std::string::npos) << refused.err;
  }
}

TEST_F(Checkpoint, RepairAndConvertNameTheDirectoryOfAFile) {
  const std::string path = folder_.path() + "/cpu_manager_state";
  for (const std::string& command :
       {"repair " + path, "convert --dry-run --to 1.36 --out x " + path}) {
    EXPECT_THAT(run(command).out, HasSubstr("'" + path +
                                            "': expected the directory with the state "
                                            "files: pass '" +
                                            folder_.path() + "'"));
  }
}

TEST_F(Checkpoint, ADamagedFileIsStillOneOfTheManagers) {
  // Cut off, or with one key left.
  for (const char* const text :
       {R"({"policyName":"static","defaultCpu)", R"({"entries":{"a":{"c":"2"}},"checksum":1})",
        R"({"DefaultCpuSet":"0-1","Data":"x"})"}) {
    folder_.write("cpu_manager_state", text);
    const Outcome outcome = run("verify " + folder_.path() + "/cpu_manager_state");
    EXPECT_EQ(outcome.status, 1) << text;
    EXPECT_THAT(outcome.out, HasSubstr("no kubelet loads it")) << text;
  }
}

TEST_F(Checkpoint, ReportsInvalidInput) {
  folder_.write("cpu_manager_state", "{");
  const Outcome torn = run("show " + folder_.path() + "/cpu_manager_state");
  EXPECT_EQ(torn.status, 2);
  EXPECT_EQ(torn.out,
            "pinfold: '" + folder_.path() +
                "/cpu_manager_state': the file is empty or ends too early (kubelet: unexpected end "
                "of JSON input)\n");
  for (const auto& [bytes, words] : {
           std::pair(R"({"policyName":"static","defaultCpuSet":5,"checksum":1})",
                     "defaultCpuSet: expected a text in quotes, not a number (kubelet: json: "),
           {R"({"entries":[]})", "entries: expected an object {...}, not a list (kubelet: json: "},
           {R"({"machineState":5})",
            "machineState: expected an object {...}, not a number (kubelet: json: "},
           {"", "the file is empty or ends too early (kubelet: "},
           {R"({"defaultCpuSet":"0:1","policyName":"static","checksum":1})",
            "wrong checksum: 1 in the file, "},
       }) {
    folder_.write("cpu_manager_state", bytes);
    for (const char* const verb : {"show ", "show -o json "}) {
      const Outcome shown = run(verb + folder_.path() + "/cpu_manager_state");
      EXPECT_EQ(shown.status, 2) << bytes;
      EXPECT_THAT(shown.out, HasSubstr(words)) << bytes;
      EXPECT_EQ(shown.out.find(words), shown.out.rfind(words)) << "it is said once: " << shown.out;
    }
  }
  EXPECT_EQ(run("show /nonexistent").status, 2);
  EXPECT_EQ(run("verify").status, 2);
}

/// Eight CPUs, of which 0 and 1 are reserved; the memory manager has no policy.
constexpr const char* kConfig = R"(
cpuManagerPolicy: static
reservedSystemCPUs: 0-1
featureGates: {PodLevelResourceManagers: true}
)";

class CheckpointOfANode : public Checkpoint {
 protected:
  void SetUp() override {
    Checkpoint::SetUp();
    folder_.write("config.yaml", kConfig);
    MachineDescription machine;
    for (std::int32_t id = 0; id < 8; ++id) {
      machine.cpus.push_back({CpuId{id}, CoreId{id}, SocketId{0}, NumaId{0}, CacheId{0}});
    }
    machine.numa_nodes.push_back({NumaId{0}, std::uint64_t{1} << 30U, {}, {}});
    folder_.write("node.json", Machine::make(machine)->to_json().dump());
  }

  [[nodiscard]] std::string node() const { return " --machine " + folder_.path() + "/node.json"; }
  test::TempDir out_;
};

TEST_F(CheckpointOfANode, AGateThatOnlyAVendorsKubeletMayKnowStopsNoRepair) {
  constexpr const char* kValidation =
      "upstream's kubelet refuses the feature gate SomethingNew; a vendor's may know it\n";
  folder_.write("config.yaml",
                "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
                "featureGates: {PodLevelResourceManagers: true, SomethingNew: true}\n");
  const std::string repair = "repair" + node() + " " + folder_.path();
  for (const std::string& command :
       {repair, repair + " --profile kubelet-1.36",
        "convert --to 1.36 --out " + out_.path() + node() + " " + folder_.path()}) {
    const Outcome done = run(command);
    EXPECT_EQ(done.status, 0) << done.out;
    EXPECT_NE(done.out.find(kValidation), std::string::npos) << done.out;
    EXPECT_EQ(done.out.find("passes"), std::string::npos) << done.out;
  }
}

TEST_F(CheckpointOfANode, ConvertWritesFilesThatTheOlderKubeletLoads) {
  const std::string command = "convert --to cpu-v2 --out " + out_.path() + node() + " ";
  const Outcome dry = run(command + "--dry-run " + folder_.path());
  EXPECT_EQ(dry.status, 0) << dry.out;
  EXPECT_NE(dry.out.find("pod-a/c1  CPUs 2-3\n"), std::string::npos) << dry.out;
  EXPECT_NE(dry.out.find("CPUs 2-5 as one reservation"), std::string::npos) << dry.out;
  EXPECT_NE(dry.out.find("start-up validation of that kubelet: passes\nnothing written"),
            std::string::npos)
      << dry.out;
  EXPECT_EQ(run("show " + out_.path()).status, 2);
  EXPECT_EQ(run(command + folder_.path()).status, 0);
  EXPECT_EQ(run("verify --kubelet 1.36 --pod-level-resource-managers off " + out_.path()).status,
            0);
  const Outcome again = run(command + folder_.path());
  EXPECT_EQ(again.status, 2);
  EXPECT_NE(again.out.find("already has state files"), std::string::npos) << again.out;
}

TEST_F(CheckpointOfANode, ConvertWritesFilesForAKubelet) {
  const auto formats = [&](const std::string& options) {
    const test::TempDir out;
    const Outcome done =
        run("convert --out " + out.path() + node() + " " + options + " " + folder_.path());
    EXPECT_EQ(done.status, 0) << done.out;
    const std::string shown = run("show " + out.path()).out;
    return shown.substr(shown.find(": CPU V") + 6, 2);
  };
  // The gate is on in the configuration.
  EXPECT_EQ(formats("--to 1.36"), "V3");
  EXPECT_EQ(formats("--to 1.36 --pod-level-resource-managers off"), "V2");
  EXPECT_EQ(formats("--to 1.35"), "V2");
  EXPECT_EQ(formats("--to 1.37"), "V4");
  const auto dry = [&](const std::string& options) {
    return run("convert --dry-run --out x" + node() + " " + options + " " + folder_.path());
  };
  // Without the gate a kubelet ignores pod entries of CPU V4 too.
  EXPECT_NE(
      dry("--to 1.37 --pod-level-resource-managers off")
          .out.find("lost with kubelet 1.37, gate off:\n  pod-a  CPUs 2-5 as one reservation"),
      std::string::npos);
  EXPECT_EQ(dry("--to 1.37").out.find("lost with"), std::string::npos);
  EXPECT_EQ(dry("--to 1.35 --pod-level-resource-managers on").out,
            "pinfold: --pod-level-resource-managers on: --to 1.35 does not have this gate\n");
  EXPECT_EQ(dry("--to cpu-v2 --pod-level-resource-managers on").status, 2);
  EXPECT_EQ(dry("--to 1.34").out,
            "pinfold: --to '1.34': expected a kubelet version, 1.35 to 1.38, or a format: "
            "cpu-v1 to cpu-v4, memory-v1 to memory-v3\n");
}

TEST_F(CheckpointOfANode, ConvertExplainsWhyTheOlderKubeletWouldNotStart) {
  folder_.write("config.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: 2-3\n");
  const Outcome outcome =
      run("convert --dry-run --to cpu-v2 --out x -o json" + node() + " " + folder_.path());
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  const auto printed = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(printed.at("starts"), false);
  EXPECT_EQ(printed.at("startError"),
            "cpumanager: not all reserved cpus: \"2-3\" are present in defaultCpuSet: \"0-1,6-7\"");
}

TEST_F(CheckpointOfANode, ConvertReadsContainerIdsOfTheRuntime) {
  folder_.write("cpu_manager_state",
                R"({"policyName":"static","defaultCpuSet":"0-1,4-7","entries":{"0123456789abcdef":)"
                R"("2-3"},"checksum":2564086301})");
  folder_.write("ps.json", R"({"containers":[{"id":"0123456789abcdef","labels":{)"
                           R"("io.kubernetes.pod.uid":"u","io.kubernetes.container.name":"c"}}]})");
  const std::string command = "convert --dry-run --to cpu-v3 --out x" + node();
  EXPECT_EQ(run(command + " " + folder_.path()).status, 2);
  const Outcome outcome =
      run(command + " --container-ids " + folder_.path() + "/ps.json " + folder_.path());
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("u/c  CPUs 2-3\n"), std::string::npos) << outcome.out;
}

TEST_F(CheckpointOfANode, DiffNamesAFileThatIsNoState) {
  const std::string pod = out_.path() + "/cpu_manager_state";
  std::ofstream(pod) << "apiVersion: v1\nkind: Pod\n";
  for (const std::string& files : {folder_.path() + " " + pod, pod + " " + folder_.path()}) {
    const Outcome outcome = run("diff " + files);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.out.find("'" + pod + "': not a kubelet's state file: expected a JSON object"),
              std::string::npos)
        << outcome.out;
  }
}

TEST_F(CheckpointOfANode, DiffListsDifferences) {
  EXPECT_EQ(run("diff " + folder_.path() + " " + folder_.path()).out, "");
  EXPECT_EQ(run("convert --to cpu-v2 --out " + out_.path() + node() + " " + folder_.path()).status,
            0);
  const Outcome outcome = run("diff " + folder_.path() + " " + out_.path());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(
      outcome.out,
      "CPU:\n- format: V3\n+ format: V2\n- pod-a: 2-5\nmemory:\n- format: V2\n+ format: V1\n");
}

TEST_F(CheckpointOfANode, RepairIsForTheKubeletOfTheProfile) {
  ASSERT_EQ(run("convert --to 1.37 --out " + out_.path() + node() + " " + folder_.path()).status,
            0);
  out_.write("config.yaml", kConfig);
  const std::string command = "repair --dry-run" + node() + " " + out_.path() + " --profile ";
  EXPECT_EQ(run(command + "kubelet-1.37").out, "nothing to repair\nstart-up validation: passes\n");
  const Outcome older = run(command + "kubelet-1.36");
  EXPECT_NE(older.out.find("is V4, and the kubelet would not read all of it: rewritten as V3"),
            std::string::npos)
      << older.out;
}

TEST_F(CheckpointOfANode, RepairKeepsTheOldFileAndReportsItsChanges) {
  CpuCheckpoint state;
  state.default_set = CpuSet{0, 1, 4, 5, 6, 7, 8};
  state.assignments[{PodUid("pod-a"), "c1"}] = CpuSet{2, 3};
  const std::string torn = checkpoint::encode_cpu(state, "static", true);
  folder_.write("cpu_manager_state", torn.substr(0, torn.find("checksum")));
  folder_.write(".123456", "half a file of a kubelet");
  const std::string command = "repair" + node() + " " + folder_.path();
  const Outcome dry = run(command + " --dry-run");
  EXPECT_EQ(dry.status, 0) << dry.out;
  EXPECT_NE(dry.out.find("shared pool        CPU 8 is not on this machine: removed"),
            std::string::npos)
      << dry.out;
  EXPECT_EQ(run("verify " + folder_.path() + "/cpu_manager_state").status, 1);
  const Outcome done = run(command);
  EXPECT_EQ(done.status, 0) << done.out;
  EXPECT_NE(done.out.find("start-up validation: passes"), std::string::npos) << done.out;
  EXPECT_EQ(run("verify " + folder_.path()).status, 0);
  const Outcome kept =
      run("show " + folder_.path() + "/.pinfold_before_repair.1.cpu_manager_state");
  EXPECT_NE(kept.out.find("unexpected end"), std::string::npos) << kept.out;
  EXPECT_NE(done.out.find("now .pinfold_before_repair.1.123456"), std::string::npos) << done.out;
  EXPECT_EQ(run(command).out, "nothing to repair\nstart-up validation: passes\n");
}

TEST_F(CheckpointOfANode, RepairWritesNothingIfSomethingWouldBeLost) {
  CpuCheckpoint state;
  state.default_set = CpuSet{0, 1, 6, 7};
  state.assignments[{PodUid("pod-a"), "c1"}] = CpuSet{2, 3};
  state.assignments[{PodUid("pod-b"), "c"}] = CpuSet{4, 5};
  const std::string file = checkpoint::encode_cpu(state, "static", true);
  folder_.write("cpu_manager_state", file.substr(0, file.find("pod-b")));
  folder_.write(".pinfold_pods",
                R"({"version":1,"pods":[{"pod":{"metadata":{"name":"b","uid":"pod-b"},
      "spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"3","memory":"1Mi"},
      "limits":{"cpu":"3","memory":"1Mi"}}}]}},"started":["c"]}]})");
  const auto before = contents_of(folder_.path());
  const std::string command = "repair" + node() + " " + folder_.path();
  for (const char* const option : {"", " --dry-run", " --dry-run --accept-loss"}) {
    const Outcome outcome = run(command + option);
    EXPECT_EQ(outcome.status, std::string(option).ends_with("loss") ? 0 : 1) << outcome.out;
    EXPECT_NE(outcome.out.find(
                  "could not be saved:\n  pod-b/c            3 CPUs: its entry is unreadable, "
                  "but '.pinfold_pods' names it\n"),
              std::string::npos)
        << outcome.out;
    EXPECT_EQ(contents_of(folder_.path()), before) << option;
  }
  const auto refused = nlohmann::json::parse(run(command + " -o json").out);
  EXPECT_EQ(refused.at("written"), false);
  EXPECT_EQ(refused.at("lost").at(0).at("object"), "pod-b/c");
  EXPECT_EQ(run(command + " --accept-loss").status, 0);
  EXPECT_EQ(run(command).out, "nothing to repair\nstart-up validation: passes\n");
}

TEST_F(CheckpointOfANode, RepairSetsAPodsFileAsideThatCannotBeRead) {
  folder_.write(".pinfold_pods", "{");
  const std::string command = "repair" + node() + " " + folder_.path();
  const Outcome refused = run(command);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.out.find(".pinfold_pods  cannot be read"), std::string::npos) << refused.out;
  EXPECT_EQ(contents_of(folder_.path()).at(".pinfold_pods"), "{");
  const Outcome accepted = run(command + " --accept-loss");
  EXPECT_EQ(accepted.status, 0) << accepted.out;
  EXPECT_FALSE(contents_of(folder_.path()).contains(".pinfold_pods"));
  EXPECT_EQ(contents_of(folder_.path()).at(".pinfold_before_repair.1.pinfold_pods"), "{");
}

/// As on a node where a kubelet starts for the first time: the kubelet's defaults are no reason to
/// change a policy.
TEST_F(CheckpointOfANode, RepairWithoutAConfigurationChangesNoPolicy) {
  std::filesystem::remove(folder_ / "config.yaml");
  const auto before = contents_of(folder_.path());
  const Outcome refused = run("repair" + node() + " " + folder_.path());
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.out.find("cpu_manager_state' has the policy 'static', and no configuration is "
                             "given: name the kubelet's with --config"),
            std::string::npos)
      << refused.out;
  EXPECT_EQ(contents_of(folder_.path()), before);
}

/// A partial configuration that says nothing about the policy changes no policy.
TEST_F(CheckpointOfANode, RepairWithAPartOfAConfigurationChangesNoPolicy) {
  std::filesystem::remove(folder_ / "config.yaml");
  folder_.write("kubeadm-flags.env",
                "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/crio.sock\"\n");
  folder_.write("join.yaml",
                "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\n"
                "nodeRegistration: {kubeletExtraArgs: {node-ip: 10.0.0.1}}\n");
  folder_.write("talos.yaml",
                "machine: {kubelet: {extraArgs: {rotate-server-certificates: true}}}\n");
  folder_.write("k3s.yaml", "node-ip: 10.0.0.1\n");
  const test::TempDir tree;
  tree.write("var/lib/kubelet/config.yaml",  // and no unit: the flags are unknown
             "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n");
  const auto before = contents_of(folder_.path());
  for (const char* const part : {"--kubelet-flags kubeadm-flags.env", "--config join.yaml",
                                 "--config talos.yaml", "--config k3s.yaml", "--config "}) {
    std::string option(part);
    const test::TempDir& of = option.ends_with(' ') ? tree : folder_;
    option.insert(option.find(' ') + 1, of.path() + "/");
    const Outcome refused = run("repair" + node() + " " + option + " " + folder_.path());
    EXPECT_EQ(refused.status, 2) << part;
    EXPECT_NE(refused.out.find("has the policy 'static', and the configuration has no "
                               "cpuManagerPolicy, which a flag of the kubelet may set: name the "
                               "kubelet's with"),
              std::string::npos)
        << refused.out;
    EXPECT_EQ(contents_of(folder_.path()), before) << part;
  }
  // A whole configuration, even that of the directory itself: the flags are unknown.
  constexpr const char* kSilent =
      "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
  for (const std::string name : {"kubelet.yaml", "config.yaml"}) {
    folder_.write(name, kSilent);
    const std::string option = name == "config.yaml" ? "" : " --config " + (folder_ / name);
    const auto kept = contents_of(folder_.path());
    const Outcome refused = run("repair" + node() + option + " " + folder_.path());
    EXPECT_EQ(refused.status, 2) << refused.out;
    EXPECT_NE(refused.out.find("or write 'cpuManagerPolicy: none'"), std::string::npos)
        << refused.out;
    EXPECT_EQ(contents_of(folder_.path()), kept);
  }
  const std::string flags =
      " --kubelet-flags '--cpu-manager-policy=static --reserved-cpus=0-1 "
      "--feature-gates=PodLevelResourceManagers=true' ";
  const Outcome own = run("repair --dry-run" + node() + " --config " + (folder_ / "config.yaml") +
                          flags + folder_.path());
  EXPECT_EQ(own.status, 0) << own.out;
  EXPECT_EQ(own.out.find("differs from the node's own"), std::string::npos) << own.out;
  std::filesystem::remove(folder_ / "config.yaml");
  const Outcome named = run("repair --dry-run" + node() + flags + folder_.path());
  EXPECT_EQ(named.status, 0) << named.out;
}

TEST_F(CheckpointOfANode, RepairLeavesADirectoryWithoutStateFilesAlone) {
  const Outcome outcome = run("repair" + node() + " " + out_.path());
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_EQ(outcome.out, "nothing to repair\nstart-up validation: passes\n");
  EXPECT_TRUE(contents_of(out_.path()).empty());
}

TEST_F(CheckpointOfANode, RepairTakesWhatAJournalKnows) {
  // Interrupted before the files were in place, and the CPU file is torn.
  const std::string sound = contents_of(folder_.path()).at("cpu_manager_state");
  folder_.write(".pinfold_journal",
                checkpoint::encode_record({{"cpu_manager_state", {std::uint64_t{1}, sound}}}));
  folder_.write("cpu_manager_state", sound.substr(0, sound.find("pod-a")));
  const Outcome dry = run("repair --dry-run" + node() + " " + folder_.path());
  const std::string completed =
      "repaired:\n  .pinfold_journal  a commit was interrupted: completed\n"
      "start-up validation: passes\n";
  EXPECT_EQ(dry.out, completed + "nothing written (--dry-run)\n");
  const std::string journal = contents_of(folder_.path()).at(".pinfold_journal");
  const std::string torn = contents_of(folder_.path()).at("cpu_manager_state");
  EXPECT_EQ(run("repair" + node() + " " + folder_.path()).out, completed);
  EXPECT_EQ(contents_of(folder_.path()).at("cpu_manager_state"), sound);
  EXPECT_FALSE(contents_of(folder_.path()).contains(".pinfold_journal"));
  folder_.write(".pinfold_journal.stale", journal);
  folder_.write("cpu_manager_state", torn);
  const Outcome stale = run("repair" + node() + " " + folder_.path());
  EXPECT_EQ(stale.status, 0) << stale.out;
  EXPECT_NE(stale.out.find("replaced by 'cpu_manager_state in .pinfold_journal.stale'"),
            std::string::npos)
      << stale.out;
  EXPECT_EQ(contents_of(folder_.path()).at("cpu_manager_state"), sound);
}

TEST_F(CheckpointOfANode, NamesPodsThatNoLongerFit) {
  // 5 CPUs are allocatable now; the pods request 5.5.
  folder_.write("config.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: 0-2\n");
  CpuCheckpoint state;
  state.default_set = CpuSet{0, 1, 2, 3, 4, 5, 6, 7};
  folder_.write("cpu_manager_state", checkpoint::encode_cpu(state, "static", false));
  folder_.write("memory_manager_state", checkpoint::encode_memory({}, "None", false));
  const auto entry = [](const std::string& name, const std::string& cpu) {
    return R"({"pod":{"metadata":{"name":")" + name + R"("},"spec":{"containers":[{"name":"c",)" +
           R"("resources":{"requests":{"cpu":")" + cpu + R"("}}}]}},"started":["c"]})";
  };
  folder_.write(".pinfold_pods",
                R"({"version":1,"pods":[)" + entry("a", "3500m") + "," + entry("b", "2") + "]}");
  const std::string shortage =
      "default_b  the kubelet rejects the pod when it starts: OutOfcpu: Node didn't have enough "
      "resource: cpu, requested: 2000, used: 3500, capacity: 5000\n";
  const Outcome repaired = run("repair" + node() + " " + folder_.path());
  EXPECT_EQ(repaired.status, 1);
  EXPECT_NE(repaired.out.find(shortage), std::string::npos) << repaired.out;
  const Outcome converted =
      run("convert --dry-run --to cpu-v2 --out x" + node() + " " + folder_.path());
  EXPECT_EQ(converted.status, 1);
  EXPECT_NE(converted.out.find("rejected by that kubelet:\n  " + shortage), std::string::npos)
      << converted.out;
}

TEST_F(CheckpointOfANode, RefusedConversionsChangeNothing) {
  out_.write("memory_manager_state", "{}");
  const auto before = contents_of(out_.path());
  const std::string command = "convert --to cpu-v2 --out " + out_.path() + node() + " ";
  EXPECT_EQ(run(command + folder_.path()).status, 2);
  EXPECT_EQ(contents_of(out_.path()), before);
  folder_.write("cpu_manager_state", "{");
  const auto source = contents_of(folder_.path());
  EXPECT_EQ(run(command + folder_.path()).status, 2);
  EXPECT_EQ(contents_of(out_.path()), before);
  EXPECT_EQ(contents_of(folder_.path()), source);
}

}  // namespace
}  // namespace pinfold
