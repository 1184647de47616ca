#include "pinfold/settings/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/process/notify.hpp"
#include "pinfold/settings/log.hpp"
#include "temp_dir.hpp"

/// What the service reads from its environment, and what it reports to the service manager.
namespace pinfold::settings {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Settings, AnEmptyFileSetsNothing) {
  for (const char* const text : {"", "# nothing\n", "---\n", "{}"}) {
    const auto settings = parse_settings(text);
    ASSERT_TRUE(settings.has_value()) << text << settings.error().message;
    EXPECT_EQ(*settings, Settings{}) << text;
  }
}

TEST(Settings, ReadsEveryMember) {
  const auto settings = parse_settings(
      "stateDir: /s\nconfig: /c\nkubeletFlags: /f\nmachine: /m\nprofile: "
      "kubelet-1.36\nkubeletBinary: /b\n"
      "cgroupRoot: /g\nenforce: false\nresetAffinity: false\nquiet: system\nsocket: "
      "/k\ngrpcSocket: "
      "/r\npodResourcesSocket: /p\n"
      "metricsAddress: ':1'\nreconcileIntervalSeconds: 30\nmovePages: true\n"
      "memoryForecast: false\n"
      "nri: {socket: /n, index: '07', mode: observe, podLevelResources: none, kubeletRoot: /l,\n"
      "  unhealthyAfterSeconds: 5, handlersWithoutContainerGroups: [kata-qemu, runsc], "
      "tellContainers: any}\n"
      "logLevel: debug\n");
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(*settings, (Settings{"/s",
                                 "/c",
                                 "/f",
                                 "/m",
                                 "kubelet-1.36",
                                 "/b",
                                 "/g",
                                 false,
                                 false,
                                 quiet::QuietLevel::kSystem,
                                 "/k",
                                 "/r",
                                 "/p",
                                 ":1",
                                 NriSettings{"/n",
                                             "07",
                                             NriMode::kObserve,
                                             PodLevelResources::kNone,
                                             "/l",
                                             std::chrono::seconds(5),
                                             {"kata-qemu", "runsc"},
                                             AssignedFor::kAny},
                                 std::nullopt,
                                 false,
                                 std::chrono::seconds(30),
                                 true,
                                 agent::LogLevel::kDebug}));
}

TEST(Settings, PodResourcesHasASecondPlace) {
  struct Row {
    const char* yaml;
    PodResourcesPlaces places;
  };
  const std::string own = "/run/pinfold/pod-resources/kubelet.sock";
  const std::string kubelets = "/var/lib/kubelet/pod-resources/kubelet.sock";
  const std::array<Row, 7> rows = {{
      {"", {}},
      {"podResourcesSocket: /p/k.sock", {"/p/k.sock", own, ""}},
      {"{podResourcesSocket: /p/k.sock, socket: /a/s.sock}",
       {"/p/k.sock", "/a/pod-resources/kubelet.sock", ""}},
      {"nri: {podLevelResources: none}", {own, own, ""}},
      {"{nri: {podLevelResources: none}, podResourcesSocket: /p/k.sock}", {"/p/k.sock", own, ""}},
      {"{nri: {podLevelResources: none}, podResourcesSocket: "
       "/var/lib/kubelet/pod-resources/kubelet.sock}",
       {own, own, "with NRI, the kubelet serves '" + kubelets + "' itself"}},
      {"{nri: {podLevelResources: none}, podResourcesSocket: 'off'}", {}},
  }};
  for (const auto& [yaml, places] : rows) {
    const auto settings = parse_settings(yaml);
    ASSERT_TRUE(settings) << yaml << ": " << settings.error().message;
    const PodResourcesPlaces found = pod_resources_places(*settings);
    EXPECT_EQ(found.first, places.first) << yaml;
    EXPECT_EQ(found.second, places.second) << yaml;
    EXPECT_EQ(found.reason, places.reason) << yaml;
  }
}

TEST(Settings, NamesWhatIsWrong) {
  const std::array<std::pair<const char*, const char*>, 24> cases = {{
      {"# text\nenforce: true\n\nsockt : /k\n", "line 4: unknown field 'sockt', did you"},
      {"socket: /k\nenforce: 3\n", "line 2: enforce: 3: expected true or false"},
      {"{sockt: /k}", "unknown field 'sockt', did you mean 'socket'?"},
      {"sockt: /k", "line 1: unknown field 'sockt', did you mean 'socket'?"},
      {"- a", "document: a list: expected a mapping"},
      {"stateDir: 3", "stateDir: 3: expected a string"},
      {"enforce: 'yes'", "enforce: 'yes': expected true or false"},
      {"reconcileIntervalSeconds: 0", "reconcileIntervalSeconds: 0: expected 1 to 3600 seconds"},
      {"reconcileIntervalSeconds: 3601", "expected 1 to 3600 seconds"},
      {"logLevel: loud", "logLevel: 'loud': expected debug, info, warning or error"},
      {"quiet: silent", "quiet: 'silent': expected off, interrupts, system or isolated"},
      {"socket: [", "column 1"},
      {"---\n{}\n---\n{}\n", "2 documents: expected one"},
      {"nri: yes please", "line 1: nri: 'yes please': expected a mapping"},
      {"enforce: true\nnri: {index: '10'}", "line 2: nri.podLevelResources is missing"},
      {"nri: {}", "\n  any: any pod may have them; only pods with the annotation get exclusive"},
      {"nri: {podLevelResources: some}",
       "nri.podLevelResources: 'some': expected one of the following"},
      {"nri: {podLevelResources: none, index: 10}", "nri.index: 10: expected a string"},
      {"nri: {podLevelResources: none, index: '1'}", "nri.index: '1': expected two digits"},
      {"nri: {podLevelResources: none, mode: watch}", "nri.mode: 'watch': expected 'enforce'"},
      {"nri: {podLevelResources: none, handlersWithoutContainerGroups: runsc}",
       "handlersWithoutContainerGroups: 'runsc': expected a list of runtime class handlers"},
      {"nri: {podLevelResources: none, handlersWithoutContainerGroups: ['']}",
       "handlersWithoutContainerGroups: '': expected a list of runtime class handlers"},
      {"nri: {podLevelResources: none, tellContainers: yes}",
       "nri.tellContainers: 'yes': expected the containers that learn their CPUs: 'none', "},
      {"nri: {podLevelResource: none}", "unknown field 'nri.podLevelResource', did you mean"},
  }};
  for (const auto& [text, message] : cases) {
    const auto settings = parse_settings(text);
    ASSERT_FALSE(settings.has_value()) << text;
    EXPECT_THAT(settings.error().message, HasSubstr(message)) << text;
  }
}

TEST(Settings, SayWhatNeedsARestart) {
  Settings after;
  after.log_level = agent::LogLevel::kDebug;
  after.move_pages = true;
  after.reconcile_interval = std::chrono::seconds(1);
  EXPECT_THAT(needs_restart({}, after), IsEmpty());
  after.socket = "/k";
  after.enforce = false;
  after.reset_affinity = false;
  EXPECT_THAT(needs_restart({}, after), ElementsAre("enforce", "resetAffinity", "socket"));
}

TEST(Log, IsOneLineForEachMessage) {
  EXPECT_EQ(log_line(agent::LogLevel::kWarning, "pod \"a\"\nb", ""),
            "<4>level=warning msg=\"pod \\\"a\\\"\\nb\"\n");
  EXPECT_EQ(log_line(agent::LogLevel::kInfo, "text", "2026-01-02T03:04:05Z"),
            "time=2026-01-02T03:04:05Z level=info msg=\"text\"\n");
}

TEST(Log, KnowsTheJournalByItsStream) {
  EXPECT_FALSE(is_journal(""));
  EXPECT_FALSE(is_journal("1:1"));
}

TEST(Notify, SendsToTheServiceManager) {
  const test::TempDir dir;
  for (const std::string& name : {dir / "notify", "@pinfold-test-" + dir.path()}) {
    const UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    auto address = socket::socket_address(name).value();
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    ASSERT_EQ(::bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    process::Notifier(name).send("READY=1");
    std::array<char, 32> buffer{};
    ASSERT_EQ(::recv(manager.get(), buffer.data(), buffer.size(), 0), 7) << name;
    EXPECT_STREQ(buffer.data(), "READY=1");
  }
}

TEST(Notify, DoesNothingWithoutAServiceManager) {
  process::Notifier("").send("READY=1");
  process::Notifier("/nonexistent/socket").send("READY=1");
}

TEST(Notify, ReadsTheTimeOfTheWatchdog) {
  const std::string own = std::to_string(::getpid());
  EXPECT_EQ(process::watchdog_time("30000000", own), std::chrono::seconds(30));
  EXPECT_EQ(process::watchdog_time("30000000", ""), std::chrono::seconds(30));
  EXPECT_EQ(process::watchdog_time("30000000", "1"), std::nullopt) << "of another process";
  for (const char* const bad : {"", "0", "-1", "1s"}) {
    EXPECT_EQ(process::watchdog_time(bad, ""), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace pinfold::settings
