#include "pinfold/forecaster/forecaster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent_world.hpp"
#include "temp_dir.hpp"

/// The forecasting thread. The forecasts themselves are tested without it.
namespace pinfold::forecaster {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class ForecasterTest : public testing::Test {
 protected:
  [[nodiscard]] ForecasterOptions options() {
    ForecasterOptions options;
    options.root = dir_.path();
    options.interval = milliseconds(1);
    options.log = [this](agent::LogLevel level, std::string_view message) {
      const std::lock_guard lock(mutex_);
      if (level >= agent::LogLevel::kInfo) log_.emplace_back(message);
    };
    return options;
  }
  [[nodiscard]] std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  /// Waits at most ten seconds.
  template <class Condition>
  static bool wait_until(Condition is_met) {
    for (int i = 0; i < 10'000 && !is_met(); ++i) std::this_thread::sleep_for(milliseconds(1));
    return is_met();
  }

  test::World world_;
  worker::Worker worker_{world_.open(), {}};
  test::TempDir dir_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

TEST_F(ForecasterTest, SamplesTheNumaNodes) {
  constexpr std::uint64_t kKiB = 1024;
  dir_.write("sys/devices/system/node/online", "1\n");
  dir_.write("sys/devices/system/node/node1/meminfo",
             "Node 1 MemTotal: 4096 kB\nNode 1 MemFree: 1024 kB\n");
  const Forecaster forecaster(options(), worker_);
  ASSERT_TRUE(wait_until([&] { return !forecaster.outlook().numa.empty(); }));
  EXPECT_THAT(forecaster.outlook().numa,
              testing::ElementsAre(forecast::NumaMemory{NumaId{1}, 4096 * kKiB, 1024 * kKiB}));
  EXPECT_TRUE(forecaster.outlook().forecasts.empty());
  EXPECT_TRUE(log().empty());
}

TEST_F(ForecasterTest, SaysOnceThatThereIsNothingToRead) {
  const Forecaster forecaster(options(), worker_);
  ASSERT_TRUE(wait_until([&] { return !log().empty(); }));
  std::this_thread::sleep_for(milliseconds(50));
  ASSERT_EQ(log().size(), 1U);
  EXPECT_THAT(log().front(), HasSubstr("memory: no forecast: read '"));
}

}  // namespace
}  // namespace pinfold::forecaster
