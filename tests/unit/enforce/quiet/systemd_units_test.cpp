#include "systemd_units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "partition_file.hpp"
#include "pinfold/quiet/knob_store.hpp"
#include "temp_dir.hpp"
#include "unix_listener.hpp"

namespace pinfold::quiet {
namespace {

/// A reply to the call with this serial; an error unless `error` is empty.
std::string answer_to(char serial, const std::string& error) {
  std::string fields{'\5', '\1', 'u', '\0', serial, '\0', '\0', '\0'};
  if (!error.empty()) {
    fields += std::string{'\4', '\1', 's', '\0', static_cast<char>(error.size()), '\0', '\0', '\0'};
    fields += error + '\0';
  }
  std::string message{'l', '\2', '\1', '\1', '\0', '\0', '\0', '\0', '\7', '\0', '\0', '\0'};
  message += static_cast<char>(fields.size());
  message += std::string(3, '\0') + fields;
  message.resize((message.size() + 7) / 8 * 8);
  return message;
}

/// A bus with a systemd that replies to each call, and then calls `write`.
class FakeBus {
 public:
  FakeBus(
      const std::string& socket, std::string error, std::function<void()> write = [] {})
      : listener_(socket),
        error_(std::move(error)),
        write_(std::move(write)),
        thread_([this] { serve(); }) {}
  FakeBus(const FakeBus&) = delete;
  FakeBus& operator=(const FakeBus&) = delete;
  ~FakeBus() { thread_.join(); }

 private:
  void serve() {
    UniqueFd client;
    while (!client) {
      client = listener_.accept();
      std::this_thread::yield();
    }
    for (std::string heard = hear(client.get()); !heard.empty(); heard = hear(client.get())) {
      if (heard.find("AUTH") != std::string::npos) say(client.get(), "OK 1234\r\n");
      // Each client also gets signals, which are not replies.
      if (heard.find("Hello") != std::string::npos) {
        say(client.get(), answer_to('\0', "") + answer_to('\1', ""));
      }
      if (heard.find("SetUnit") != std::string::npos) {
        say(client.get(), answer_to('\2', error_));
        write_();
      }
    }
  }
  static std::string hear(int client) {
    pollfd end{client, POLLIN, 0};
    (void)::poll(&end, 1, -1);
    std::array<char, 4096> bytes{};
    const ssize_t size = ::recv(client, bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
  static void say(int client, const std::string& text) {
    (void)::send(client, text.data(), text.size(), MSG_NOSIGNAL);
  }

  test::UnixListener listener_;
  std::string error_;
  std::function<void()> write_;
  std::thread thread_;
};

class SystemdUnits : public testing::Test {
 protected:
  SystemdUnits() {
    std::filesystem::create_directories(dir_ / "run/dbus");
    dir_.write(kFile, "0-3\n");
  }
  Result<void> write(const CpuSet& cpus, const std::string& error = "") {
    const FakeBus bus(dir_ / "run/dbus/system_bus_socket", error);
    return write_unit_cpus(dir_.path(), "system.slice", cpus);
  }
  [[nodiscard]] std::string cpus_in_file() const {
    std::ifstream file(dir_ / kFile);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static constexpr const char* kFile = "sys/fs/cgroup/system.slice/cpuset.cpus";
  test::TempDir dir_;
};

TEST_F(SystemdUnits, AreSetThroughTheBus) {
  const auto written = write(CpuSet{0, 1});
  EXPECT_TRUE(written) << written.error().message;
  EXPECT_EQ(cpus_in_file(), "0-3\n") << "systemd writes it";
}

TEST_F(SystemdUnits, AreClearedInTheKernelToo) {
  const auto written = write({});
  EXPECT_TRUE(written) << written.error().message;
  EXPECT_EQ(cpus_in_file().substr(0, 1), "\n") << "systemd leaves it as it was";
}

TEST_F(SystemdUnits, HaveEveryCpuWhereTheKernelRefusesToClear) {
  dir_.remove(kFile);
  std::filesystem::create_symlink("/dev/full", dir_ / kFile);  // as Linux 6: ENOSPC
  dir_.write("sys/devices/system/cpu/possible", "0-7\n");
  const auto written = write({});
  ASSERT_FALSE(written) << "every CPU is refused as well here, which shows that it was written";
  EXPECT_THAT(written.error().message, testing::StartsWith("write '0-7' to "));
}

TEST_F(SystemdUnits, WithEveryPossibleCpuHaveNoSetting) {
  dir_.write("sys/devices/system/cpu/possible", "0-3\n");
  EXPECT_EQ(read_unit_cpus(dir_.path(), "system.slice"), "");
  dir_.write("sys/devices/system/cpu/possible", "0-4\n");
  EXPECT_EQ(read_unit_cpus(dir_.path(), "system.slice"), "0-3");
  dir_.write(kFile, "\n");
  EXPECT_EQ(read_unit_cpus(dir_.path(), "system.slice"), "");
}

TEST_F(SystemdUnits, NameWhatSystemdRefuses) {
  const auto written = write(CpuSet{0}, "org.freedesktop.DBus.Error.AccessDenied");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(written.error().message,
            "systemd: set AllowedCPUs=0 of 'system.slice': refused: "
            "org.freedesktop.DBus.Error.AccessDenied");
}

/// A start, or a reconciliation, waits for it once, not once for each unit.
TEST_F(SystemdUnits, AreNotSetAgainByASystemdThatDoesNotAnswer) {
  for (const char* const unit : {"init.scope", "system.slice", "user.slice"}) {
    dir_.write(std::string("sys/fs/cgroup/") + unit + "/cpuset.cpus", "\n");
  }
  dir_.write("sys/fs/cgroup/cgroup.controllers", "cpuset\n");
  const test::UnixListener silent(dir_ / "run/dbus/system_bus_socket");
  const auto knobs = kernel_knobs(dir_.path());
  for (int reconciliation = 0; reconciliation < 2; ++reconciliation) {
    KnobValues values;
    ASSERT_TRUE(knobs->read(KnobKind::kUnit, values));
    ASSERT_EQ(values.size(), 3U);
    std::string messages;
    for (const auto& [knob, value] : values) {
      const auto written = knobs->write(knob, "0-1");
      ASSERT_FALSE(written);
      EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
      messages += written.error().message + "\n";
    }
    EXPECT_EQ(messages,
              "systemd: set AllowedCPUs=0-1 of 'init.scope': receive: no answer within 0.2 s\n"
              "systemd: AllowedCPUs=0-1 of 'system.slice' is not set, because systemd has not "
              "answered for 'init.scope': the next reconciliation asks again\n"
              "systemd: AllowedCPUs=0-1 of 'user.slice' is not set, because systemd has not "
              "answered for 'init.scope': the next reconciliation asks again\n");
    EXPECT_TRUE(silent.accept());
    EXPECT_FALSE(silent.accept()) << reconciliation;
  }
}

TEST_F(SystemdUnits, AreAllAskedForIfSystemdOnlyRefuses) {
  dir_.write("sys/fs/cgroup/cgroup.controllers", "cpuset\n");
  const auto knobs = kernel_knobs(dir_.path());
  for (int i = 0; i < 2; ++i) {
    const FakeBus bus(dir_ / "run/dbus/system_bus_socket", "Refused");
    const auto written = knobs->write({KnobKind::kUnit, "system.slice"}, "0");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message,
              "systemd: set AllowedCPUs=0 of 'system.slice': refused: Refused");
    std::filesystem::remove(dir_ / "run/dbus/system_bus_socket");
  }
}

/// A container's group with a kernel that isolates it, unless systemd or nothing writes.
class UnitPartition : public testing::Test {
 protected:
  UnitPartition() {
    std::filesystem::create_directories(dir_ / "run/dbus");
    dir_.write(kFile, "member\n");
    dir_.write("sys/fs/cgroup/pods.slice/a.scope/cpuset.cpus", "2-3\n");
  }
  /// `error`: the reply of a systemd before 261; "": a later one, which writes `value`.
  Result<void> write(const std::string& value, const std::string& error) {
    const FakeBus bus(dir_ / "run/dbus/system_bus_socket", error, [this, value, error] {
      if (!error.empty()) return;
      dir_.write("new", value + "\n");
      std::filesystem::rename(dir_ / "new", dir_ / kFile);  // atomically, as in the kernel
    });
    return writer_.write(kGroup, "isolated");
  }
  [[nodiscard]] std::string in_file() const {
    std::ifstream file(dir_ / kFile);
    std::string line;
    std::getline(file, line);
    return line;
  }

  static constexpr const char* kGroup = "/sys/fs/cgroup/pods.slice/a.scope";
  static constexpr const char* kFile = "sys/fs/cgroup/pods.slice/a.scope/cpuset.cpus.partition";
  test::TempDir dir_;
  PartitionWriter writer_{dir_.path()};
};

TEST_F(UnitPartition, IsWrittenBySystemdThatKnowsIt) {
  const auto written = write("isolated", "");
  EXPECT_TRUE(written) << written.error().message;
  EXPECT_EQ(in_file(), "isolated");
}

TEST_F(UnitPartition, IsWrittenToTheFileIfSystemdDoesNotKnowIt) {
  const auto written = write("", "org.freedesktop.DBus.Error.PropertyReadOnly");
  EXPECT_TRUE(written) << written.error().message;
  EXPECT_EQ(in_file(), "isolated");
}

TEST_F(UnitPartition, IsAskedOnceOfASystemdThatDoesNotAnswer) {
  const test::UnixListener silent(dir_ / "run/dbus/system_bus_socket");
  for (int i = 0; i < 2; ++i) {
    dir_.write(kFile, "member\n");
    EXPECT_TRUE(writer_.write(kGroup, "isolated"));
  }
  EXPECT_TRUE(silent.accept());
  EXPECT_FALSE(silent.accept()) << "a start waits for it once";
}

TEST_F(UnitPartition, IsNoneIfTheKernelLeavesCpusOut) {
  dir_.write("sys/fs/cgroup/pods.slice/a.scope/cpuset.cpus.effective", "2\n");
  const auto written = write("isolated", "");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message,
            "the partition lacks CPU 3, which another cgroup has exclusively");
  EXPECT_EQ(in_file(), "member");
}

TEST_F(UnitPartition, HasTheKernelsReasonAndIsAMemberAgain) {
  const auto written = write("isolated invalid (Parent is not a partition root)", "");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(written.error().message,
              testing::HasSubstr("the kernel has 'isolated invalid (Parent is not a partition "
                                 "root)' in"));
  EXPECT_EQ(in_file(), "member");
}

}  // namespace
}  // namespace pinfold::quiet
