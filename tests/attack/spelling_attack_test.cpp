// A client of the service's socket spells one group in every way: it never gets two owners.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/socket/client.hpp"
#include "temp_dir.hpp"

namespace pinfold::socket {
namespace {

namespace fs = std::filesystem;

std::string line_of(const std::string& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

PodSpec pod(const std::string& uid, const char* cpus) {
  PodSpec spec;
  spec.uid = PodUid(uid);
  spec.name = uid;
  spec.namespace_name = "default";
  Container container;
  container.name = "c";
  if (*cpus != '\0') {
    for (auto* const map : {&container.resources.limits, &container.resources.requests}) {
      (*map)["cpu"] = Quantity::parse(cpus).value();
      (*map)["memory"] = Quantity::parse("16Mi").value();
    }
  }
  spec.containers.push_back(std::move(container));
  return spec;
}

/// A service with its own root in this machine's hierarchy, and someone else's group.
class SpellingAttack : public testing::Test {
 protected:
  void SetUp() override {
    const auto root = enforce::default_root();
    if (!root) GTEST_SKIP() << root.error().message;
    mount_ = fs::path(*root).parent_path();
    if (::access((mount_ + "/cgroup.procs").c_str(), W_OK) != 0) GTEST_SKIP() << "needs root";
    if (line_of(effective(mount_)).find_first_of("-,") == std::string::npos) {
      GTEST_SKIP() << "needs two CPUs";
    }
    above_ = fmt::format("{}/pinfold-spelling-{}", mount_, ::getpid());
    for (const std::string& group : {above_, victim(), victim() + "/inner"}) make(group);
    dir_.write("config.yaml",
               "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
    start();
  }
  void TearDown() override {
    if (service_ > 0) {
      (void)::kill(service_, SIGTERM);
      (void)::waitpid(service_, nullptr, 0);
    }
    if (above_.empty()) return;
    // On cgroup v1 the service makes its groups in each hierarchy.
    const std::string name = above_.substr(above_.rfind('/'));
    for (const char* const controller : {"cpu", "memory", "hugetlb"}) {
      const std::string root = std::string("/sys/fs/cgroup/") + controller + name + "/root";
      for (const char* const each : {"/podex/c", "/podex", "/podother/c", "/podother", "", "/.."}) {
        (void)::rmdir((root + each).c_str());
      }
    }
    const std::string root = above_ + "/root";
    for (const char* const each : {"/podex/c", "/podex", "/podother/c", "/podother", ""}) {
      (void)::rmdir((root + each).c_str());
    }
    for (const std::string& group : {victim() + "/inner", victim(), above_}) {
      (void)::rmdir(group.c_str());
    }
  }
  [[nodiscard]] std::string victim() const { return above_ + "/victim"; }
  [[nodiscard]] static std::string effective(const std::string& group) {
    const std::string v2 = group + "/cpuset.cpus.effective";
    return fs::exists(v2) ? v2 : group + "/cpuset.effective_cpus";
  }
  /// Makes a group with a cpuset, as a runtime does.
  static void make(const std::string& group) {
    ASSERT_TRUE(::mkdir(group.c_str(), 0755) == 0) << group;
    const std::string parent = fs::path(group).parent_path();
    const std::string control = parent + "/cgroup.subtree_control";
    if (fs::exists(control)) {
      std::ofstream(control) << "+cpuset" << std::flush;
      return;
    }
    for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
      std::ofstream(group + file) << line_of(parent + file) << std::flush;
    }
  }
  void start() {
    service_ = ::fork();
    ASSERT_GE(service_, 0);
    if (service_ == 0) {
      if (::chdir(dir_.path().c_str()) != 0) ::_exit(126);
      ::execl(PINFOLD_SERVE, PINFOLD_SERVE, "--settings", "/dev/null", "--state-dir", "state",
              "--config", "config.yaml", "--cgroup-root", (above_ + "/root").c_str(), "--socket",
              "s.sock", "--log-level", "error", nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 1000 && !fs::exists(dir_ / "s.sock"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    auto client = Client::connect(dir_ / "s.sock");
    ASSERT_TRUE(client && *client) << "the service does not answer";
    client_ = std::move(**client);
  }
  Result<verbs::Answer> ask(verbs::Action action) {
    return client_->call(std::move(action), std::chrono::seconds(60));
  }

  std::string mount_;
  std::string above_;
  test::TempDir dir_;
  pid_t service_ = 0;
  std::optional<Client> client_;
};

TEST_F(SpellingAttack, AdoptsNoGroupTwice) {
  for (const PodSpec& spec : {pod("ex", "1"), pod("other", "")}) {
    const auto admitted = ask(verbs::Admit{{spec}, false});
    ASSERT_TRUE(admitted.has_value()) << admitted.error().message;
  }
  const auto adopted = ask(verbs::Adopt{PodUid("ex"), {"c", victim()}});
  ASSERT_TRUE(adopted.has_value()) << adopted.error().message;
  const std::string has = line_of(victim() + "/cpuset.cpus");
  fs::create_directory_symlink(victim(), dir_ / "link");
  fs::create_directory_symlink(above_, dir_ / "above");
  const std::string name = fs::path(above_).filename();
  for (const std::string& spelling : {
           victim(),
           victim() + "/",
           "/" + victim(),
           above_ + "//victim",
           above_ + "/./victim",
           above_ + "/victim/../victim",
           mount_ + "/../" + fs::path(mount_).filename().string() + "/" + name + "/victim",
           "/proc/self/root" + victim(),
           fmt::format("/proc/{}/root{}", ::getpid(), victim()),
           dir_ / "link",
           dir_ / "link/inner",
           dir_ / "above/victim",
           dir_ / "above/victim/inner",
           victim() + "/inner",
           // Groups that contain the root, or the root itself.
           above_,
           dir_ / "above",
           mount_,
           mount_ + "/.",
           above_ + "/root/podex",
           above_ + "/root/podex/new",
           // Paths outside of this hierarchy.
           std::string("/etc"),
           std::string("."),
           std::string(),
       }) {
    const auto again = ask(verbs::Adopt{PodUid("other"), {"c", spelling}});
    EXPECT_FALSE(again.has_value()) << "'" << spelling << "' was adopted";
  }
  EXPECT_EQ(line_of(victim() + "/cpuset.cpus"), has);
}

}  // namespace
}  // namespace pinfold::socket
