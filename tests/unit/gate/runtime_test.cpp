#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <thread>

#include "fake_service.hpp"
#include "pinfold/checkpoint/snapshot.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

/// The program as the hook of real runtimes, with this machine's cgroups.
namespace pinfold::gate {
namespace {

using testing::HasSubstr;

int last_cpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  (void)::sched_getaffinity(0, sizeof cpus, &cpus);
  int last = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &cpus)) last = cpu;
  }
  return last;
}

class GateRuntime : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (last_cpu() == 0) GTEST_SKIP() << "this machine has one CPU";
    make_root();
    checkpoint::Files files;
    files.cpu = fmt::format(
        R"({{"policyName":"static","defaultCpuSet":"0","entries":{{"u":{{"main":"{}"}}}},"checksum":1}})",
        last_cpu());
    writer_.publish(files);
    write_bundle("null");
    const auto control = run();
    if (control.status != 0) {
      GTEST_SKIP() << GetParam()
                   << " starts no container here, even without the gate: " << control.err;
    }
    ASSERT_EQ(ran_on(), everywhere()) << "the control must run unplaced";
  }
  void TearDown() override {
    (void)test::run_shell("find /sys/fs/cgroup -depth -type d -path '*" + group_ +
                          "*' -exec rmdir {} +");
  }

  void make_root() const {
    std::filesystem::create_directories(dir_ / "b/rootfs/bin");
    std::filesystem::create_directories(dir_ / "b/rootfs/proc");
    std::filesystem::create_directories(dir_ / "b/rootfs/dev");
    (void)test::run_shell("cd " + (dir_ / "b/rootfs/bin") +
                          " && cp /bin/busybox . && ln -s busybox sh && ln -s busybox grep");
  }
  void write_bundle(const std::string& hook) const {
    dir_.write(
        "b/config.json",
        fmt::format(R"({{"ociVersion":"1.0.2","process":{{"user":{{"uid":0,"gid":0}},"cwd":"/",
"args":["/bin/sh","-c","grep Cpus_allowed_list /proc/self/status >/ran"],"env":["PATH=/bin"]}},
"root":{{"path":"rootfs"}},"mounts":[{{"destination":"/proc","type":"proc","source":"proc"}},
{{"destination":"/dev","type":"tmpfs","source":"tmpfs"}}],"hooks":{{"createRuntime":{}}},
"annotations":{{"io.kubernetes.pod.uid":"u","io.kubernetes.pod.namespace":"default",
"io.kubernetes.pod.name":"web","io.kubernetes.container.name":"main"}},
"linux":{{"cgroupsPath":"{}/c","namespaces":[{{"type":"pid"}},{{"type":"mount"}}]}}}})",
                    hook, group_));
    dir_.remove("b/rootfs/ran");
  }
  void use_gate(const std::string& unplaced, int time_limit_ms = 300) const {
    write_bundle(fmt::format(
        R"([{{"path":"{}","timeout":65,"args":["pinfold-gate","--state-dir","{}","--socket","{}",
"--time-limit-ms","{}","--unplaced","{}"]}}])",
        PINFOLD_GATE, dir_.path(), dir_ / "sock", time_limit_ms, unplaced));
  }
  /// crun does not support machines with both cgroup versions, so cgroup v2 is unmounted for it.
  [[nodiscard]] test::Outcome run() const {
    return test::run_shell(
        fmt::format("PATH=$PATH:/usr/sbin; unshare -m sh -c 'umount /sys/fs/cgroup/unified "
                    "2>/dev/null; {} --root {} run --no-pivot -b {} {}'",
                    GetParam(), dir_ / "runtime", dir_ / "b", group_.substr(1)));
  }
  [[nodiscard]] std::string ran_on() const {
    std::ifstream in(dir_ / "b/rootfs/ran");
    std::string key;
    std::string cpus;
    in >> key >> cpus;
    return cpus;
  }
  static std::string everywhere() {
    std::ifstream in("/proc/self/status");
    for (std::string word; in >> word;) {
      if (word == "Cpus_allowed_list:" && in >> word) return word;
    }
    return "unknown";
  }
  /// Writes the CPUs of the container's group, as the service does before its answer.
  void place() const {
    (void)test::run_shell(fmt::format(
        "for f in $(find /sys/fs/cgroup -path '*{}/c/cpuset.cpus'); do echo {} >$f; done", group_,
        last_cpu()));
  }

  test::TempDir dir_{std::filesystem::temp_directory_path()};
  std::string group_ = fmt::format("/pinfold-gate-{}", ::getpid());
  checkpoint::SnapshotWriter writer_{dir_.path()};
};

TEST_P(GateRuntime, RefusesAnUnplacedContainerBeforeItsFirstInstruction) {
  use_gate("refuse");
  EXPECT_NE(run().status, 0);
  EXPECT_EQ(ran_on(), "");
}

TEST_P(GateRuntime, ConfinesItBeforeItsFirstInstruction) {
  use_gate("confine");
  const auto outcome = run();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(ran_on(), std::to_string(last_cpu()));
}

TEST_P(GateRuntime, StartsItOnceTheServiceIsBack) {
  use_gate("refuse", 60'000);
  std::optional<FakeService> service;
  std::thread restart([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    service.emplace(dir_ / "sock", [this](int connection) {
      if (receive_line(connection).empty()) return;
      send_line(connection, R"({"hello":{}})");
      if (receive_line(connection).empty()) return;
      place();
      send_line(connection, R"({"adopted":{}})");
    });
  });
  const auto outcome = run();
  restart.join();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(ran_on(), std::to_string(last_cpu()));
}

INSTANTIATE_TEST_SUITE_P(Each, GateRuntime, testing::Values("runc", "crun"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace pinfold::gate
