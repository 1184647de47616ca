#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include "child.hpp"
#include "fake_service.hpp"
#include "hook_run.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/checkpoint/snapshot.hpp"
#include "pinfold/socket/protocol.hpp"
#include "run_program.hpp"
#include "serve_world.hpp"
#include "temp_dir.hpp"
#include "unix_listener.hpp"

/// The program, as a runtime runs it. The cgroups are plain files; a write to cpuset.cpus takes
/// effect.
namespace pinfold::gate {
namespace {

using testing::HasSubstr;

constexpr const char* kState =
    R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"u":{"main":"2-3"},)"
    R"("v":{"main":"4-5"}},"checksum":1})";

class GateProgram : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream in(fmt::format("/proc/{}/cgroup", child_.pid()));
    for (std::string line; std::getline(in, line);) {
      const std::size_t v1 = line.find(":cpuset:");
      if (v1 != line.npos) use_group("/cpuset" + line.substr(v1 + 8), "cpuset.effective_cpus");
      if (line.starts_with("0::")) use_group(line.substr(3), "cpuset.cpus.effective");
      if (v1 != line.npos) break;
    }
    ASSERT_FALSE(group_.empty()) << "no cpuset in /proc/PID/cgroup";
  }
  void use_group(const std::string& directory, const std::string& effective) {
    group_ = directory;
    dir_.write(cgroup("cpuset.cpus"), "0-7");
    dir_.remove(cgroup(effective));
    std::filesystem::create_symlink("cpuset.cpus", dir_ / cgroup(effective));
  }

  [[nodiscard]] std::string cgroup(const std::string& file) const {
    return "cgroup" + group_ + "/" + file;
  }
  void set_cpus(const std::string& cpus) const { dir_.write(cgroup("cpuset.cpus"), cpus + "\n"); }
  [[nodiscard]] std::string cpus() const {
    return read_file(dir_ / cgroup("cpuset.cpus")).value_or("none");
  }
  void publish() {
    checkpoint::Files files;
    files.cpu = kState;
    writer_.publish(files);
  }
  /// The container "main" of a pod with this uid.
  [[nodiscard]] std::string pod(const std::string& uid, const std::string& more = "") const {
    return fmt::format(
        R"({{"id":"c","status":"created","pid":{},"annotations":{{)"
        R"("io.kubernetes.pod.uid":"{}","io.kubernetes.pod.namespace":"default",)"
        R"("io.kubernetes.pod.name":"web","io.kubernetes.container.name":"main"{}}}}})",
        child_.pid(), uid, more);
  }
  [[nodiscard]] std::string asking() const {
    return pod("new", R"(,"io.pinfold.cpu":"2","io.pinfold.memory":"1Gi")");
  }
  [[nodiscard]] std::string command(const std::string& options) const {
    return fmt::format("{} --state-dir {} --socket {} --cgroup-mount {} --time-limit-ms 300 {}",
                       PINFOLD_GATE, dir_.path(), dir_ / "sock", dir_ / "cgroup", options);
  }
  [[nodiscard]] test::Outcome run(const std::string& state, const std::string& options = "") const {
    dir_.write("state", state);
    return test::run_shell(command(options) + " < " + (dir_ / "state"));
  }
  /// Runs the program `count` times at once. Status 0: each run has let the container pass.
  [[nodiscard]] test::Outcome run_together(int count) const {
    dir_.write("state", pod("u"));
    const std::string line = command("--time-limit-ms 60000") + " < " + (dir_ / "state");
    return test::run_shell(
        fmt::format("for i in $(seq {}); do {{ {}; }} 2> /dev/null & pids=\"$pids $!\"; done; "
                    "for pid in $pids; do wait $pid || exit 1; done",
                    count, line));
  }
  /// Handles Adopt like a service: sets the CPUs of the group.
  [[nodiscard]] FakeService::Serve adopting(const std::string& to) const {
    return [this, to](int connection) {
      const std::string hello = receive_line(connection);
      if (hello.empty()) return;
      EXPECT_TRUE(socket::decode_hello_request(hello));
      send_line(connection, R"({"hello":{)" + std::string(100'000, ' ') + "}}");
      const std::string request = receive_line(connection);
      if (request.empty()) return;  // its time limit has passed
      const auto call = socket::decode_call(request);
      ASSERT_TRUE(call) << call.error().message;
      const auto& adopt = std::get<verbs::Adopt>(call->action);
      EXPECT_EQ(adopt.adoption.directory, (dir_ / "cgroup") + group_);
      set_cpus(to);
      send_line(connection, socket::encode(Result<verbs::Answer>(agent::ChangeOutcome{})));
    };
  }

  test::TempDir dir_;
  test::Child child_;
  std::string group_;
  checkpoint::SnapshotWriter writer_{dir_.path()};
};

TEST_F(GateProgram, LetsAPlacedContainerPass) {
  publish();
  set_cpus("2-3");
  const auto outcome = run(pod("u"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("of pod 'default/web' is placed; CPUs 2-3; "));
}

TEST_F(GateProgram, OthersPassAtOnceWithoutAnythingOfPinfold) {
  for (const std::string& state :
       {pod(""), pod("x"), pod("x", R"(,"io.kubernetes.cri-o.ContainerType":"sandbox")"),
        std::string(R"({"id":"c","pid":1})")}) {
    const auto outcome = run(state, "--time-limit-ms 60000");
    EXPECT_EQ(outcome.status, 0) << state << outcome.err;
  }
}

TEST_F(GateProgram, RefusesOneThatAsksWhenNothingOfPinfoldRuns) {
  const auto outcome = run(asking());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("is unplaced, so it is refused"));
}

TEST_F(GateProgram, TheModeDecidesWhatHappensToAnUnplacedContainer) {
  publish();
  for (const auto& [options, status, expected] :
       {std::tuple("", 1, "0-7"), std::tuple("--unplaced confine", 0, "0-1,6-7"),
        std::tuple("--unplaced allow", 0, "0-7"),
        std::tuple("--unplaced-in default=allow", 0, "0-7"),
        std::tuple("--exempt default/web", 0, "0-7")}) {
    set_cpus("0-7");
    const auto outcome = run(pod("x"), options);
    EXPECT_EQ(outcome.status, status) << options << outcome.err;
    EXPECT_THAT(cpus(), testing::StartsWith(expected)) << options;
  }
}

TEST_F(GateProgram, ConfinesOneToItsOwnCpusIfTheyAreDecided) {
  publish();
  const auto outcome = run(pod("u"), "--unplaced confine");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(cpus(), testing::StartsWith("2-3"));
}

TEST_F(GateProgram, RefusesOneThatCannotBeConfined) {
  publish();
  set_cpus("4-5");
  const auto outcome = run(pod("x"), "--unplaced confine");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("all its CPUs are exclusive to others"));
}

TEST_F(GateProgram, ConfinesNoneWithoutASnapshot) {
  const auto outcome = run(asking(), "--unplaced confine");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("there is no snapshot, so the shared pool is unknown"));
  EXPECT_THAT(cpus(), testing::StartsWith("0-7"));
}

TEST_F(GateProgram, HasTheServicePlaceIt) {
  publish();
  const FakeService service(dir_ / "sock", adopting("2-3"));
  const auto outcome = run(pod("u"), "--time-limit-ms 60000");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("is placed; CPUs 2-3;"));
}

TEST_F(GateProgram, BelievesTheKernelAndNotTheService) {
  publish();
  const FakeService service(dir_ / "sock", adopting("2-4"));
  EXPECT_EQ(run(pod("u")).status, 1);
}

TEST_F(GateProgram, WithoutASnapshotTheServiceAnswers) {  // as after a full disk
  const FakeService service(dir_ / "sock", adopting("2-3"));
  EXPECT_EQ(run(asking(), "--time-limit-ms 60000").status, 0);
}

TEST_F(GateProgram, WaitsForAServiceThatRestarts) {
  publish();
  std::optional<FakeService> service;
  std::thread restart([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    service.emplace(dir_ / "sock", adopting("2-3"));
  });
  const auto outcome = run(pod("u"), "--time-limit-ms 60000");
  restart.join();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(GateProgram, AHangingServiceDoesNotHoldIt) {
  publish();
  const test::UnixListener silent(dir_ / "sock");
  EXPECT_EQ(run(pod("u")).status, 1);
  set_cpus("2-3");
  EXPECT_EQ(run(pod("u")).status, 0);
}

/// The alarm terminates the program, whose standard input never ends.
TEST_F(GateProgram, ARuntimeThatHangsDoesNotHoldIt) {
  const std::string fifo = dir_ / "fifo";
  const auto outcome = test::run_shell("mkfifo " + fifo + " && " + command("") + " <> " + fifo);
  EXPECT_EQ(outcome.status, 128 + SIGALRM) << outcome.err;
}

TEST_F(GateProgram, AHostileServiceDoesNotHoldOrMisleadIt) {
  publish();
  const std::vector<std::string> answers = {"",
                                            "\n\n",
                                            "{}\n{}\n",
                                            "{\"error\":{}}\n{\"error\":{\"code\":2}}\n",
                                            std::string(300'000, 'x'),
                                            std::string(5000, '\n'),
                                            std::string("\0\n\xff\n", 4)};
  for (const std::string& answer : answers) {
    const FakeService service(dir_ / "sock", [&](int connection) {
      (void)receive_line(connection);
      (void)::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    });
    const auto outcome = run(pod("u"));
    EXPECT_EQ(outcome.status, 1) << answer.substr(0, 20) << outcome.err;
    dir_.remove("sock");
  }
}

TEST_F(GateProgram, AContainerThatEndsMeanwhilePasses) {
  publish();
  std::thread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    child_.kill();
    child_.reap();
  });
  const auto outcome = run(pod("u"), "--time-limit-ms 60000");
  end.join();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("has ended"));
}

TEST_F(GateProgram, AFullDiskDoesNotStopIt) {
  publish();
  set_cpus("2-3");
  EXPECT_EQ(run(pod("u"), "--log /dev/full 2> /dev/full").status, 0);
}

TEST_F(GateProgram, AppendsOneLineToItsLog) {
  publish();
  set_cpus("2-3");
  dir_.write("log", "first\n");
  EXPECT_EQ(run(pod("u"), "--log " + (dir_ / "log")).status, 0);
  const std::string log = read_file(dir_ / "log").value();
  EXPECT_THAT(log, testing::StartsWith("first\npinfold-gate: container 'main' (c) of pod "));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
}

TEST_F(GateProgram, DoesNotTrustASnapshotThatOthersCanWrite) {
  publish();
  std::filesystem::permissions(dir_ / ".pinfold_snapshot", std::filesystem::perms::all);
  set_cpus("2-3");
  EXPECT_EQ(run(asking()).status, 1);
}

TEST_F(GateProgram, RefusesWhatIsNoState) {
  for (const std::string& state : {std::string(), std::string("{"), std::string(2 << 20U, ' ')}) {
    const auto outcome = run(state);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, HasSubstr("standard input: expected the state of an OCI hook"));
  }
  EXPECT_THAT(run(pod("u"), "--stat-dir /x").err, HasSubstr("--stat-dir: expected an option"));
}

TEST_F(GateProgram, TheAuthorOfAPodCannotFakeWhatPassesUnchecked) {
  publish();
  const std::string container = R"(,"io.kubernetes.cri-o.ContainerType":"container")";
  for (const char* const faked : {R"(,"io.kubernetes.cri.container-type":"sandbox")",
                                  R"(,"io.kubernetes.cri.sandbox-namespace":"kube-system")"}) {
    const auto outcome = run(pod("x", container + faked), "--exempt kube-system");
    EXPECT_EQ(outcome.status, 1) << faked;
    EXPECT_THAT(outcome.err, HasSubstr("containerd and of CRI-O contradict each other")) << faked;
  }
}

TEST_F(GateProgram, FiveHundredPassTogether) {
  publish();
  set_cpus("2-3");
  const test::UnixListener silent(dir_ / "sock");
  const auto outcome = run_together(500);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(GateProgram, SeveralThatNeedTheServiceDoNotHoldEachOther) {
  publish();
  const FakeService service(dir_ / "sock", adopting("2-3"));
  const auto outcome = run_together(8);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

/// The group of each has an exclusive CPU of another container, and the service writes no cpuset.
TEST_F(GateProgram, FiveHundredThatNeedARealServiceEndInTime) {
  constexpr int kLimit = 5;  // seconds, as is kLate
  constexpr int kLate = 2;
  test::Node node;
  ASSERT_NO_FATAL_FAILURE(node.serve());
  ASSERT_EQ(node.pinfold(test::with_options("admit web.yaml")).status, 0);
  set_cpus("0-3");
  dir_.write("state", pod("x"));
  std::istringstream line(
      command(fmt::format("--state-dir {0}/state --socket {0}/s.sock "
                          "--time-limit-ms {1}",
                          node.dir().path(), kLimit * 1000)));
  const std::vector<std::string> words(std::istream_iterator<std::string>(line), {});
  std::vector<HookRun> runs(500);
  std::vector<std::thread> threads;
  threads.reserve(runs.size());
  for (HookRun& run : runs) {
    threads.emplace_back([&] { run = run_hook(words, dir_ / "state"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const HookRun& run : runs) {
    ASSERT_EQ(run.exit_status, 1);
    ASSERT_GT(run.wall, kLimit - 0.01);  // its clock has milliseconds
    ASSERT_LT(run.wall, kLimit + kLate);
  }
  EXPECT_EQ(node.pinfold(test::with_options("status")).status, 0) << "the service still answers";
  EXPECT_EQ(node.end(SIGTERM), 0);
}

TEST(GateFile, IsSmall) {
  if (!PINFOLD_GATE_HAS_MUSL) GTEST_SKIP() << "built with glibc: needs the package musl-dev";
  constexpr std::uintmax_t kMost = 200'000;
  const test::TempDir dir;
  const std::string stripped = dir / "gate";
  ASSERT_EQ(test::run_shell("strip -o " + stripped + " " PINFOLD_GATE).status, 0);
  EXPECT_LT(std::filesystem::file_size(stripped), kMost);
}

TEST(GateFile, HasNoAllocator) {
  if (!PINFOLD_GATE_HAS_MUSL) GTEST_SKIP() << "glibc allocates at its start: needs musl-dev";
  const auto symbols = test::run_shell("nm " PINFOLD_GATE);
  EXPECT_THAT(symbols.out, HasSubstr(" T main\n"));
  for (const char* const name : {"malloc", "calloc", "realloc", "brk", "_Znwm"}) {
    EXPECT_THAT(symbols.out, testing::Not(testing::ContainsRegex(std::string(" ") + name + "\n")));
  }
}

}  // namespace
}  // namespace pinfold::gate
