#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include "callback_runtime.hpp"
#include "small_disk.hpp"

/// The callbacks of the C interface: a log, access to cgroups, a source of hints.
namespace pinfold {
namespace {

using enforce::CgroupVersion;
using test::kMachine;
using test::pod;
using test::Runtime;
using testing::Contains;
using testing::HasSubstr;

class CallbackCgroupFs : public testing::TestWithParam<CgroupVersion> {};

TEST_P(CallbackCgroupFs, GetsEveryGroupAndValue) {
  Runtime runtime(GetParam());
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  char* error = nullptr;
  ASSERT_EQ(pinfold_pod_admit(node, pod("a", 2).c_str(), &answer, &error), PINFOLD_OK) << error;
  pinfold_container container = PINFOLD_CONTAINER_INIT;
  ASSERT_EQ(pinfold_pod_find_container(answer, "c", &container, nullptr), PINFOLD_OK);
  EXPECT_STREQ(container.cpus, "2-3");
  EXPECT_STREQ(container.cgroup_path, "/groups/poda/c");
  EXPECT_EQ(runtime.cpus("poda/c"), "2-3");
  pinfold_pod_free(answer);
  ASSERT_EQ(pinfold_container_attach_process(node, "a", "c", 4242, &error), PINFOLD_OK) << error;
  EXPECT_TRUE(runtime.kernel.find("poda/c")->processes.contains(4242));
  EXPECT_EQ(pinfold_pod_remove(node, "a", 0, &error), PINFOLD_BUSY);
  EXPECT_THAT(error, HasSubstr("4242"));
  pinfold_free(error);
  runtime.kernel.find("poda/c")->processes.clear();
  EXPECT_EQ(pinfold_pod_remove(node, "a", 0, &error), PINFOLD_OK);
  EXPECT_EQ(runtime.cpus("poda"), "gone");
  pinfold_node_close(node);
}

/// A process id of such a hierarchy does not refer to a process of this machine, even if one has
/// the same id.
TEST_P(CallbackCgroupFs, TouchesNoProcessOfThisMachine) {
  Runtime runtime(GetParam());
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  char* error = nullptr;
  char* json = nullptr;
  ASSERT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, &error), PINFOLD_OK) << error;
  pinfold_pod_free(answer);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    while (true) ::pause();
  }
  auto& processes = runtime.kernel.find("poda/c")->processes;
  processes.insert(child);
  EXPECT_EQ(pinfold_node_reconcile(node, &json, &error), PINFOLD_OK) << error;
  pinfold_free(json);
  processes.clear();
  EXPECT_EQ(pinfold_node_reconcile(node, &json, &error), PINFOLD_OK) << error;
  EXPECT_THAT(json, HasSubstr("\"steps\":[]"));
  EXPECT_TRUE(processes.empty());
  pinfold_free(json);
  processes.insert(child);
  EXPECT_EQ(pinfold_pod_remove(node, "a", PINFOLD_REMOVE_KILL, &error), PINFOLD_UNSUPPORTED);
  EXPECT_THAT(error, HasSubstr("has processes of another kernel"));
  pinfold_free(error);
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);  // it still runs
  (void)::kill(child, SIGKILL);
  (void)::waitpid(child, nullptr, 0);
  pinfold_node_close(node);
}

TEST_P(CallbackCgroupFs, ANodeKnowsItsOfflineCpus) {
  Runtime runtime(GetParam());
  pinfold_node* node = runtime.open();
  pinfold_pod* answer = nullptr;
  char* error = nullptr;
  ASSERT_EQ(pinfold_pod_admit(node, pod("a", 2).c_str(), &answer, &error), PINFOLD_OK) << error;
  pinfold_pod_free(answer);
  pinfold_node_close(node);
  std::string less = kMachine;
  const std::string cpu = R"(,{"id":3,"core":3,"socket":1,"numa":1,"l3":1})";
  less.erase(less.find(cpu), cpu.size());
  runtime.options.machine = less.c_str();
  node = runtime.open();
  char* json = nullptr;
  EXPECT_EQ(pinfold_node_reconcile(node, &json, &error), PINFOLD_NOT_ENFORCED);
  EXPECT_THAT(error, HasSubstr("container c: lost CPU 3 of its 2-3 and runs on 2"));
  pinfold_free(error);
  pinfold_free(json);
  EXPECT_EQ(runtime.cpus("poda/c"), "2");
  EXPECT_EQ(pinfold_pod_admit(node, pod("b", 1).c_str(), &answer, &error), PINFOLD_UNSUPPORTED);
  EXPECT_THAT(error, HasSubstr("CPU 3 of this node is offline"));
  EXPECT_THAT(error, HasSubstr("is offline (default/a/c has it): no container"));
  pinfold_free(error);
  ASSERT_EQ(pinfold_pod_explain(node, pod("b", 4).c_str(), &answer, &error), PINFOLD_REJECTED);
  EXPECT_THAT(pinfold_pod_trace(answer), HasSubstr("CPU 3 of this node is offline"));
  pinfold_pod_free(answer);
  pinfold_free(error);
  pinfold_node_close(node);
}

TEST_P(CallbackCgroupFs, MakesThePartitionsOfTheConfiguration) {
  Runtime runtime(GetParam());
  const std::string config =
      runtime.options.config + std::string("pinfold: {partition: isolated}\n");
  runtime.options.config = config.c_str();
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  char* error = nullptr;
  ASSERT_EQ(pinfold_pod_admit(node, pod("a", 2).c_str(), &answer, &error), PINFOLD_OK) << error;
  pinfold_pod_free(answer);
  const auto& files = runtime.kernel.find("poda/c")->files;
  if (GetParam() == CgroupVersion::kV2) {
    EXPECT_EQ(files.at("cpuset.cpus.partition"), "isolated");
  } else {
    EXPECT_EQ(files.at("cpuset.cpu_exclusive"), "1");
  }
  pinfold_node_close(node);
}

TEST_P(CallbackCgroupFs, LeavesAFailedWriteToReconcile) {
  Runtime runtime(GetParam());
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  char* error = nullptr;
  runtime.kernel.writes_until_failure = 2;
  const pinfold_code code = pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, &error);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(code, PINFOLD_NOT_ENFORCED);
  EXPECT_THAT(error, HasSubstr("cgroup_fs: write"));
  pinfold_free(error);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(pinfold_pod_is_admitted(answer), 1);
  pinfold_pod_free(answer);
  EXPECT_THAT(runtime.log, Contains(HasSubstr("3 not enforced: ")));
  runtime.kernel.writes_until_failure = -1;
  char* json = nullptr;
  EXPECT_EQ(pinfold_node_reconcile(node, &json, &error), PINFOLD_OK) << error;
  EXPECT_THAT(json, HasSubstr("\"ok\":true"));
  pinfold_free(json);
  EXPECT_EQ(runtime.cpus("poda/c"), "1");
  pinfold_node_close(node);
}

/// Admits on a disk with this many free pages. The files must be sound once the disk has room
/// again.
pinfold_code admit_on_full_disk(std::size_t pages) {
  Runtime runtime(CgroupVersion::kV2);
  const test::SmallDisk disk;
  runtime.options.state_dir = disk.path().c_str();
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  char* error = nullptr;
  EXPECT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, &error), PINFOLD_OK) << error;
  pinfold_pod_free(answer);
  std::filesystem::remove(disk.path() + "/.pinfold_snapshot");
  disk.leave_free(pages);
  std::string large = pod("b", 1);
  for (int i = 0; i < 60; ++i) {
    large.insert(large.find("{name: c,"), fmt::format("{{name: c{}}}, ", i));
  }
  answer = nullptr;
  const pinfold_code code = pinfold_pod_admit(node, large.c_str(), &answer, &error);
  const bool is_stored = code == PINFOLD_OK || code == PINFOLD_NOT_SETTLED;
  EXPECT_EQ(is_stored, answer != nullptr);
  EXPECT_EQ(is_stored, answer != nullptr && pinfold_pod_is_admitted(answer) == 1);
  EXPECT_EQ(runtime.kernel.find("podb") != nullptr, is_stored);
  EXPECT_EQ(code == PINFOLD_OK, error == nullptr);
  if (code != PINFOLD_OK) {
    EXPECT_THAT(error, HasSubstr("No space left on device"));
  }
  if (code == PINFOLD_NOT_SETTLED) {
    EXPECT_THAT(runtime.log, Contains(std::string("2 ") + error));
    EXPECT_THAT(error,
                HasSubstr("stored in the journal, but the kubelet's files are out of date: "));
  }
  pinfold_free(error);
  pinfold_pod_free(answer);
  disk.empty();
  char* json = nullptr;
  EXPECT_EQ(pinfold_node_get_status(node, &json, &error), PINFOLD_OK) << error;
  EXPECT_EQ(std::string(json).find(R"("uid":"b")") != std::string::npos, is_stored) << json;
  EXPECT_FALSE(std::filesystem::exists(disk.path() + "/.pinfold_journal"));
  pinfold_free(json);
  pinfold_node_close(node);
  return code;
}

TEST(FullDisk, TheCodeTellsWhatIsStoredAndSettled) {
  if (!test::SmallDisk::can_mount()) GTEST_SKIP() << "mounting a tmpfs needs root";
  std::set<pinfold_code> codes;
  for (std::size_t pages = 0; pages < 16; ++pages) {
    SCOPED_TRACE(fmt::format("{} pages are free", pages));
    codes.insert(admit_on_full_disk(pages));
  }
  EXPECT_EQ(codes, (std::set<pinfold_code>{PINFOLD_OK, PINFOLD_IO, PINFOLD_NOT_SETTLED}));
}

TEST(StateDirectory, IsRefusedIfOthersCanWriteItUnlessAFlagAcceptsThat) {
  Runtime runtime(CgroupVersion::kV2);
  std::filesystem::permissions(runtime.state.path(), std::filesystem::perms::all);
  pinfold_node* node = nullptr;
  char* error = nullptr;
  EXPECT_EQ(pinfold_node_open(&runtime.options, &node, &error), PINFOLD_INVALID_ARGUMENT);
  EXPECT_EQ(node, nullptr);
  EXPECT_THAT(error, HasSubstr("run 'chmod go-w " + runtime.state.path() + "'"));
  pinfold_free(error);
  runtime.options.flags = PINFOLD_NODE_INSECURE_STATE_DIR;
  pinfold_node_close(runtime.open());
}

INSTANTIATE_TEST_SUITE_P(Versions, CallbackCgroupFs,
                         testing::Values(CgroupVersion::kV1, CgroupVersion::kV2),
                         [](const auto& param) {
                           return param.param == CgroupVersion::kV1 ? "V1" : "V2";
                         });

TEST(CallbackCgroupFsCheck, RejectsAHierarchyWithoutAllCallbacks) {
  Runtime runtime(CgroupVersion::kV2);
  runtime.cgroup_fs.list_children = nullptr;
  pinfold_node* node = nullptr;
  char* error = nullptr;
  EXPECT_EQ(pinfold_node_open(&runtime.options, &node, &error), PINFOLD_INVALID_ARGUMENT);
  EXPECT_THAT(error, HasSubstr("cgroup_fs: cgroup_version 2"));
  pinfold_free(error);
}

TEST(CallbackLog, ReportsWarningsAdmissionsAndWrites) {
  Runtime runtime(CgroupVersion::kV2);
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  ASSERT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, nullptr), PINFOLD_OK);
  pinfold_pod_free(answer);
  EXPECT_THAT(runtime.log, Contains(HasSubstr("2 configuration: unknown field 'unheardOf'")));
  EXPECT_THAT(runtime.log, Contains("1 pod 'a': admitted"));
  EXPECT_THAT(runtime.log, Contains("0 poda/c: cpuset.cpus := 1"));
  pinfold_node_close(node);
}

/// The commands print the same messages for the same configuration.
TEST(CallbackLog, SaysOfAConfigurationWhatTheCommandsSay) {
  Runtime runtime(CgroupVersion::kV2);
  runtime.options.config =
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\nfeatureGates: {SomethingNew: true}\n"
      "topologyManagerScope: pod\n";
  pinfold_node* const node = runtime.open();
  EXPECT_THAT(runtime.log, Contains(HasSubstr("2 configuration: feature gates that no kubelet")));
  EXPECT_THAT(runtime.log,
              Contains(HasSubstr("2 configuration: topologyManagerScope 'pod' has no effect")));
  runtime.log.clear();
  pinfold_reconfiguration change = PINFOLD_RECONFIGURATION_INIT;
  change.config = "cpuManagerPolicie: static\n";
  change.flags = PINFOLD_RECONFIGURE_DRY_RUN;
  char* plan = nullptr;
  EXPECT_EQ(pinfold_node_reconfigure(node, &change, &plan, nullptr), PINFOLD_OK);
  EXPECT_THAT(runtime.log, Contains(HasSubstr("did you mean 'cpuManagerPolicy'")));
  EXPECT_THAT(plan, HasSubstr(R"("warnings":["unknown field 'cpuManagerPolicie')"));
  pinfold_free(plan);
  pinfold_node_close(node);
}

TEST(CallbackLog, NamesTheKnownBugsThatAct) {
  // One core of two threads and two of one: the average core has one CPU, and CPU 1 is reserved.
  constexpr const char* kUnevenCores = R"({"name":"n","cpus":[
    {"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":0,"socket":0,"numa":0,"l3":0},
    {"id":2,"core":2,"socket":0,"numa":0,"l3":0},{"id":3,"core":3,"socket":0,"numa":0,"l3":0}],
    "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],"devices":[]})";
  Runtime runtime(CgroupVersion::kV2);
  runtime.options.machine = kUnevenCores;
  runtime.options.config =
      "cpuManagerPolicy: static\nreservedSystemCPUs: '1'\npinfold: {profile: kubelet-1.36}\n";
  pinfold_node* const node = runtime.open();
  for (const auto ask : {pinfold_pod_explain, pinfold_pod_admit}) {
    runtime.log.clear();
    pinfold_pod* answer = nullptr;
    ASSERT_EQ(ask(node, pod("a", 2).c_str(), &answer, nullptr), PINFOLD_OK);
    EXPECT_THAT(pinfold_pod_json(answer), HasSubstr("large_group_taken_with_cpus_in_use"));
    EXPECT_THAT(runtime.log, Contains(HasSubstr("2 pod 'a': A known bug of kubelet 1.36 applies")));
    pinfold_pod_free(answer);
  }
  pinfold_node_close(node);
}

/// Two licences, both on the NUMA node at position 1. The state has an x for each allocated one.
struct Licences {
  Licences() {
    provider.data = this;
    provider.name = "licences";
    provider.get_hints = [](void*, const char* state, const char*, const char*,
                            pinfold_hints* hints) {
      if (std::string(state).size() >= 2) {
        (void)pinfold_hints_set_impossible(hints, "example.com/licence");
      } else {
        (void)pinfold_hints_add(hints, "example.com/licence", 2, 1);
      }
    };
    provider.allocate = [](void* data, const char* state, const char* pod, const char* container,
                           uint64_t numa_mask, pinfold_text* new_state, pinfold_text* message) {
      static_cast<Licences*>(data)->seen = fmt::format("{} {} {}", pod, container, numa_mask);
      if (static_cast<Licences*>(data)->rejects) {
        (void)pinfold_text_set(message, "no licence today");
        return 1;
      }
      return pinfold_text_set(new_state, (std::string(state) + "x").c_str());
    };
    provider.release = [](void*, const char* state, const char*, const char*,
                          pinfold_text* new_state) {
      (void)pinfold_text_set(new_state, std::string(state).substr(1).c_str());
    };
  }
  pinfold_hint_provider provider = PINFOLD_HINT_PROVIDER_INIT;
  std::string seen;
  bool rejects = false;
};

TEST(CallbackHints, SteerAndReject) {
  Runtime runtime(CgroupVersion::kV2);
  Licences licences;
  const pinfold_hint_provider* const providers[] = {&licences.provider};
  runtime.options.hint_providers = providers;
  runtime.options.hint_provider_count = 1;
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  char* error = nullptr;
  ASSERT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, &error), PINFOLD_OK) << error;
  EXPECT_THAT(licences.seen, HasSubstr(" c 2"));
  EXPECT_THAT(licences.seen, HasSubstr("\"uid\":\"a\""));
  pinfold_pod_free(answer);
  EXPECT_EQ(runtime.cpus("poda/c"), "2");  // not 1, which comes first but is far from the licences
  licences.rejects = true;
  EXPECT_EQ(pinfold_pod_admit(node, pod("b", 1).c_str(), &answer, &error), PINFOLD_REJECTED);
  EXPECT_THAT(error, HasSubstr("no licence today"));
  pinfold_free(error);
  pinfold_pod_free(answer);
  licences.rejects = false;
  ASSERT_EQ(pinfold_pod_admit(node, pod("c", 1).c_str(), &answer, &error), PINFOLD_OK) << error;
  pinfold_pod_free(answer);
  EXPECT_EQ(pinfold_pod_admit(node, pod("d", 1).c_str(), &answer, &error), PINFOLD_REJECTED);
  EXPECT_THAT(error, HasSubstr("TopologyAffinityError"));
  pinfold_free(error);
  pinfold_pod_free(answer);
  EXPECT_EQ(pinfold_pod_remove(node, "a", 0, nullptr), PINFOLD_OK);
  EXPECT_EQ(pinfold_pod_admit(node, pod("d", 1).c_str(), &answer, nullptr), PINFOLD_OK);
  pinfold_pod_free(answer);
  pinfold_node_close(node);
}

/// A process id is checked before the cgroup is written; this node has no processes.
TEST(AttachProcess, RefusesWhatIsNoProcessToMove) {
  Runtime runtime(CgroupVersion::kV2);
  runtime.options.flags = PINFOLD_NODE_NO_ENFORCE;
  runtime.options.cgroup_fs = nullptr;
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  ASSERT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, nullptr), PINFOLD_OK);
  pinfold_pod_free(answer);
  const auto attach = [&](int64_t pid) {
    return pinfold_container_attach_process(node, "a", "c", pid, nullptr);
  };
  for (const int64_t pid : {int64_t{0}, int64_t{-7}, int64_t{1}, int64_t{1} << 40}) {
    EXPECT_EQ(attach(pid), PINFOLD_INVALID_ARGUMENT) << pid;
  }
  EXPECT_EQ(attach(0x7ffffff0), PINFOLD_NOT_FOUND);
  EXPECT_EQ(attach(::getpid()), PINFOLD_UNSUPPORTED);  // nothing is enforced
  char* error = nullptr;
  EXPECT_EQ(pinfold_container_attach_pidfd(node, "a", "c", -1, &error), PINFOLD_INVALID_ARGUMENT);
  EXPECT_STREQ(error, "attach process: descriptor -1: it is not open");
  pinfold_free(error);
  pinfold_node_close(node);
}

TEST(AttachProcess, APidfdIsNotOfAnotherKernel) {
  Runtime runtime(CgroupVersion::kV2);
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  ASSERT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, nullptr), PINFOLD_OK);
  pinfold_pod_free(answer);
  EXPECT_EQ(pinfold_container_attach_pidfd(node, "a", "c", 0, nullptr), PINFOLD_UNSUPPORTED);
  EXPECT_EQ(pinfold_container_attach_process(node, "a", "c", 1, nullptr), PINFOLD_INVALID_ARGUMENT);
  pinfold_node_close(node);
}

TEST(Callback, CannotCallItsNode) {
  Runtime runtime(CgroupVersion::kV2);
  struct Nosy {
    pinfold_node* node = nullptr;
    pinfold_code code = PINFOLD_OK;
  } nosy;
  runtime.sink.data = &nosy;
  runtime.sink.log = [](void* data, int32_t, const char*) {
    auto* const self = static_cast<Nosy*>(data);
    char* json = nullptr;
    if (self->node != nullptr) self->code = pinfold_node_get_status(self->node, &json, nullptr);
  };
  nosy.node = runtime.open();
  pinfold_pod* answer = nullptr;
  EXPECT_EQ(pinfold_pod_admit(nosy.node, pod("a", 1).c_str(), &answer, nullptr), PINFOLD_OK);
  pinfold_pod_free(answer);
  EXPECT_EQ(nosy.code, PINFOLD_BUSY);
  pinfold_node_close(nosy.node);
}

TEST(Callback, ExceptionFailsTheCall) {
  Runtime runtime(CgroupVersion::kV2);
  runtime.cgroup_fs.read_file = [](void*, const char*, const char*, const char*,
                                   pinfold_text*) -> int {
    throw std::runtime_error("thrown through C");
  };
  pinfold_node* node = nullptr;
  char* error = nullptr;
  EXPECT_EQ(pinfold_node_open(&runtime.options, &node, &error), PINFOLD_IO);
  EXPECT_THAT(error, HasSubstr("it threw 'thrown through C'"));
  pinfold_free(error);
  EXPECT_EQ(node, nullptr);
}

}  // namespace
}  // namespace pinfold
