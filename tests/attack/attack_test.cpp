// Kills each command, and a C program, before each of its system calls, and makes each of its
// system calls fail with each error that a faulty machine may return. Afterwards the state must be
// that before or after the command, every failure must be reported, and the command must work when
// it is run again.
//
// With PINFOLD_ATTACK_ROOT, the absolute path of a cgroup root, the commands also write to the
// kernel; no CPU may ever be exclusive to two containers there.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "pinfold/types/cpuset.hpp"
#include "strike.hpp"
#include "temp_dir.hpp"

namespace pinfold::test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kNode = R"({"name":"n","cpus":[
  {"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":1,"socket":0,"numa":0,"l3":0},
  {"id":2,"core":2,"socket":0,"numa":1,"l3":0},{"id":3,"core":3,"socket":0,"numa":1,"l3":0}],
  "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}},
               {"id":1,"memory":4294967296,"hugepages":{}}],"devices":[]})";

constexpr const char* kConfig = R"(kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
reservedSystemCPUs: '0'
kubeReserved: {memory: 32Mi}
evictionHard: {memory.available: 32Mi}
reservedMemory: [{numaNode: 0, limits: {memory: 64Mi}}]
)";

constexpr const char* kPod = R"(apiVersion: v1
kind: Pod
metadata: {{name: {0}, uid: u-{0}}}
spec: {{containers: [{{name: main, resources: {{limits: {{cpu: 1, memory: 64Mi}}}}}}]}}
)";

constexpr const char* kDescribed = "--state-dir state --machine node.json --config config.yaml";

std::string environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : otherwise;
}

/// empty if the commands do not touch the kernel
std::string root() { return environment("PINFOLD_ATTACK_ROOT", ""); }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kStride = "97";  // a command takes several times longer
#else
constexpr const char* kStride = "23";
#endif
/// Returns n: only every n-th strike is made.
std::size_t stride() { return std::stoul(environment("PINFOLD_ATTACK_STRIDE", kStride)); }

/// A pinfold command under attack. It runs in a directory with node.json, config.yaml, web.yaml and
/// db.yaml; "NODE" stands for the options that describe the node. A line that begins with "sh: " is
/// a shell command.
struct Attack {
  const char* name;
  std::vector<std::string> prepare;
  std::string command;
  std::string observe = "status -o json NODE";  ///< prints the state
  std::vector<std::string> before_each = {};
  std::string input = "/dev/null";
  const char* program = PINFOLD_COMMAND;
};

std::ostream& operator<<(std::ostream& out, const Attack& attack) { return out << attack.name; }

std::string with_node(std::string line) {
  const auto at = line.find("NODE");
  if (at == std::string::npos) return line;
  const std::string cgroups = root().empty() ? "--no-enforce" : "--cgroup-root " + root();
  return line.replace(at, 4, fmt::format("{} {}", kDescribed, cgroups));
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

/// Every container of these tests has an exclusive CPU.
void check_no_overlap() {
  CpuSet taken;
  for (const auto& entry : fs::recursive_directory_iterator(root())) {
    if (!entry.is_directory() || entry.path().filename() != "main") continue;
    std::string line;
    std::getline(std::ifstream(entry.path() / "cpuset.cpus") >> std::ws, line);
    const CpuSet cpus = CpuSet::parse(line).value();
    EXPECT_FALSE(taken.intersects(cpus)) << entry.path() << ": " << line;
    taken |= cpus;
  }
}

class AttackTest : public testing::TestWithParam<Attack> {
 protected:
  void SetUp() override {
    start_.write("node.json", kNode);
    start_.write("config.yaml", kConfig);
    start_.write("web.yaml", fmt::format(kPod, "web"));
    start_.write("db.yaml", fmt::format(kPod, "db"));
    for (const std::string& line : GetParam().prepare) must(start_, line);
    const TempDir dir;
    restore(dir);
    before_ = observe(dir);
    expected_ = run(dir, {});
    ASSERT_EQ(expected_.outcome.status, 0) << expected_.outcome.err;
    ASSERT_GT(expected_.calls.size(), 10U) << "almost nothing to strike";
    after_ = observe(dir);
    names_after_ = names_in(dir / "state");
  }

  static Outcome run_line(const TempDir& dir, const std::string& line) {
    const std::string command = line.starts_with("sh: ")
                                    ? line.substr(4)
                                    : PINFOLD_COMMAND " " + with_node(line) + " </dev/null";
    return run_shell("cd " + dir.path() + " && " + command);
  }
  static void must(const TempDir& dir, const std::string& line) {
    const Outcome done = run_line(dir, line);
    ASSERT_EQ(done.status, 0) << line << ": " << done.out << done.err;
  }
  static std::string observe(const TempDir& dir) {
    if (!root().empty()) must(dir, "reconcile NODE");
    const Outcome seen = run_line(dir, GetParam().observe);
    EXPECT_THAT(seen.status, AnyOf(0, 1)) << seen.err;
    // The kernel may keep a few pages where a process had them before it got its memory nodes.
    static const std::regex kMostPages(R"("pagePlacement": (0\.99[0-9]*|1\.0))");
    // The process of a hook's container differs in each run.
    static const std::regex kProcess(R"("pid": [1-9][0-9]*)");
    return std::regex_replace(
        std::regex_replace(seen.out, kMostPages, R"("pagePlacement": "most")"), kProcess,
        R"("pid": 1)");
  }
  /// Restores files and kernel to their state before the command.
  void restore(const TempDir& dir) const {
    fs::copy(start_.path(), dir.path(), fs::copy_options::recursive);
    for (const std::string& line : GetParam().before_each) must(dir, line);
    if (!root().empty()) must(dir, "reconcile NODE");
  }
  static Struck run(const TempDir& dir, const Strike& strike) {
    std::vector<std::string> argv = {GetParam().program};
    for (std::string& word : words_of(with_node(GetParam().command))) {
      argv.push_back(std::move(word));
    }
    const fs::path input = fs::path(dir.path()) / GetParam().input;  // or /dev/null
    return run_struck(argv, dir.path(), input, strike);
  }

  /// Checks what must hold after every strike.
  void check(const TempDir& dir, const Struck& struck) const {
    EXPECT_THAT(struck.outcome.err, Not(HasSubstr("terminate called")));
    EXPECT_THAT(struck.outcome.err, Not(HasSubstr("ERROR: ")));  // from a sanitizer
    EXPECT_THAT(struck.outcome.err, Not(HasSubstr("runtime error")));
    if (!root().empty()) check_no_overlap();
    EXPECT_THAT(observe(dir), AnyOf(Eq(before_), Eq(after_)));
    for (const std::string& line : GetParam().before_each) must(dir, line);
    (void)run(dir, {});  // may say that it is already done
    EXPECT_EQ(observe(dir), after_) << "after the command was run again";
    EXPECT_EQ(run_line(dir, "checkpoint verify state").status, 0) << "a kubelet would not start";
    for (const std::string& name : names_in(dir / "state")) {
      EXPECT_TRUE(names_after_.contains(name)) << name << " is left";
    }
  }

  void check_failure(const TempDir& dir, const Struck& struck, std::uint64_t call,
                     int error) const {
    const Outcome& outcome = struck.outcome;
    EXPECT_LT(outcome.status, 126) << outcome.err;
    if (outcome.status == 0) {
      // The answer may say that a state is not settled, and what could not be read for it; counts
      // that cannot be read start at zero, with a warning that names their file.
      const bool is_settled = outcome.err.find("files are out of date") == std::string::npos;
      const bool is_read = outcome.out.find(strerrordesc_np(error)) == std::string::npos;
      const bool has_counts = outcome.err.find("side file '.pinfold_metrics'") == std::string::npos;
      if (is_settled && is_read && has_counts) {
        EXPECT_EQ(outcome.out, expected_.outcome.out);
      }
      if (root().empty()) {
        EXPECT_EQ(observe(dir), after_) << "status 0, but nothing is done";
      }
    } else if (name_of_call(call) != "write") {
      EXPECT_NE(outcome.err, "") << "status " << outcome.status << " without a word";
    }
    check(dir, struck);
  }

  TempDir start_;
  std::string before_;
  std::string after_;
  Struck expected_;
  std::set<std::string> names_after_;
};

TEST_P(AttackTest, KilledAtEachSystemCall) {
  for (std::size_t at = 0; at < expected_.calls.size(); at += stride()) {
    SCOPED_TRACE(fmt::format("killed before call {}, {}", at, name_of_call(expected_.calls[at])));
    const TempDir dir;
    restore(dir);
    const Struck struck = run(dir, {Strike::Kind::kKill, at, 0});
    EXPECT_EQ(struck.outcome.status, 128 + SIGKILL);
    check(dir, struck);
  }
}

TEST_P(AttackTest, EachSystemCallFails) {
  std::size_t strikes = 0;
  for (std::size_t at = 0; at < expected_.calls.size(); ++at) {
    for (const int error : errors_of_call(expected_.calls[at])) {
      if (strikes++ % stride() != 0) continue;
      SCOPED_TRACE(fmt::format("call {}, {}: {}", at, name_of_call(expected_.calls[at]),
                               strerrorname_np(error)));
      const TempDir dir;
      restore(dir);
      check_failure(dir, run(dir, {Strike::Kind::kFail, at, error}), expected_.calls[at], error);
    }
  }
}

/// Returns the same attack through the C interface.
Attack in_c(const char* verb) {
  Attack attack{verb, {"admit NODE web.yaml"}, verb};
  attack.program = PINFOLD_C_CLIENT;
  return attack;
}

const std::vector<Attack>& attacks() {
  static const std::vector<Attack> kAll = {
      {"admit_on_a_new_node", {"sh: mkdir -m 700 state"}, "admit NODE web.yaml db.yaml"},
      {"admit", {"admit NODE web.yaml"}, "admit NODE db.yaml"},
      {"admit_explained", {"admit NODE web.yaml"}, "admit NODE --explain -o json db.yaml"},
      {"start", {"admit NODE web.yaml"}, "start NODE --pod web --container main"},
      {"remove", {"admit NODE web.yaml db.yaml"}, "remove NODE --pod web"},
      {"remove_container", {"admit NODE web.yaml"}, "remove NODE --pod web --container main"},
      {"status", {"admit NODE web.yaml"}, "status NODE -o json"},
      {"metrics", {"admit NODE web.yaml"}, "metrics NODE"},
      {"oci_resources", {"admit NODE web.yaml"}, "oci-resources NODE --pod web --container main"},
      {"verify", {"admit NODE web.yaml"}, "checkpoint verify state"},
      {"show", {"admit NODE web.yaml"}, "checkpoint show state/cpu_manager_state"},
      {"repair",
       {"admit NODE web.yaml db.yaml", "sh: truncate -s -9 state/cpu_manager_state"},
       "checkpoint repair --machine node.json --config config.yaml state",
       "checkpoint verify -o json state"},
      {"diff", {"admit NODE web.yaml", "sh: cp -r state other"}, "checkpoint diff state other"},
      {"convert",
       {"admit NODE web.yaml"},
       "checkpoint convert state --to cpu-v2 --out older --machine node.json --config config.yaml",
       "sh: " PINFOLD_COMMAND " checkpoint show -o json older 2>/dev/null || true"},
      {"topology",
       {"admit NODE web.yaml"},
       "topology -o json --synthetic socket:2core:2pu:1",
       "status -o name NODE"},
      {"predict",
       {"admit NODE web.yaml",
        "sh: " PINFOLD_COMMAND " topology -o nrt --synthetic socket:2core:2pu:1 > nodes.json"},
       "predict -o json --nodes nodes.json --pod db.yaml"},
      {"simulate", {"admit NODE web.yaml"}, "simulate " PINFOLD_HISTORIES},
  };
  return kAll;
}

/// Makes a container as a runtime does, for the hook.
constexpr const char* kMakeContainer =
    "sh: mkdir -p /sys/fs/cgroup/box && echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control && "
    "echo 1 > /sys/fs/cgroup/box/cgroup.kill && sleep 0.1 && (sleep 3600 >/dev/null 2>&1 & "
    "echo $! > /sys/fs/cgroup/box/cgroup.procs; printf '{\"ociVersion\": \"1.0.2\", "
    "\"id\": \"box\", \"status\": \"creating\", \"bundle\": \"/\", \"pid\": %d, "
    "\"annotations\": {\"io.pinfold.cpu\": \"1\", \"io.pinfold.memory\": \"64Mi\"}}' $! "
    "> state.json)";

/// Attacks that need a kernel.
const std::vector<Attack>& kernel_attacks() {
  static const std::vector<Attack> kAll = {{"hook",
                                            {"admit NODE web.yaml"},
                                            "hook NODE",
                                            "status -o json NODE",
                                            {kMakeContainer},
                                            "state.json"}};
  return kAll;
}

INSTANTIATE_TEST_SUITE_P(Kernel, AttackTest,
                         testing::ValuesIn(root().empty() ? std::vector<Attack>()
                                                          : kernel_attacks()),
                         [](const auto& attack) { return attack.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AttackTest);
INSTANTIATE_TEST_SUITE_P(C, AttackTest,
                         testing::Values(in_c("admit"), in_c("remove"), in_c("status")),
                         [](const auto& attack) { return attack.param.name; });
INSTANTIATE_TEST_SUITE_P(Command, AttackTest, testing::ValuesIn(attacks()),
                         [](const auto& attack) { return attack.param.name; });

}  // namespace
}  // namespace pinfold::test
