#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "callback_runtime.hpp"
#include "counted_calls.hpp"
#include "pinfold/agent/fields.hpp"
#include "pinfold/checkpoint/sealed.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/fields/json.hpp"

/// Read-only nodes, lists of pods, and a runtime's own cgroups on this kernel.
namespace pinfold {
namespace {

using enforce::CgroupVersion;
using test::pod;
using test::Runtime;
using testing::HasSubstr;
using testing::Not;

/// Returns the content of every file of a directory.
std::map<std::string, std::string> contents(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::stringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files.emplace(entry.path().filename(), text.str());
  }
  return files;
}

void must_admit(pinfold_node* node, const std::string& manifest) {
  pinfold_pod* answer = nullptr;
  char* error = nullptr;
  ASSERT_EQ(pinfold_pod_admit(node, manifest.c_str(), &answer, &error), PINFOLD_OK) << error;
  pinfold_pod_free(answer);
}

std::string status_of(Runtime& runtime) {
  pinfold_node* const node = runtime.open();
  char* json = nullptr;
  EXPECT_EQ(pinfold_node_get_status(node, &json, nullptr), PINFOLD_OK);
  std::string status = json;
  pinfold_free(json);
  pinfold_node_close(node);
  return status;
}

TEST(NodeProfile, IsThatOfTheConfigurationElseThatOfTheStateFiles) {
  Runtime runtime(CgroupVersion::kV2);
  EXPECT_THAT(status_of(runtime), HasSubstr(R"("profile":"fixed","profileSource":"default")"));
  Runtime other(CgroupVersion::kV2);
  std::ofstream(other.state / "cpu_manager_state")
      << R"({"policyName":"static","defaultCpuSet":"0-3","checksum":0,)"
      << R"("data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\"}",)"
      << R"("dataChecksum":270902611})";
  EXPECT_THAT(status_of(other),
              HasSubstr(R"("profile":"kubelet-1.37","profileSource":"stateFiles")"));
  runtime.options.state_dir = other.state.path().c_str();
  runtime.options.config =
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\npinfold: {profile: kubelet-1.38}\n";
  EXPECT_THAT(status_of(runtime),
              HasSubstr(R"("profile":"kubelet-1.38","profileSource":"configuration")"));
}

TEST(NodeConfig, ThatIsForgottenIsAskedFor) {
  Runtime runtime(CgroupVersion::kV2);
  pinfold_node* const node = runtime.open();
  must_admit(node, pod("a", 1));
  pinfold_node_close(node);
  runtime.options.config = nullptr;
  pinfold_node* other = nullptr;
  char* error = nullptr;
  ASSERT_NE(pinfold_node_open(&runtime.options, &other, &error), PINFOLD_OK);
  EXPECT_THAT(
      error,
      HasSubstr("another configuration of this node (cpuManagerPolicy: 'static' becomes 'none'"));
  EXPECT_THAT(error, HasSubstr("and no configuration is given: pass this node's configuration"));
  EXPECT_THAT(error, Not(HasSubstr("reconfigure")));
  pinfold_free(error);
}

/// Expects that the reader of the type accepts the whole text.
template <class T>
void expect_type(const char* text) {
  ASSERT_NE(text, nullptr);
  const auto read = fields::read<T>(nlohmann::json::parse(text));
  EXPECT_TRUE(read) << read.error().message << ": " << text;
}

TEST(NodeJson, IsOfTheTypesOfTheCommands) {
  Runtime runtime(CgroupVersion::kV2);
  pinfold_node* const node = runtime.open();
  for (const int cpus : {1, 9}) {  // the second one is rejected
    pinfold_pod* answer = nullptr;
    (void)pinfold_pod_explain(node, pod("a", cpus).c_str(), &answer, nullptr);
    expect_type<Trace>(pinfold_pod_trace(answer));
    expect_type<agent::DecidedPod>(pinfold_pod_json(answer));
    pinfold_pod_free(answer);
  }
  must_admit(node, pod("a", 1));
  char* json = nullptr;
  EXPECT_EQ(pinfold_node_get_status(node, &json, nullptr), PINFOLD_OK);
  expect_type<agent::NodeStatus>(json);
  pinfold_free(json);
  json = nullptr;
  EXPECT_EQ(pinfold_node_reconcile(node, &json, nullptr), PINFOLD_OK);
  expect_type<agent::ReconcileReport>(json);
  pinfold_free(json);
  pinfold_node_close(node);
}

class ReadOnlyNode : public testing::TestWithParam<CgroupVersion> {
 protected:
  ReadOnlyNode() : runtime_(GetParam()) {
    pinfold_node* const writer = runtime_.open();
    must_admit(writer, pod("a", 1));
    pinfold_node_close(writer);
    runtime_.options.flags = PINFOLD_NODE_READ_ONLY;
  }
  Runtime runtime_;
};

TEST_P(ReadOnlyNode, AnswersQueriesAndWritesNothing) {
  const auto files = contents(runtime_.state.path());
  const auto writes = runtime_.kernel.log;
  pinfold_node* const node = runtime_.open();
  char* json = nullptr;
  char* error = nullptr;
  EXPECT_EQ(pinfold_node_get_status(node, &json, &error), PINFOLD_OK) << error;
  EXPECT_THAT(json, HasSubstr("\"ok\":true"));
  pinfold_free(json);
  pinfold_pod* answer = nullptr;
  ASSERT_EQ(pinfold_pod_get(node, "a", &answer, &error), PINFOLD_OK) << error;
  EXPECT_STREQ(pinfold_pod_uid(answer), "a");
  pinfold_pod_free(answer);
  ASSERT_EQ(pinfold_pod_explain(node, pod("b", 1).c_str(), &answer, &error), PINFOLD_OK) << error;
  EXPECT_THAT(pinfold_pod_trace(answer), HasSubstr("\"source\""));
  pinfold_pod_free(answer);
  EXPECT_EQ(pinfold_pod_get(node, "b", &answer, nullptr), PINFOLD_NOT_FOUND);
  pinfold_node_close(node);
  EXPECT_EQ(contents(runtime_.state.path()), files);
  EXPECT_EQ(runtime_.kernel.log, writes);
}

TEST_P(ReadOnlyNode, RefusesChanges) {
  const auto files = contents(runtime_.state.path());
  pinfold_node* const node = runtime_.open();
  pinfold_pod* answer = nullptr;
  char* json = nullptr;
  char* error = nullptr;
  EXPECT_EQ(pinfold_pod_admit(node, pod("b", 1).c_str(), &answer, &error), PINFOLD_UNSUPPORTED);
  EXPECT_STREQ(error, "admit pod: the node is open read-only (PINFOLD_NODE_READ_ONLY)");
  pinfold_free(error);
  EXPECT_EQ(pinfold_node_reconcile(node, &json, nullptr), PINFOLD_UNSUPPORTED);
  EXPECT_EQ(pinfold_pod_remove(node, "a", 0, nullptr), PINFOLD_UNSUPPORTED);
  EXPECT_EQ(pinfold_container_start(node, "a", "c", nullptr), PINFOLD_UNSUPPORTED);
  EXPECT_EQ(pinfold_container_remove(node, "a", "c", 0, nullptr), PINFOLD_UNSUPPORTED);
  EXPECT_EQ(pinfold_container_attach_process(node, "a", "c", 4242, nullptr), PINFOLD_UNSUPPORTED);
  EXPECT_EQ(pinfold_container_attach_pidfd(node, "a", "c", 0, nullptr), PINFOLD_UNSUPPORTED);
  EXPECT_EQ(pinfold_container_adopt_cgroup(node, "a", "c", "/x", nullptr, nullptr),
            PINFOLD_UNSUPPORTED);
  EXPECT_EQ(json, nullptr);
  pinfold_node_close(node);
  EXPECT_EQ(contents(runtime_.state.path()), files);
}

TEST_P(ReadOnlyNode, DoesNotMakeAStateDirectory) {
  const std::string absent = runtime_.state / "absent";
  runtime_.options.state_dir = absent.c_str();
  pinfold_node* node = nullptr;
  EXPECT_EQ(pinfold_node_open(&runtime_.options, &node, nullptr), PINFOLD_NOT_FOUND);
  EXPECT_FALSE(std::filesystem::exists(absent));
}

/// The error of a later call says nothing about the pod either.
TEST_P(ReadOnlyNode, ThatLostItsStateDirectoryIsAnIoError) {
  pinfold_node* const node = runtime_.open();
  std::filesystem::remove_all(runtime_.state.path());
  pinfold_pod* answer = nullptr;
  EXPECT_EQ(pinfold_pod_get(node, "a", &answer, nullptr), PINFOLD_IO);
  pinfold_node_close(node);
}

INSTANTIATE_TEST_SUITE_P(Versions, ReadOnlyNode,
                         testing::Values(CgroupVersion::kV1, CgroupVersion::kV2),
                         [](const auto& param) {
                           return param.param == CgroupVersion::kV1 ? "V1" : "V2";
                         });

TEST(DeferredNode, OpensTheStateDirectoryInItsFirstCall) {
  Runtime runtime(CgroupVersion::kV2);
  const std::string directory = runtime.state / "later";
  runtime.options.state_dir = directory.c_str();
  runtime.options.flags |= PINFOLD_NODE_DEFER;
  pinfold_node* node = runtime.open();
  EXPECT_FALSE(std::filesystem::exists(directory));
  EXPECT_EQ(runtime.kernel.log.size(), 0U);
  must_admit(node, pod("a", 1));
  EXPECT_TRUE(std::filesystem::exists(directory));
  EXPECT_EQ(runtime.cpus("poda/c"), "1");
  pinfold_node_close(node);
}

TEST(DeferredNode, ReportsAnUnusableStateDirectoryInItsFirstCall) {
  Runtime runtime(CgroupVersion::kV2);
  const std::string file = runtime.state / "file";
  std::ofstream(file) << "no directory";
  runtime.options.state_dir = file.c_str();
  pinfold_node* node = nullptr;
  EXPECT_NE(pinfold_node_open(&runtime.options, &node, nullptr), PINFOLD_OK);
  runtime.options.flags |= PINFOLD_NODE_DEFER;
  node = runtime.open();
  char* json = nullptr;
  char* error = nullptr;
  EXPECT_NE(pinfold_node_get_status(node, &json, &error), PINFOLD_OK);
  EXPECT_THAT(error, HasSubstr(file));
  pinfold_free(error);
  pinfold_node_close(node);
}

class DiscoveredNode : public testing::Test {
 protected:
  void SetUp() override {
    const auto machine = discover(SysTree{}, "node");
    if (!machine || !machine->description().warnings.empty()) {
      GTEST_SKIP() << "the /sys of this machine is incomplete";
    }
  }
  static std::string read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  void open_and_close() {
    pinfold_node* node = nullptr;
    char* error = nullptr;
    ASSERT_EQ(pinfold_node_open(&options_, &node, &error), PINFOLD_OK) << error;
    pinfold_node_close(node);
  }
  /// Returns what the library has written, with another socket of the first CPU.
  [[nodiscard]] nlohmann::json body_with_another_socket() const {
    const std::string kept = read(file_);
    auto body = nlohmann::json::parse(kept.substr(kept.find('\n') + 1));
    body["machine"]["cpus"][0]["socket"] = 77;
    return body;
  }

  test::TempDir dir_;
  std::string state_ = dir_.path();
  std::string file_ = dir_ / ".pinfold_machine";
  pinfold_node_options options_ = [this] {
    pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
    options.flags = PINFOLD_NODE_NO_ENFORCE;
    options.state_dir = state_.c_str();
    options.config = "cpuManagerPolicy: none\n";
    options.socket = "";
    return options;
  }();
};

TEST_F(DiscoveredNode, UsesWhatAnEarlierOneHasReadOfTheCpus) {
  open_and_close();
  const std::string other = checkpoint::seal("pinfold_machine", body_with_another_socket().dump());
  std::ofstream(file_) << other;
  open_and_close();
  EXPECT_EQ(read(file_), other) << "the CPUs were read again";
}

TEST_F(DiscoveredNode, ReadsTheCpusAgainIfTheFileIsOfAnotherBootOrDamaged) {
  open_and_close();
  const std::string kept = read(file_);
  auto other_boot = body_with_another_socket();
  other_boot["validFor"] = "another boot";
  for (const std::string& text :
       {checkpoint::seal("pinfold_machine", other_boot.dump()), kept.substr(0, kept.size() / 2),
        checkpoint::seal("pinfold_machine", "{}"), std::string()}) {
    std::ofstream(file_) << text;
    open_and_close();
    EXPECT_EQ(read(file_), kept) << text;
  }
}

TEST_F(DiscoveredNode, WritesNothingIfItIsOpenReadOnly) {
  open_and_close();
  std::filesystem::remove(file_);
  options_.flags |= PINFOLD_NODE_READ_ONLY;
  open_and_close();
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST(PodList, HasActiveAndHeldPods) {
  Runtime runtime(CgroupVersion::kV2);
  pinfold_node* node = runtime.open();
  pinfold_pod_list* list = nullptr;
  ASSERT_EQ(pinfold_node_list_pods(node, &list, nullptr), PINFOLD_OK);
  EXPECT_EQ(pinfold_pod_list_count(list), 0U);
  pinfold_pod_list_free(list);
  must_admit(node, pod("old", 2));
  pinfold_node_close(node);
  // As left by a kubelet: only its own files exist.
  for (const auto& entry : std::filesystem::directory_iterator(runtime.state.path())) {
    if (entry.path().filename().string().starts_with('.')) std::filesystem::remove(entry.path());
  }
  node = runtime.open();
  must_admit(node, pod("new", 1));
  char* error = nullptr;
  ASSERT_EQ(pinfold_node_list_pods(node, &list, &error), PINFOLD_OK) << error;
  pinfold_node_close(node);  // the list outlives the node
  ASSERT_EQ(pinfold_pod_list_count(list), 2U);
  const pinfold_pod* const active = pinfold_pod_list_pod(list, 0);
  const pinfold_pod* const held = pinfold_pod_list_pod(list, 1);
  EXPECT_EQ(pinfold_pod_list_pod(list, 2), nullptr);
  EXPECT_STREQ(pinfold_pod_uid(active), "new");
  EXPECT_EQ(pinfold_pod_is_held(active), 0);
  EXPECT_EQ(pinfold_pod_is_admitted(active), 1);
  EXPECT_STREQ(pinfold_pod_uid(held), "old");
  EXPECT_EQ(pinfold_pod_is_held(held), 1);
  EXPECT_EQ(pinfold_pod_is_admitted(held), 0);
  EXPECT_STREQ(pinfold_pod_name(held), "");
  EXPECT_STREQ(pinfold_pod_trace(held), "[]");
  const auto json = nlohmann::json::parse(pinfold_pod_json(held));
  EXPECT_EQ(json.at("uid"), "old");
  EXPECT_EQ(json.at("held"), true);
  EXPECT_EQ(json.at("admitted"), false);
  EXPECT_TRUE(json.at("qosClass").is_null());
  EXPECT_EQ(json.at("containers").at(0).at("name"), "c");
  EXPECT_EQ(json.at("containers").at(0).at("cpus"), "2-3");
  EXPECT_EQ(json.at("containers").at(0).at("mems"), "");
  pinfold_container container = PINFOLD_CONTAINER_INIT;
  ASSERT_EQ(pinfold_pod_find_container(held, "c", &container, nullptr), PINFOLD_OK);
  EXPECT_STREQ(container.cpus, "2-3");
  EXPECT_STREQ(container.exclusive_cpus, "2-3");
  EXPECT_EQ(container.isolation, PINFOLD_ISOLATION_CONTAINER);
  EXPECT_STREQ(container.cgroup_path, "");
  pinfold_pod_list_free(list);
}

TEST(Owners, AreReadWithoutANode) {
  test::Runtime runtime(enforce::CgroupVersion::kV2);
  runtime.options.flags = PINFOLD_NODE_NO_ENFORCE;
  runtime.options.cgroup_fs = nullptr;
  const char* const state = runtime.options.state_dir;
  char* uid = nullptr;
  char* container = nullptr;
  EXPECT_EQ(pinfold_owner_of(state, 2, &uid, &container, nullptr), PINFOLD_NOT_FOUND);
  pinfold_node* const node = runtime.open();
  must_admit(node, test::pod("a", 2));
  for (int i = 0; i < 2; ++i) {  // from shared memory, then from the files
    ASSERT_EQ(pinfold_owner_of(state, 2, &uid, &container, nullptr), PINFOLD_OK);
    EXPECT_STREQ(uid, "a");
    EXPECT_STREQ(container, "c");
    pinfold_free(uid);
    pinfold_free(container);
    ASSERT_EQ(pinfold_owner_of(state, 1, &uid, &container, nullptr), PINFOLD_OK);
    EXPECT_STREQ(uid, "");
    EXPECT_STREQ(container, "");
    pinfold_free(uid);
    pinfold_free(container);
    const std::map<std::string, int> answers = {
        {"2-3", 1}, {"2", 1}, {"1-2", 0}, {"0", 0}, {"", 0}};
    for (const auto& [cpus, want] : answers) {
      int answer = -1;
      EXPECT_EQ(pinfold_is_exclusive(state, cpus.c_str(), &answer, nullptr), PINFOLD_OK);
      EXPECT_EQ(answer, want) << cpus;
    }
    std::filesystem::remove(std::string(state) + "/.pinfold_snapshot");
  }
  int answer = -1;
  char* error = nullptr;
  EXPECT_EQ(pinfold_is_exclusive(state, "2-", &answer, &error), PINFOLD_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(error).find("exclusive CPUs: cpus: "), 0U) << error;
  pinfold_free(error);
  EXPECT_EQ(pinfold_owner_of(state, -1, &uid, &container, nullptr), PINFOLD_INVALID_ARGUMENT);
  std::filesystem::permissions(state, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_EQ(pinfold_is_exclusive(state, "2", &answer, nullptr), PINFOLD_INVALID_ARGUMENT)
      << "others can change it";
  pinfold_node_close(node);
}

TEST(Owners, SayWhetherTheKernelShowsTheDecision) {
  test::Runtime runtime(enforce::CgroupVersion::kV2);
  runtime.options.flags = PINFOLD_NODE_NO_ENFORCE;
  runtime.options.cgroup_fs = nullptr;
  pinfold_node* const node = runtime.open();
  must_admit(node, test::pod("a", 2));
  const test::TempDir groups;
  const struct {
    const char* uid;
    const char* cpus;
    int want;
  } cases[] = {{"a", "2-3", 1}, {"a", "2", 1},   {"a", "2-4", 0}, {"a", "", 0},
               {"b", "4-7", 1}, {"b", "3-4", 0}, {"b", "0-7", 0}};
  for (const char* const file : {"cpuset.cpus.effective", "cpuset.effective_cpus"}) {
    for (const auto& one : cases) {
      groups.write(std::string("group/") + file, std::string(one.cpus) + "\n");
      int answer = -1;
      EXPECT_EQ(pinfold_container_is_placed(runtime.options.state_dir, one.uid, "c",
                                            (groups / "group").c_str(), &answer, nullptr),
                PINFOLD_OK);
      EXPECT_EQ(answer, one.want) << one.uid << " on " << one.cpus;
    }
    groups.remove("group");
  }
  int answer = -1;
  EXPECT_EQ(pinfold_container_is_placed(runtime.options.state_dir, "a", "c",
                                        (groups / "group").c_str(), &answer, nullptr),
            PINFOLD_NOT_FOUND);
  EXPECT_EQ(answer, -1);
  pinfold_node_close(node);
}

/// On the kernel that runs the tests: set PINFOLD_TEST_CGROUP to an empty directory of a cgroup
/// mount with the cpuset controller.
class RealNode : public testing::Test {
 protected:
  void SetUp() override {
    const char* const given = std::getenv("PINFOLD_TEST_CGROUP");  // NOLINT(concurrency-mt-unsafe)
    if (given == nullptr)
      GTEST_SKIP() << "PINFOLD_TEST_CGROUP names no cgroup to test in; Vm.real-cgroups does";
    parent_ = given;
    if (std::filesystem::exists(parent_ + "/cgroup.subtree_control")) {
      put(parent_ + "/cgroup.subtree_control", "+cpuset");
    } else {
      fill(parent_, std::filesystem::path(parent_).parent_path());
    }
    for (const std::string& each : {first_ = parent_ + "/first", second_ = parent_ + "/second"}) {
      ASSERT_EQ(::mkdir(each.c_str(), 0755), 0) << each;
      fill(each, parent_);
    }
    const std::string root = parent_ + "/root";
    pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
    options.state_dir = state_.path().c_str();
    options.cgroup_root = root.c_str();
    options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
    char* error = nullptr;
    ASSERT_EQ(pinfold_node_open(&options, &node_, &error), PINFOLD_OK) << error;
    must_admit(node_, "metadata: {name: a, uid: a}\nspec: {containers: [{name: c}]}");
  }
  void TearDown() override {
    if (parent_.empty()) return;
    EXPECT_EQ(pinfold_pod_remove(node_, "a", PINFOLD_REMOVE_KILL, nullptr), PINFOLD_OK);
    pinfold_node_close(node_);
    for (const char* each : {"/root", "/first", "/second"}) (void)::rmdir((parent_ + each).c_str());
  }
  static void put(const std::string& file, const std::string& value) {
    std::ofstream(file) << value << std::flush;
  }
  static std::string get(const std::string& file) {
    std::string line;
    std::ifstream in(file);
    std::getline(in, line);
    return line;
  }
  /// A cpuset of cgroup v1 starts empty.
  static void fill(const std::string& group, const std::string& above) {
    for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
      if (get(group + file).empty()) put(group + file, get(above + file));
    }
  }

  /// Returns the CPUs of the pod that SetUp() admits.
  [[nodiscard]] CpuSet neighbour() const {
    return CpuSet::parse(get(parent_ + "/root/poda/c/cpuset.cpus")).value();
  }

  std::string parent_;
  std::string first_;
  std::string second_;
  test::TempDir state_;
  pinfold_node* node_ = nullptr;
};

TEST_F(RealNode, NamesTheCgroupThatWasAdoptedBefore) {
  const auto adopt = [&](const std::string& directory) {
    char* previous = nullptr;
    char* error = nullptr;
    EXPECT_EQ(pinfold_container_adopt_cgroup(node_, "a", "c", directory.c_str(), &previous, &error),
              PINFOLD_OK)
        << error;
    const std::string was = previous == nullptr ? "none" : previous;
    pinfold_free(previous);
    return was;
  };
  EXPECT_EQ(adopt(first_), "");
  EXPECT_EQ(adopt(first_), first_);
  EXPECT_EQ(adopt(parent_ + "/first/../second/"), first_);
  // A reconciliation leaves it alone, although no process runs in the cgroup yet.
  char* report = nullptr;
  EXPECT_EQ(pinfold_node_reconcile(node_, &report, nullptr), PINFOLD_OK);
  pinfold_free(report);
  EXPECT_EQ(adopt(second_), second_);
  EXPECT_EQ(pinfold_container_adopt_cgroup(node_, "a", "c", first_.c_str(), nullptr, nullptr),
            PINFOLD_OK);
  char* previous = nullptr;
  for (const std::string& wrong : {parent_ + "/none", std::string("first"), std::string("/tmp")}) {
    EXPECT_EQ(pinfold_container_adopt_cgroup(node_, "a", "c", wrong.c_str(), &previous, nullptr),
              PINFOLD_INVALID_ARGUMENT)
        << wrong;
  }
  EXPECT_EQ(previous, nullptr);
}

TEST_F(RealNode, GivesNoCgroupToTwoContainersHoweverItIsSpelt) {
  must_admit(node_, "metadata: {name: b, uid: b}\nspec: {containers: [{name: c}]}");
  ASSERT_EQ(pinfold_container_adopt_cgroup(node_, "a", "c", first_.c_str(), nullptr, nullptr),
            PINFOLD_OK);
  const std::string link = state_ / "link";
  std::filesystem::create_directory_symlink(first_, link);
  for (const std::string& spelling :
       {first_, first_ + "/", "/" + first_, parent_ + "//first", parent_ + "/second/../first",
        "/proc/self/root" + first_, link, link + "/."}) {
    EXPECT_EQ(pinfold_container_adopt_cgroup(node_, "b", "c", spelling.c_str(), nullptr, nullptr),
              PINFOLD_INVALID_ARGUMENT)
        << spelling;
  }
  EXPECT_EQ(pinfold_pod_remove(node_, "b", PINFOLD_REMOVE_KILL, nullptr), PINFOLD_OK);
}

/// A request for a pod of one container that requests memory.
pinfold_request request_of(const char* uid) {
  pinfold_request request = PINFOLD_REQUEST_INIT;
  request.uid = uid;
  request.milli_cpu = 100;
  request.memory_bytes = 1 << 20;
  return request;
}

TEST_F(RealNode, CreatesAndDeletesAContainerInOneCallEach) {
  char* error = nullptr;
  pinfold_pod* pod = nullptr;
  pinfold_request request = request_of("x");
  request.name = "name-of-x";
  request.milli_cpu = 1000;
  ASSERT_EQ(pinfold_container_create(node_, &request, second_.c_str(), &pod, &error), PINFOLD_OK)
      << error;
  EXPECT_STREQ(pinfold_pod_name(pod), "name-of-x");
  pinfold_container container = PINFOLD_CONTAINER_INIT;
  ASSERT_EQ(pinfold_pod_find_container(pod, "main", &container, nullptr), PINFOLD_OK);
  EXPECT_EQ(container.cgroup_path, second_);
  EXPECT_STREQ(container.exclusive_cpus, "1");
  EXPECT_EQ(get(second_ + "/cpuset.cpus"), "1");
  EXPECT_FALSE(neighbour().contains(CpuId{1})) << "it moves off";
  pinfold_pod_free(pod);

  // A reconciliation leaves it alone, although no process runs in the cgroup yet.
  char* report = nullptr;
  ASSERT_EQ(pinfold_node_reconcile(node_, &report, &error), PINFOLD_OK) << error;
  pinfold_free(report);
  EXPECT_EQ(get(second_ + "/cpuset.cpus"), "1");

  // Again, as after a crash of the runtime; and another pod under its UID.
  EXPECT_EQ(pinfold_container_create(node_, &request, second_.c_str(), nullptr, nullptr),
            PINFOLD_OK);
  request.milli_cpu = 200;
  EXPECT_EQ(pinfold_container_create(node_, &request, second_.c_str(), nullptr, &error),
            PINFOLD_BUSY);
  pinfold_free(error);
  // Names are not looked up.
  EXPECT_EQ(pinfold_container_delete(node_, "name-of-x", nullptr, nullptr), PINFOLD_OK);
  EXPECT_EQ(pinfold_pod_get(node_, "x", &pod, nullptr), PINFOLD_OK);
  pinfold_pod_free(pod);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(pinfold_container_delete(node_, "x", nullptr, &error), PINFOLD_OK) << error;
    EXPECT_EQ(pinfold_pod_get(node_, "x", &pod, nullptr), PINFOLD_NOT_FOUND);
  }
  EXPECT_TRUE(std::filesystem::exists(second_)) << "the cgroup is the runtime's";
}

/// Each call opens the state directory, commits once, and leaves the journal to the next one.
TEST_F(RealNode, SyncsOnceForEachCallOfAContainer) {
  pinfold_request request = request_of("x");
  const auto live_once = [&] {
    char* error = nullptr;
    EXPECT_EQ(pinfold_container_create(node_, &request, second_.c_str(), nullptr, &error),
              PINFOLD_OK)
        << error;
    EXPECT_EQ(pinfold_container_delete(node_, "x", nullptr, &error), PINFOLD_OK) << error;
  };
  live_once();  // begins a journal
  const std::uint64_t before = test::syncs();
  constexpr unsigned kContainers = 4;
  for (unsigned i = 0; i < kContainers; ++i) live_once();
  EXPECT_LE(test::syncs() - before, 4 * kContainers);
  EXPECT_GE(test::syncs() - before, 2 * kContainers) << "they are counted";
}

/// The same if each call is made by a process that opens the node. No cgroup is written, so any
/// directory will do.
TEST(ContainerCalls, SyncOnceEachAlsoIfEachOpensTheNode) {
  test::Runtime runtime(CgroupVersion::kV2);
  runtime.options.flags = PINFOLD_NODE_NO_ENFORCE;
  runtime.options.cgroup_fs = nullptr;
  const test::TempDir group;
  const pinfold_request request = request_of("x");
  const auto call = [&](auto&& make) {
    pinfold_node* const node = runtime.open();
    char* error = nullptr;
    EXPECT_EQ(make(node, &error), PINFOLD_OK) << error;
    pinfold_node_close(node);
  };
  const auto live_once = [&] {
    call([&](pinfold_node* node, char** error) {
      return pinfold_container_create(node, &request, group.path().c_str(), nullptr, error);
    });
    call([](pinfold_node* node, char** error) {
      return pinfold_container_delete(node, "x", nullptr, error);
    });
  };
  live_once();  // begins a journal
  const std::uint64_t before = test::syncs();
  constexpr unsigned kContainers = 4;
  for (unsigned i = 0; i < kContainers; ++i) live_once();
  EXPECT_LE(test::syncs() - before, 4 * kContainers);
  EXPECT_GE(test::syncs() - before, 2 * kContainers) << "they are counted";
}

TEST_F(RealNode, ReleasesAContainerWhoseCgroupIsGone) {
  char* error = nullptr;
  pinfold_pod* pod = nullptr;
  pinfold_request request = request_of("x");
  request.milli_cpu = 1000;
  ASSERT_EQ(pinfold_container_create(node_, &request, second_.c_str(), nullptr, &error), PINFOLD_OK)
      << error;
  ASSERT_TRUE(std::filesystem::remove(second_));
  char* report = nullptr;
  ASSERT_EQ(pinfold_node_reconcile(node_, &report, &error), PINFOLD_OK) << error;
  pinfold_free(report);
  EXPECT_EQ(pinfold_pod_get(node_, "x", &pod, nullptr), PINFOLD_NOT_FOUND);
  EXPECT_TRUE(neighbour().contains(CpuId{1})) << "it comes back";
}

TEST_F(RealNode, KeepsNothingOfAContainerThatCannotBeCreated) {
  char* error = nullptr;
  pinfold_pod* pod = nullptr;
  pinfold_request request = request_of("x");
  for (const std::string& wrong : {parent_ + "/none", std::string("/tmp"), parent_ + "/root"}) {
    EXPECT_EQ(pinfold_container_create(node_, &request, wrong.c_str(), nullptr, nullptr),
              PINFOLD_INVALID_ARGUMENT)
        << wrong;
  }
  request.container = "..";
  EXPECT_EQ(pinfold_container_create(node_, &request, second_.c_str(), nullptr, nullptr),
            PINFOLD_INVALID_ARGUMENT);
  request = request_of("x");
  const pinfold_hugepage_limit pages = {"2", 1};
  request.hugepages = &pages;
  request.hugepage_count = 1;
  EXPECT_EQ(pinfold_container_create(node_, &request, second_.c_str(), nullptr, &error),
            PINFOLD_INVALID_ARGUMENT);
  EXPECT_STREQ(error, "create container: page_size '2': expected a name such as '2MB'");
  pinfold_free(error);
  request = request_of("x");
  request.memory_bytes = INT64_MAX;
  EXPECT_EQ(pinfold_container_create(node_, &request, second_.c_str(), &pod, nullptr),
            PINFOLD_REJECTED);
  EXPECT_STREQ(pinfold_pod_reason(pod), "OutOfmemory");
  pinfold_pod_free(pod);
  request = PINFOLD_REQUEST_INIT;
  request.manifest = "metadata: {name: p, uid: x}\nspec: {containers: [{name: one}, {name: two}]}";
  EXPECT_EQ(pinfold_container_create(node_, &request, second_.c_str(), nullptr, nullptr),
            PINFOLD_INVALID_ARGUMENT);
  request.container = "three";
  EXPECT_EQ(pinfold_container_create(node_, &request, second_.c_str(), nullptr, nullptr),
            PINFOLD_NOT_FOUND);
  EXPECT_EQ(pinfold_pod_get(node_, "x", &pod, nullptr), PINFOLD_NOT_FOUND);
}

TEST_F(RealNode, AttachesAProcessByNumberAndByPidfd) {
  for (const bool by_pidfd : {false, true}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      while (true) ::pause();
    }
    const auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    const auto attach = [&](char** error) {
      return by_pidfd ? pinfold_container_attach_pidfd(node_, "a", "c", pidfd, error)
                      : pinfold_container_attach_process(node_, "a", "c", child, error);
    };
    char* error = nullptr;
    EXPECT_EQ(attach(&error), PINFOLD_OK) << error;
    EXPECT_EQ(get(parent_ + "/root/poda/c/cgroup.procs"), std::to_string(child));
    (void)::kill(child, SIGKILL);
    (void)::waitpid(child, nullptr, 0);
    EXPECT_EQ(attach(&error), PINFOLD_NOT_FOUND);
    EXPECT_THAT(error, HasSubstr("ended"));
    pinfold_free(error);
    ::close(pidfd);
  }
}

}  // namespace
}  // namespace pinfold
