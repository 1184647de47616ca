#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kubelet_tree.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

/// `pinfold noise`, `quiet` and `who`, as an operator of quiet CPUs runs them.
namespace pinfold {
namespace {

using test::Outcome;
using test::run_shell;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class QuietCommands : public testing::Test {
 protected:
  /// Runs `pinfold ARGUMENTS` for a machine with four CPUs and a state of its own.
  [[nodiscard]] Outcome pinfold(const std::string& arguments) const {
    return run_shell(
        fmt::format("cd '{}' && env -i LANG=C.UTF-8 '{}' {} --state-dir state "
                    "--config config.yaml --machine 'core:4 pu:1'",
                    dir_.path(), PINFOLD_COMMAND, arguments));
  }
  void admit() const {
    dir_.write("pod.yaml",
               "kind: Pod\nmetadata: {name: dsp}\nspec: {containers: [{name: c, resources: "
               "{limits: {cpu: 2, memory: 64Mi}}}]}\n");
    dir_.write("config.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
    const Outcome admitted = pinfold("admit pod.yaml --no-enforce");
    ASSERT_EQ(admitted.status, 0) << admitted.err;
  }

  test::TempDir dir_;
};

constexpr const char* kTrace =
    "# tracer: osnoise\n"
    " a-1 [001] d.h1. 10.0: irq_noise: local_timer:236 start 10.000000000 duration 2000 ns\n"
    " a-1 [001] d.h1. 11.0: irq_noise: eth0:38 start 11.000000000 duration 2000 ns\n";

TEST_F(QuietCommands, NoiseSumsUpATrace) {
  admit();
  dir_.write("trace", kTrace);
  const Outcome noise = pinfold("noise 1 --trace trace --no-enforce -o json");
  ASSERT_EQ(noise.status, 0) << noise.err;
  EXPECT_EQ(noise.err, "");
  const auto sources = nlohmann::json::parse(noise.out).at("cpus").at(0).at("sources");
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_THAT(sources.at(0).at("remedy"), HasSubstr("echo 0,3 > /proc/irq/38/"));
}

TEST_F(QuietCommands, NoiseWarnsOfCpusThatTheTraceDoesNotShow) {
  admit();
  dir_.write("trace", kTrace);
  const Outcome noise = pinfold("noise --trace trace --no-enforce");
  EXPECT_EQ(noise.status, 0) << noise.err;
  EXPECT_THAT(noise.err, HasSubstr("the trace has no event of CPU 2: nothing interrupted it, or it "
                                   "was not in 'osnoise/cpus'"));
}

/// It is not silence: something else was traced, or nothing.
TEST_F(QuietCommands, NoiseRefusesATraceWithoutEvents) {
  admit();
  dir_.write("empty", "");
  dir_.write("other", "x\n");
  for (const char* const trace : {"empty", "other", "/dev/null", "- <empty", "- <other"}) {
    const Outcome noise = pinfold(fmt::format("noise 1 --no-enforce --trace {}", trace));
    EXPECT_EQ(noise.status, 2) << trace;
    EXPECT_EQ(noise.out, "") << trace;
    EXPECT_THAT(noise.err,
                HasSubstr(fmt::format("--trace '{}': the trace has 0 osnoise events: "
                                      "expected the trace file of tracefs",
                                      std::string(trace).substr(0, trace[0] == '-' ? 1 : 99))));
  }
}

TEST_F(QuietCommands, QuietSaysThatNothingHasBeenChanged) {
  admit();
  const Outcome quiet = pinfold("quiet");
  EXPECT_EQ(quiet.status, 0) << quiet.err;
  EXPECT_EQ(quiet.out, "no values have been changed to quiet CPUs\n");
}

TEST_F(QuietCommands, RestoreSaysWhatToDoWhileTheServiceRuns) {
  admit();
  const auto service = checkpoint::Store::open(dir_ / "state");  // holds the lock
  ASSERT_TRUE(service) << service.error().message;
  const Outcome restore = pinfold("quiet --restore --cgroup-root /sys/fs/cgroup/none");
  EXPECT_EQ(restore.status, 2);
  EXPECT_EQ(restore.out, "");
  EXPECT_THAT(restore.err, HasSubstr("if the service runs: stop it and run this again, or write "
                                     "'quiet: off' into its settings and restart it"));
}

/// Without NRI nothing reads it, which must not go unnoticed.
TEST_F(QuietCommands, AdmitWarnsOfTheAnnotation) {
  admit();
  dir_.write("quiet.yaml",
             "kind: Pod\nmetadata: {name: rt, annotations: {pinfold.io/quiet: isolated}}\n"
             "spec: {containers: [{name: c, resources: {limits: {cpu: 1, memory: 64Mi}}}]}\n");
  for (const char* const input : {"quiet.yaml", "- <quiet.yaml"}) {
    const Outcome admitted = pinfold(fmt::format("admit --no-enforce {}", input));
    EXPECT_EQ(admitted.status, 0) << admitted.err;
    EXPECT_THAT(admitted.err, HasSubstr("pod 'default/rt': its annotation pinfold.io/quiet has no "
                                        "effect: only the service's NRI plugin reads it"));
  }
  EXPECT_THAT(pinfold("admit --no-enforce pod.yaml").err, Not(HasSubstr("annotation")));
}

TEST_F(QuietCommands, WhoNamesASchedulerThatIsLoaded) {
  const test::KubeletTree tree;
  const auto who = [&] {
    return run_shell(
        fmt::format("cd '{}' && env -i LANG=C.UTF-8 '{}' who 2 --no-enforce "
                    "--state-dir none --insecure-state-dir --sysfs '{}'",
                    dir_.path(), PINFOLD_COMMAND, tree.path()));
  };
  const auto write = [&](const std::string& name, const std::string& text) {
    const auto file = std::filesystem::path(tree.path()) / "sys/kernel/sched_ext" / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  std::filesystem::create_directory(dir_ / "none");
  const Outcome without = who();
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_THAT(without.out, Not(HasSubstr("Scheduler")));
  write("state", "disabled\n");
  EXPECT_THAT(who().out, Not(HasSubstr("Scheduler")));
  write("state", "enabled\n");
  EXPECT_THAT(who().out, HasSubstr("Scheduler: unknown (sched_ext), which moves threads"));
  write("root/ops", "rusty\n");
  EXPECT_THAT(who().out, HasSubstr("\nScheduler: rusty (sched_ext), which moves threads within "
                                   "their CPUs itself\n"));
}

}  // namespace
}  // namespace pinfold
