#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../../support/run_program.hpp"
#include "../../support/temp_dir.hpp"

/// The profile with which a command decides, and what it reports about it.
namespace pinfold {
namespace {

using testing::HasSubstr;
using testing::Not;

class ProfileCli : public testing::Test {
 protected:
  ProfileCli() {
    put("node.json", R"({"name":"n","cpus":[{"id":0,"core":0,"socket":0,"numa":0,"l3":0},
      {"id":1,"core":1,"socket":0,"numa":0,"l3":0},{"id":2,"core":2,"socket":0,"numa":0,"l3":0}],
      "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],"devices":[]})");
    put("config.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
    put("named.yaml",
        "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\npinfold: {profile: fixed}\n");
    put("web.yaml", R"(apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, resources: {limits: {cpu: 1, memory: 64Mi}}}]}
)");
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text;
  }
  /// Installs a program that prints `text` when asked for its version.
  void put_kubelet(const std::string& text) const {
    put("kubelet", "#!/bin/sh\n[ \"$*\" = --version ] && [ -z \"$HOME\" ] || exit 3\n" + text);
    std::filesystem::permissions(dir_ / "kubelet", std::filesystem::perms::owner_all);
  }
  /// Returns standard output and error of a command.
  [[nodiscard]] std::string run(const std::string& command) const {
    const auto done =
        test::run_shell("cd " + dir_.path() + " && " + PINFOLD_COMMAND + " " + command + " 2>&1");
    return done.out;
  }
  [[nodiscard]] std::string node(const std::string& command,
                                 const std::string& config = "config.yaml") const {
    return run(command + " --state-dir state --machine node.json --no-enforce --config " + config);
  }
  /// Makes a state directory as kubelet 1.37 leaves it.
  void make_directory_of_137() const {
    ASSERT_THAT(node("admit web.yaml"), HasSubstr("web"));
    std::filesystem::rename(dir_ / "state", dir_ / "pinfold");
    ASSERT_THAT(run("checkpoint convert pinfold --to cpu-v4 --out state"), Not(HasSubstr("rror")));
    std::filesystem::remove(dir_ / "state/.pinfold_pods");
  }

  const test::TempDir dir_;
};

TEST_F(ProfileCli, IsTheDefaultWhereNothingIsKnown) {
  ASSERT_THAT(node("admit web.yaml"), Not(HasSubstr("profile")));
  EXPECT_THAT(node("status"),
              HasSubstr("profile fixed: the default; the kubelet's version is unknown"));
}

TEST_F(ProfileCli, FollowsTheStateFilesAndRemembersThem) {
  make_directory_of_137();
  const std::string found = "profile kubelet-1.37: a kubelet wrote the state files in its format";
  EXPECT_THAT(node("status"), HasSubstr(found));
  EXPECT_THAT(node("admit web.yaml"), HasSubstr(found));
  EXPECT_THAT(node("status"), HasSubstr(found)) << "now the files are Pinfold's";
  const auto status = nlohmann::json::parse(node("status -o json"));
  EXPECT_EQ(status["profile"], "kubelet-1.37");
  EXPECT_EQ(status["profileSource"], "stateFiles");
}

TEST_F(ProfileCli, IsThatOfTheOperatorFirst) {
  make_directory_of_137();
  put_kubelet("echo Kubernetes v1.38.0");
  const std::string binary = " --kubelet-binary ./kubelet";
  EXPECT_THAT(node("status --profile kubelet-1.36"),
              HasSubstr("profile kubelet-1.36: given on the command line"));
  EXPECT_THAT(node("status" + binary, "named.yaml"),
              HasSubstr("profile fixed: given in the configuration"));
  EXPECT_THAT(node("status" + binary),
              HasSubstr("profile kubelet-1.38: the version of the kubelet"));
  const auto admitted = nlohmann::json::parse(node("admit web.yaml -o json" + binary));
  EXPECT_EQ(admitted["profile"], "kubelet-1.38");
  EXPECT_EQ(admitted["profileSource"], "kubelet");
}

TEST_F(ProfileCli, AsksTheKubeletOfTheSystemdUnit) {
  std::filesystem::create_directory(dir_ / "root");
  EXPECT_THAT(run("status --state-dir state --sysfs root --kubelet-binary unit"),
              HasSubstr("--kubelet-binary unit: unit 'kubelet.service' not found"));
}

/// The pod leaves no shared CPU. From that state a kubelet does not start, nor does Pinfold with a
/// kubelet's profile.
TEST_F(ProfileCli, SaysHowToLeaveAStateFromWhichItsKubeletDoesNotStart) {
  put("strict.yaml",
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
      "cpuManagerPolicyOptions: {strict-cpu-reservation: 'true'}\n");
  put("all.yaml", R"(apiVersion: v1
kind: Pod
metadata: {name: all, uid: u-1}
spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 64Mi}}}]}
)");
  const std::string kubelet = " --profile kubelet-1.36";
  EXPECT_THAT(node("admit all.yaml" + kubelet, "strict.yaml"),
              HasSubstr("the kubelet then fails to restart"));
  EXPECT_THAT(
      node("remove --pod u-1" + kubelet, "strict.yaml"),
      HasSubstr(
          "default cpuset cannot be empty; exclusive CPUs have used up the shared pool, and a "
          "kubelet does not start without one: 'pinfold remove --pod UID --state-dir state "
          "--config strict.yaml --machine node.json --profile fixed --no-enforce' removes a pod"));
  EXPECT_THAT(node("remove --pod u-1 --profile fixed", "strict.yaml"), Not(HasSubstr("rror")));
  EXPECT_THAT(node("admit all.yaml" + kubelet, "strict.yaml"), HasSubstr("admitted"));
}

TEST_F(ProfileCli, NamesTheProfilesThatThereAre) {
  EXPECT_THAT(node("status --profile kubelet-1.35"),
              HasSubstr("--profile: 'kubelet-1.35': expected 'kubelet-1.36', 'kubelet-1.37', "
                        "'kubelet-1.38' or 'fixed'"));
}

TEST_F(ProfileCli, SaysWhatIsWrongWithTheKubelet) {
  const struct {
    const char* script;
    const char* problem;
  } cases[] = {{"echo Kubernetes v1.35.1", "kubelet 1.35 has no profile"},
               {"echo kubelet 1.37", "'kubelet 1.37': expected 'Kubernetes v1.37.0' or similar"},
               {"exit 1", "'./kubelet': --version fails"},
               {"kill -9 $$", "'./kubelet': --version fails"},
               {"yes", "'./kubelet': --version prints too much"},
               {"", "'': expected"}};
  for (const auto& c : cases) {
    put_kubelet(c.script);
    EXPECT_THAT(node("status --kubelet-binary ./kubelet"),
                HasSubstr(std::string("--kubelet-binary: ") + c.problem));
  }
  EXPECT_THAT(node("status --kubelet-binary ./none"),
              HasSubstr("--kubelet-binary: './none': cannot be run"));
}

}  // namespace
}  // namespace pinfold
