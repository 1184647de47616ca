#include "systemd_units.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "temp_dir.hpp"
#include "unix_listener.hpp"

namespace pinfold::quiet {
namespace {

/// An answer with the serial of a call, and the name of an error unless it is empty.
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

/// A bus with a systemd that answers each call.
class FakeBus {
 public:
  FakeBus(const std::string& socket, std::string error)
      : listener_(socket), error_(std::move(error)), thread_([this] { serve(); }) {}
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
      // Everyone gets signals, which are no answers.
      if (heard.find("Hello") != std::string::npos) {
        say(client.get(), answer_to('\0', "") + answer_to('\1', ""));
      }
      if (heard.find("SetUnit") != std::string::npos) say(client.get(), answer_to('\2', error_));
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

TEST_F(SystemdUnits, NameWhatSystemdRefuses) {
  const auto written = write(CpuSet{0}, "org.freedesktop.DBus.Error.AccessDenied");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(written.error().message,
            "systemd: set AllowedCPUs=0 of 'system.slice': refused: "
            "org.freedesktop.DBus.Error.AccessDenied");
}

}  // namespace
}  // namespace pinfold::quiet
