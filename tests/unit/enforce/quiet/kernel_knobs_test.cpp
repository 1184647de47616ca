#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include "irqbalance.hpp"
#include "pinfold/quiet/knob_store.hpp"
#include "temp_dir.hpp"
#include "unix_listener.hpp"

namespace pinfold::quiet {
namespace {

class KernelKnobsTest : public testing::Test {
 protected:
  KnobValues read(KnobKind kind) {
    KnobValues values;
    const auto read = kernel_knobs(dir_.path())->read(kind, values);
    EXPECT_TRUE(read) << read.error().message;
    return values;
  }
  Result<void> write(const Knob& knob, const std::string& value) {
    return kernel_knobs(dir_.path())->write(knob, value);
  }
  std::string text_of(const std::string& name) {
    std::ifstream file(dir_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  test::TempDir dir_;
};

TEST_F(KernelKnobsTest, ReadInterrupts) {
  dir_.write("proc/irq/24/smp_affinity_list", "0-7\n");
  dir_.write("proc/irq/0/spurious", "");  // has no affinity
  dir_.write("proc/irq/default_smp_affinity", "ff\n");
  EXPECT_EQ(read(KnobKind::kInterrupt), (KnobValues{{{KnobKind::kInterrupt, "24"}, "0-7"}}));
  EXPECT_EQ(read(KnobKind::kNewInterrupts), (KnobValues{{{KnobKind::kNewInterrupts, ""}, "ff"}}));
}

/// Lowers the limit of file descriptors during its lifetime.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t most) {
    (void)::getrlimit(RLIMIT_NOFILE, &before_);
    const struct rlimit few { most, before_.rlim_max };
    (void)::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  struct rlimit before_ {};
};

TEST_F(KernelKnobsTest, KeepInterruptsOpenWithinHalfOfTheLimit) {
  constexpr int kInterrupts = 100;
  for (int irq = 0; irq < kInterrupts; ++irq) {
    dir_.write("proc/irq/" + std::to_string(irq) + "/smp_affinity_list", "0-7\n");
  }
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const FewDescriptors few(80);
  const auto before = descriptors();
  {
    const auto knobs = kernel_knobs(dir_.path());
    KnobValues values;
    ASSERT_TRUE(knobs->read(KnobKind::kInterrupt, values));
    EXPECT_EQ(values.size(), static_cast<std::size_t>(kInterrupts));
    EXPECT_EQ(descriptors(), before + 40);
    for (const auto& [knob, value] : values) {
      EXPECT_EQ(value, "0-7");
      ASSERT_TRUE(knobs->write(knob, "0-3"));
      EXPECT_EQ(knobs->read_one(knob), "0-3");
    }
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(text_of("proc/irq/99/smp_affinity_list"), "0-3\n");
}

TEST_F(KernelKnobsTest, PreparedReadWhatTheFilesHaveThen) {
  dir_.write("proc/irq/24/smp_affinity_list", "0-7\n");
  dir_.write("sys/class/net/eth0/device/vendor", "");
  dir_.write("sys/class/net/eth0/queues/rx-0/rps_cpus", "00\n");
  dir_.write("sys/class/net/eth0/queues/tx-0/xps_cpus", "00\n");
  const Knob receive{KnobKind::kReceive, "eth0/rx-0"};
  const auto knobs = kernel_knobs(dir_.path());
  knobs->prepare();
  dir_.write("proc/irq/24/smp_affinity_list", "0-3\n");
  dir_.write("proc/irq/25/smp_affinity_list", "5\n");
  dir_.write("sys/class/net/eth0/queues/rx-0/rps_cpus", "0f\n");
  std::filesystem::remove_all(dir_ / "sys/class/net/eth0/queues/tx-0");
  KnobValues values;
  for (const KnobKind kind : {KnobKind::kInterrupt, KnobKind::kReceive, KnobKind::kTransmit}) {
    ASSERT_TRUE(knobs->read(kind, values));
  }
  EXPECT_EQ(values, (KnobValues{{{KnobKind::kInterrupt, "24"}, "0-3"},
                                {{KnobKind::kInterrupt, "25"}, "5"},
                                {receive, "0f"}}));
  ASSERT_TRUE(knobs->write(receive, "07"));
  EXPECT_EQ(text_of("sys/class/net/eth0/queues/rx-0/rps_cpus"), "07\n");
}

TEST_F(KernelKnobsTest, ReadALongListOfAnInterrupt) {
  std::string list = "0";
  for (int cpu = 2; cpu < 1024; cpu += 2) list += "," + std::to_string(cpu);
  dir_.write("proc/irq/24/smp_affinity_list", list + "\n");
  EXPECT_EQ(read(KnobKind::kInterrupt), (KnobValues{{{KnobKind::kInterrupt, "24"}, list}}));
}

TEST_F(KernelKnobsTest, ReadQueuesOfHardware) {
  dir_.write("sys/class/net/eth0/device/vendor", "0x8086");
  dir_.write("sys/class/net/eth0/queues/rx-0/rps_cpus", "0f\n");
  dir_.write("sys/class/net/eth0/queues/tx-0/xps_cpus", "03\n");
  dir_.write("sys/class/net/veth1/queues/rx-0/rps_cpus", "ff\n");
  EXPECT_EQ(read(KnobKind::kReceive), (KnobValues{{{KnobKind::kReceive, "eth0/rx-0"}, "0f"}}));
  EXPECT_EQ(read(KnobKind::kTransmit), (KnobValues{{{KnobKind::kTransmit, "eth0/tx-0"}, "03"}}));
}

TEST_F(KernelKnobsTest, ReadWorkqueues) {
  dir_.write("sys/devices/virtual/workqueue/cpumask", "ff\n");
  dir_.write("sys/devices/virtual/workqueue/writeback/cpumask", "0f\n");
  dir_.write("sys/devices/virtual/workqueue/bound/per_cpu", "1\n");
  EXPECT_EQ(read(KnobKind::kWorkqueue), (KnobValues{{{KnobKind::kWorkqueue, "*"}, "ff"},
                                                    {{KnobKind::kWorkqueue, "writeback"}, "0f"}}));
}

TEST_F(KernelKnobsTest, ReadWhatWasAskedForOfAllWorkqueues) {
  dir_.write("sys/devices/virtual/workqueue/cpumask", "f1\n");  // without an isolated partition
  dir_.write("sys/devices/virtual/workqueue/cpumask_requested", "ff\n");
  EXPECT_EQ(read(KnobKind::kWorkqueue), (KnobValues{{{KnobKind::kWorkqueue, "*"}, "ff"}}));
  ASSERT_TRUE(write({KnobKind::kWorkqueue, "*"}, "0f"));
  EXPECT_EQ(text_of("sys/devices/virtual/workqueue/cpumask").substr(0, 3), "0f\n");
}

void write_thread(const test::TempDir& dir, const std::string& id, const std::string& name,
                  const std::string& flags) {
  const std::string at = "proc/" + id + "/";
  dir.write(at + "comm", name + "\n");
  dir.write(at + "stat", id + " (" + name + ") S 0 0 0 0 -1 " + flags + " 0 0 0\n");
  dir.write(at + "status", "Name:\t" + name + "\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n");
}

TEST_F(KernelKnobsTest, ReadThreadsThatMayMove) {
  write_thread(dir_, "9", "kswapd0", "2264128");
  write_thread(dir_, "10", "a) b", "2129984");
  write_thread(dir_, "15", "ksoftirqd/2", "69238848");  // PF_NO_SETAFFINITY
  dir_.write("proc/2/task/2/children", "9 10 15 ");
  EXPECT_EQ(read(KnobKind::kKernelThread),
            (KnobValues{{{KnobKind::kKernelThread, "9 kswapd0"}, "0-7"},
                        {{KnobKind::kKernelThread, "10 a) b"}, "0-7"}}));
}

TEST_F(KernelKnobsTest, LeaveThreadsThatWorkForAGroupAlone) {
  for (const char* const id : {"9", "10", "11", "12"}) write_thread(dir_, id, "a", "2129984");
  dir_.write("proc/9/cgroup", "0::/\n");
  dir_.write("proc/10/cgroup", "0::/kubepods/pod1/vm\n");
  dir_.write("proc/11/cgroup", "3:cpuset:/kubepods/vm\n1:name=systemd:/\n");
  dir_.write("proc/12/cgroup", "0::/../..\n");
  dir_.write("proc/2/task/2/children", "9 10 11 12 ");
  EXPECT_EQ(read(KnobKind::kKernelThread),
            (KnobValues{{{KnobKind::kKernelThread, "9 a"}, "0-7"},
                        {{KnobKind::kKernelThread, "12 a"}, "0-7"}}));
}

TEST_F(KernelKnobsTest, ReadUnitsOfVersion2Only) {
  dir_.write("sys/fs/cgroup/system.slice/cpuset.cpus", "\n");
  dir_.write("sys/fs/cgroup/user.slice/cgroup.procs", "");
  dir_.write("sys/fs/cgroup/init.scope/cpuset.cpus", "0-3\n");
  dir_.write("sys/fs/cgroup/pinfold/cpuset.cpus", "0-3\n");
  EXPECT_TRUE(read(KnobKind::kUnit).empty());
  dir_.write("sys/fs/cgroup/cgroup.controllers", "cpuset\n");
  EXPECT_EQ(read(KnobKind::kUnit), (KnobValues{{{KnobKind::kUnit, "init.scope"}, "0-3"},
                                               {{KnobKind::kUnit, "system.slice"}, ""},
                                               {{KnobKind::kUnit, "user.slice"}, ""}}));
}

TEST_F(KernelKnobsTest, IsolateACgroup) {
  const Knob list{KnobKind::kExclusive, "/sys/fs/cgroup/c"};
  const Knob partition{KnobKind::kPartition, "/sys/fs/cgroup/c"};
  EXPECT_EQ(kernel_knobs(dir_.path())->read_one(partition).error().code, ErrorCode::kNotFound);
  dir_.write("sys/fs/cgroup/c/cpuset.cpus.exclusive", "\n");
  dir_.write("sys/fs/cgroup/c/cpuset.cpus.partition", "isolated invalid (Parent)\n");
  EXPECT_EQ(kernel_knobs(dir_.path())->read_one(list), "");
  EXPECT_EQ(kernel_knobs(dir_.path())->read_one(partition), "member");
  dir_.write("sys/fs/cgroup/c/cpuset.cpus.partition", "");
  ASSERT_TRUE(write(list, "2-3"));
  ASSERT_TRUE(write(partition, "isolated"));
  EXPECT_EQ(text_of("sys/fs/cgroup/c/cpuset.cpus.exclusive").substr(0, 4), "2-3\n");
  EXPECT_EQ(text_of("sys/fs/cgroup/c/cpuset.cpus.partition"), "isolated\n");
}

TEST_F(KernelKnobsTest, WriteFiles) {
  dir_.write("proc/irq/24/smp_affinity_list", "0-7\n");
  ASSERT_TRUE(write({KnobKind::kInterrupt, "24"}, "0-1"));
  EXPECT_EQ(text_of("proc/irq/24/smp_affinity_list").substr(0, 4), "0-1\n");
}

TEST_F(KernelKnobsTest, ReadWhereInterruptsAreSent) {
  const Knob irq{KnobKind::kInterrupt, "0"};
  dir_.write("proc/irq/0/smp_affinity_list", "0-7\n");
  EXPECT_EQ(kernel_knobs(dir_.path())->read_effective(irq), "0-7");
  dir_.write("proc/irq/0/effective_affinity_list", "0\n");
  EXPECT_EQ(kernel_knobs(dir_.path())->read_effective(irq), "0");
}

TEST_F(KernelKnobsTest, NameTheFileThatIsMissing) {
  const auto written = write({KnobKind::kInterrupt, "99"}, "0-1");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kNotFound);
  EXPECT_NE(written.error().message.find("/proc/irq/99/smp_affinity_list"), std::string::npos);
}

TEST_F(KernelKnobsTest, AreNoneWithoutIrqbalance) {
  EXPECT_TRUE(read(KnobKind::kIrqbalance).empty());
  const auto written = write({KnobKind::kIrqbalance, ""}, "0-1");
  EXPECT_EQ(written.error().code, ErrorCode::kNotFound);
}

UniqueFd accept_client(test::UnixListener& listener) {
  UniqueFd client;
  while (!client) {
    client = listener.accept();
    std::this_thread::yield();
  }
  return client;
}

/// Answers "setup" once.
void answer_setup(const UniqueFd& client) {
  std::array<char, 64> heard{};
  pollfd end{client.get(), POLLIN, 0};
  (void)::poll(&end, 1, -1);
  (void)::recv(client.get(), heard.data(), heard.size(), 0);
  constexpr std::string_view kAnswer = "SLEEP 10 BANNED 0c";
  (void)::send(client.get(), kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
}

TEST_F(KernelKnobsTest, FindTheIrqbalanceThatRunsAmongThoseThatWereKilled) {
  std::filesystem::create_directories(dir_ / "run/irqbalance");
  { const test::UnixListener killed(dir_ / "run/irqbalance/irqbalance1.sock"); }
  EXPECT_TRUE(read(KnobKind::kIrqbalance).empty());
  test::UnixListener listener(dir_ / "run/irqbalance/irqbalance2.sock");
  std::thread irqbalance([&] { answer_setup(accept_client(listener)); });
  EXPECT_EQ(read(KnobKind::kIrqbalance), (KnobValues{{{KnobKind::kIrqbalance, ""}, "2-3"}}));
  irqbalance.join();
}

TEST_F(KernelKnobsTest, DoNotCloseAConnectionThatASlowIrqbalanceWillAnswer) {
  std::filesystem::create_directories(dir_ / "run/irqbalance");
  test::UnixListener listener(dir_ / "run/irqbalance/irqbalance1.sock");
  const auto knobs = kernel_knobs(dir_.path());
  const Knob banned{KnobKind::kIrqbalance, ""};
  EXPECT_EQ(knobs->read_one(banned).error().message, "receive: no answer within 0.2 s");
  EXPECT_EQ(knobs->read_one(banned).error().message, "no answer yet to an earlier question");
  {
    const UniqueFd client = accept_client(listener);
    pollfd closed{client.get(), POLLRDHUP, 0};
    EXPECT_EQ(::poll(&closed, 1, 0), 0) << "irqbalance would end when it answers";
    EXPECT_FALSE(listener.accept()) << "asked again";
    answer_setup(client);
  }
  std::thread irqbalance([&] { answer_setup(accept_client(listener)); });
  EXPECT_EQ(knobs->read_one(banned), "2-3");
  irqbalance.join();
}

TEST_F(KernelKnobsTest, WaitForALateAnswerBeforeTheyEnd) {
  std::filesystem::create_directories(dir_ / "run/irqbalance");
  test::UnixListener listener(dir_ / "run/irqbalance/irqbalance1.sock");
  std::thread irqbalance;
  short after = 0;
  {
    const auto knobs = kernel_knobs(dir_.path());
    EXPECT_FALSE(knobs->read_one({KnobKind::kIrqbalance, ""}));
    irqbalance = std::thread([&] {
      const UniqueFd client = accept_client(listener);
      pollfd closed{client.get(), POLLRDHUP, 0};
      constexpr int kLateMs = 100;
      if (::poll(&closed, 1, kLateMs) > 0) after = closed.revents;
      answer_setup(client);
    });
  }
  irqbalance.join();
  EXPECT_EQ(after, 0) << "it ends while irqbalance still has to answer";
}

TEST_F(KernelKnobsTest, NameAUnitThatCannotBeSetWithoutABus) {
  const auto written = write({KnobKind::kUnit, "system.slice"}, "0-1");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("AllowedCPUs=0-1 of 'system.slice'"), std::string::npos)
      << written.error().message;
}

TEST_F(KernelKnobsTest, DoNotMoveAThreadWhoseIdIsUsedAgain) {
  write_thread(dir_, "9", "other", "2129984");
  const auto written = write({KnobKind::kKernelThread, "9 kswapd0"}, "0-1");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kNotFound);
}

TEST(Irqbalance, SaysWhichCpusAreBanned) {
  EXPECT_EQ(parse_irqbalance_setup("SLEEP 10 BANNED 00000000,0000000c").value(), (CpuSet{2, 3}));
  EXPECT_EQ(parse_irqbalance_setup("SLEEP 10 IRQ 24 LOAD 1 BANNED 0\n").value(), CpuSet{});
  for (const char* const answer : {"", "SLEEP 10", "BANNED ", "BANNED x"}) {
    EXPECT_FALSE(parse_irqbalance_setup(answer)) << answer;
  }
}

}  // namespace
}  // namespace pinfold::quiet
