#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "tree_builder.hpp"

namespace pinfold {
namespace {

struct Outcome {
  int status = -1;
  std::string out;
};

/// Runs "pinfold checkpoint ARGUMENTS"; both streams end up in `out`.
Outcome run(const std::string& arguments) {
  FILE* const pipe =
      ::popen((std::string(PINFOLD_COMMAND) + " checkpoint " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {};
  Outcome outcome;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    outcome.out += static_cast<char>(c);
  }
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

class Checkpoint : public testing::Test {
 protected:
  void SetUp() override {
    CpuState cpu;
    cpu.default_set = CpuSet{0, 1, 6, 7};
    cpu.assignments["pod-a"] = {{"c1", CpuSet{2, 3}}, {"c2", CpuSet{4, 5}}};
    cpu.pods["pod-a"] = CpuSet{2, 3, 4, 5};
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
  EXPECT_EQ(shown.at("entries").at("pod-a").at("c1"), "2-3");
}

TEST_F(Checkpoint, VerifyAnswersForTheKubeletThatIsMeant) {
  EXPECT_EQ(run("verify " + folder_.path()).status, 0);
  const Outcome off =
      run("verify --kubelet 1.36 --pod-level-resource-managers off " + folder_.path());
  EXPECT_EQ(off.status, 1);
  EXPECT_NE(off.out.find("no: json: cannot unmarshal object into Go struct field "
                         "CPUManagerCheckpointV1.entries of type string\n"),
            std::string::npos)
      << off.out;
  EXPECT_EQ(run("verify --policy none " + folder_.path()).status, 1);
}

TEST_F(Checkpoint, TellsWhatIsWrongWithItsInput) {
  folder_.write("cpu_manager_state", "{");
  const Outcome torn = run("show " + folder_.path() + "/cpu_manager_state");
  EXPECT_EQ(torn.status, 2);
  EXPECT_EQ(torn.out,
            "pinfold: '" + folder_.path() + "/cpu_manager_state': unexpected end of JSON input\n");
  EXPECT_EQ(run("show /nonexistent").status, 2);
  EXPECT_EQ(run("verify").status, 2);
}

}  // namespace
}  // namespace pinfold
