#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "run_program.hpp"
#include "temp_dir.hpp"

/// `pinfold hook` as a runtime runs it.
namespace pinfold {
namespace {

using testing::HasSubstr;
using testing::Not;

class HookCli : public testing::Test {
 protected:
  /// Runs the hook with a state from a file.
  [[nodiscard]] test::Outcome hook(const std::string& state, const std::string& options = "") {
    dir_.write("state.json", state);
    return run("cat state.json", options);
  }
  /// Runs the hook with the output of a command as input.
  [[nodiscard]] test::Outcome run(const std::string& input, const std::string& options) const {
    return test::run_shell("cd " + dir_.path() + " && " + input + " | timeout 10 " +
                           PINFOLD_COMMAND + " hook --state-dir state --no-enforce " + options);
  }
  [[nodiscard]] static std::string state(const std::string& annotations,
                                         const std::string& status = "created",
                                         const std::string& pid = "2") {
    return R"({"id":"c","status":")" + status + R"(","bundle":"/b","pid":)" + pid +
           R"(,"annotations":{)" + annotations + "}}";
  }
  [[nodiscard]] std::string state_of_file(const std::string& name) const {
    return state(R"("io.pinfold.pod-file":")" + (dir_ / name) + "\"");
  }

  test::TempDir dir_;
};

constexpr const char* kCpu = R"("io.pinfold.cpu":"1")";

TEST_F(HookCli, ReadsNoPodFileThatItsOperatorDoesNotAllow) {
  dir_.write("secret", "root:SECRET");
  const auto refused = hook(state_of_file("secret"));
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.err,
            "pinfold: container 'c': annotation io.pinfold.pod-file: the hook accepts no pod "
            "files: its command line has no --pod-file-dir\n");
  std::filesystem::create_directory(dir_ / "pods");
  EXPECT_THAT(hook(state_of_file("secret"), "--pod-file-dir " + (dir_ / "pods")).err,
              HasSubstr("expected an absolute path without '..', below " + (dir_ / "pods")));
}

TEST_F(HookCli, QuotesNothingOfAPodFile) {
  for (const char* file :
       {"root:SECRET", "[SECRET", "{SECRET: 1}", "{kind: SECRET}",
        "{metadata: {name: db}, spec: {containers: [{name: main, SECRET: 1}]}}",
        "{metadata: {name: db}, spec: {containers: [{name: main, resources: {limits: {cpu: "
        "SECRET}}}]}}",
        "{metadata: {name: SECRET}, spec: {containers: [{name: main, resources: {limits: "
        "{hugepages-1Gi: 1Gi}}}]}}"}) {
    dir_.write("pods/db.yaml", file);
    const auto refused =
        hook(state_of_file("pods/db.yaml"),
             "--pod-file-dir /nothing --pod-file-dir " + dir_.path() + "/pods -o json");
    EXPECT_EQ(refused.status, 2) << file;
    EXPECT_THAT(refused.err, HasSubstr("is not a valid Pod")) << file;
    EXPECT_THAT(refused.err + refused.out, Not(HasSubstr("SECRET"))) << file;
  }
}

TEST_F(HookCli, IsNotHeldUpByItsInput) {
  std::filesystem::create_directory(dir_ / "pods");
  ASSERT_EQ(::mkfifo((dir_ / "pods/fifo").c_str(), 0600), 0);
  const auto fifo = hook(state_of_file("pods/fifo"), "--pod-file-dir " + (dir_ / "pods"));
  EXPECT_EQ(fifo.status, 2);
  EXPECT_THAT(fifo.err, HasSubstr("expected a regular file"));

  const auto endless = run("yes", "");
  EXPECT_EQ(endless.status, 2);
  EXPECT_EQ(endless.err, "pinfold: read standard input: more than 1 MiB\n");
  const auto most = run("head -c 1048576 /dev/zero", "");
  EXPECT_THAT(most.err, Not(HasSubstr("MiB")));
  EXPECT_EQ(most.status, 2);
}

TEST_F(HookCli, RefusesAnUnknownStatus) {
  for (const char* status : {"running", "paused", ""}) {
    const auto refused = hook(state(kCpu, status));
    EXPECT_EQ(refused.status, 2) << status;
    EXPECT_EQ(refused.err, "pinfold: container 'c': state.status: '" + std::string(status) +
                               "': expected creating or created (createRuntime), or stopped "
                               "(poststop)\n");
    EXPECT_EQ(hook(state("", status)).status, 0) << "a container that is none of Pinfold's";
  }
}

TEST_F(HookCli, RefusesAProcessThatIsNoContainers) {
  for (const char* pid : {"-1", "0", "1", "4194305", "4294967301"}) {
    const auto refused = hook(state(kCpu, "created", pid));
    EXPECT_EQ(refused.status, 2) << pid;
    EXPECT_THAT(refused.err, HasSubstr(std::string("state.pid: ") + pid + ": expected")) << pid;
  }
  EXPECT_THAT(hook(state(kCpu, "created", "4194304")).err, HasSubstr("it does not exist"));
  const auto parent = run("echo '" + state(kCpu, "created", "'$$'") + "'", "");
  EXPECT_THAT(parent.err, HasSubstr("the hook or one of its parents"));
  dir_.write("node.json",
             R"({"name":"n","cpus":[{"id":0,"core":0,"socket":0,"numa":0,"l3":0}],
                 "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],"devices":[]})");
  const auto poststop = hook(state(kCpu, "stopped", "4294967301"), "--machine node.json");
  EXPECT_EQ(poststop.status, 0) << "the process is gone by then: " << poststop.err;
}

constexpr const char* kConfigOfPodman =
    R"({"process":{"env":["A=b"]},"linux":{"cgroupsPath":"/libpod_parent/libpod-c1"},"annotations":)";

TEST_F(HookCli, PrecreatePrintsTheConfiguration) {
  dir_.write("config.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
  ASSERT_EQ(test::run_shell("cd " + dir_.path() + " && " + PINFOLD_COMMAND +
                            " topology --synthetic 'numa:1 core:4 pu:1' -o json >node.json")
                .status,
            0);
  const std::string options = "--precreate --machine node.json --config config.yaml";
  const std::string silent = std::string(kConfigOfPodman) + R"({"io.pinfold.cpu":"1"}})";
  const auto unchanged = hook(silent, options);
  EXPECT_EQ(unchanged.status, 0) << unchanged.err;
  EXPECT_THAT(unchanged.out, HasSubstr(R"("env":["A=b"])"));
  EXPECT_THAT(unchanged.out, Not(HasSubstr("mounts")));

  const auto told = hook(
      std::string(kConfigOfPodman) +
          R"({"io.pinfold.cpu":"2","io.pinfold.memory":"1Mi","io.pinfold.assigned":"{W: assigned.cpuset}"}})",
      options);
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr(R"("env":["A=b","PINFOLD_CPUS=1-2","PINFOLD_MEMS=0","W=1-2"])"));
  EXPECT_THAT(told.out, HasSubstr("state/pinfold_assigned/oci-c1/main"));
  EXPECT_THAT(test::run_shell("cat " + (dir_ / "state/pinfold_assigned/oci-c1/main/cpus")).out,
              HasSubstr("1-2"));

  const auto wrong = hook(
      std::string(kConfigOfPodman) + R"({"io.pinfold.cpu":"1","io.pinfold.assigned":"maybe"}})",
      options);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.err, HasSubstr("container 'c1': annotation io.pinfold.assigned: 'maybe': "));
  EXPECT_THAT(hook("[]", options).err, HasSubstr("config.json: expected the config.json"));
  EXPECT_THAT(hook("{", options).err, HasSubstr("config.json: "));
}

}  // namespace
}  // namespace pinfold
