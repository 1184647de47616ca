#include "hook/oci.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

/// The state that an OCI runtime passes to a hook, and what is merged into a config.json.
namespace pinfold::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPodFile =
    "metadata: {name: db, uid: db-1}\n"
    "spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}},"
    " {name: side, resources: {limits: {cpu: 1, memory: 1Gi}}}]}";

Result<HookRequest> request(const json& annotations, const std::string& pod_file = kPodFile,
                            const std::string& id = "a/b") {
  const json text = {
      {"id", id}, {"status", "created"}, {"bundle", "/b"}, {"annotations", annotations}};
  PINFOLD_LET(auto state, parse_hook_state(text.dump()));
  return read_request(state, Validation::kOn, [&](const std::string& path) -> Result<std::string> {
    if (path == "/pods/db.yaml") return pod_file;
    return fail(ErrorCode::kNotFound, "open '" + path + "'");
  });
}

PodUid uid_for(const std::string& id) {
  const auto made = request({{"io.pinfold.cpu", "1"}}, kPodFile, id);
  return made ? made->pod.uid : PodUid(made.error().message);
}

std::string error_of(const json& annotations) {
  const auto made = request(annotations);
  return made ? "no error" : made.error().message;
}

TEST(HookRequest, NotesAnAnnotationThatOnlyNriReads) {
  const auto own = request({{"io.pinfold.cpu", "1"}, {"pinfold.io/quiet", "system"}});
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_THAT(own->notes,
              testing::ElementsAre(testing::HasSubstr("pinfold.io/quiet has no effect")));
  const auto of_file =
      request({{"io.pinfold.pod-file", "/pods/db.yaml"}, {"io.pinfold.container", "c"}},
              "{kind: Pod, metadata: {name: a, annotations: {pinfold.io/quiet: system}}, spec: "
              "{containers: [{name: c}]}}");
  ASSERT_TRUE(of_file) << of_file.error().message;
  EXPECT_THAT(of_file->notes, testing::ElementsAre(testing::HasSubstr("pod 'default/a': its")));
  EXPECT_THAT(request({{"io.pinfold.cpu", "1"}})->notes, testing::IsEmpty());
}

TEST(HookState, IsRead) {
  const auto state = parse_hook_state(
      R"({"ociVersion":"1.0.2","id":"c","status":"creating","pid":42,"bundle":"/b","annotations":{"a":"b"}})");
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->id, "c");
  EXPECT_EQ(state->status, "creating");
  EXPECT_EQ(state->bundle, "/b");
  EXPECT_EQ(state->pid, 42);
  EXPECT_FALSE(concerns_pinfold(*state));
}

TEST(HookState, RejectsInvalidStates) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& one : {
           Case{"[]", "state: expected an object"},
           Case{R"({"status":"x","bundle":"b"})", "state.id: 'absent': expected a string"},
           Case{R"({"id":"","status":"x","bundle":"b"})", "state.id: expected a name"},
           Case{R"({"id":"c","status":1,"bundle":"b"})", "state.status: '1': expected a string"},
           Case{R"({"id":"c","status":"x","bundle":"b","pid":"1"})", "state.pid: '1': expected"},
           Case{R"({"id":"c","status":"x","bundle":"b","pid":1.5})", "state.pid: 1.5: expected"},
           Case{R"({"id":"c","status":"x","bundle":"b","pid":18446744073709551615})",
                "state.pid: 18446744073709551615: expected"},
           Case{R"({"id":"c","status":"x","bundle":"b","annotations":{"k":1}})",
                "state.annotations.'k': expected a string"},
       }) {
    const auto state = parse_hook_state(one.text);
    ASSERT_FALSE(state) << one.text;
    EXPECT_THAT(state.error().message, HasSubstr(one.message)) << one.text;
  }
}

TEST(HookStage, FollowsFromTheStatus) {
  EXPECT_EQ(stage_of("creating"), HookStage::kCreateRuntime);  // runc
  EXPECT_EQ(stage_of("created"), HookStage::kCreateRuntime);   // crun
  EXPECT_EQ(stage_of("stopped"), HookStage::kPoststop);
  for (const char* status : {"running", "paused", "Stopped", "stopped ", ""}) {
    const auto stage = stage_of(status);
    ASSERT_FALSE(stage) << status;
    EXPECT_EQ(stage.error().message, "state.status: '" + std::string(status) +
                                         "': expected creating or created (createRuntime), or "
                                         "stopped (poststop)");
  }
}

TEST(HookState, HasAProcessThatLinuxCanHave) {
  EXPECT_EQ(container_pid(2), 2);
  EXPECT_EQ(container_pid(4194304), 4194304);
  for (const std::int64_t pid :
       {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{4194305},
        (std::int64_t{1} << 32) + 5, std::numeric_limits<std::int64_t>::min()}) {
    const auto made = container_pid(pid);
    ASSERT_FALSE(made) << pid;
    EXPECT_THAT(made.error().message, HasSubstr("state.pid: " + std::to_string(pid) + ": "));
  }
}

TEST(HookRequestOf, AmountsIsAPodOfOneContainer) {
  const auto made = request({{"io.pinfold.cpu", "2"},
                             {"io.pinfold.memory", "1Gi"},
                             {"io.pinfold.hugepages-2Mi", "64Mi"},
                             {"org.other", "ignored"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->pod.uid, PodUid("oci-a.b-3a8e75c1"));
  EXPECT_EQ(made->pod.name, "oci-a.b-3a8e75c1");
  EXPECT_EQ(made->container, "main");
  ASSERT_EQ(made->pod.containers.size(), 1U);
  EXPECT_EQ(qos_class(made->pod, FeatureGates{}), QosClass::kGuaranteed);
}

TEST(HookRequestOf, NamesOfPodAndContainer) {
  const auto made = request(
      {{"io.pinfold.cpu", "1"}, {"io.pinfold.pod", "shop"}, {"io.pinfold.container", "web"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->pod.name, "shop");
  EXPECT_EQ(made->pod.uid, PodUid("oci-a.b-3a8e75c1"));
  EXPECT_EQ(made->container, "web");
  EXPECT_NE(made->pod.find("web"), nullptr);
}

// Runtimes leave the ID to their callers: crun's tests use IDs that end with '_'.
TEST(HookRequestOf, EachIdHasAUidOfItsOwn) {
  for (const char* id : {"a", "tmp9ci2ddp_", "_a", "-a.", "a..b", "a+b"}) {
    EXPECT_EQ(uid_for(id), PodUid(std::string("oci-") + id));
  }
  const std::string long_id(300, 'x');
  std::set<std::string> uids = {"oci-a.b"};
  for (const std::string& id :
       {std::string("a:b"), std::string("a/b"), std::string("a b"), long_id, long_id + "y"}) {
    const PodUid uid = uid_for(id);
    EXPECT_TRUE(is_safe_name(uid.value)) << uid;
    EXPECT_TRUE(uids.insert(uid.value).second) << uid;
  }
}

TEST(HookRequestOf, APodFile) {
  const auto made =
      request({{"io.pinfold.pod-file", "/pods/db.yaml"}, {"io.pinfold.container", "side"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->pod.uid, PodUid("db-1"));
  EXPECT_EQ(made->container, "side");
}

TEST(HookRequestOf, RejectsAnnotationsThatWouldLoseCpus) {
  EXPECT_THAT(error_of({{"io.pinfold.cpus", "2"}}),
              HasSubstr("annotation io.pinfold.cpus: unknown"));
  EXPECT_THAT(error_of({{"io.pinfold.cpu", "two"}}), HasSubstr("two"));
  EXPECT_THAT(error_of({{"io.pinfold.pod-file", "/pods/db.yaml"}, {"io.pinfold.cpu", "1"}}),
              HasSubstr("annotation io.pinfold.cpu: not allowed with a Pod file"));
  EXPECT_THAT(error_of({{"io.pinfold.pod-file", "/none"}}),
              HasSubstr("annotation io.pinfold.pod-file: open '/none'"));
  EXPECT_THAT(error_of({{"io.pinfold.pod-file", "/pods/db.yaml"}}),
              HasSubstr("expected the name of a container in '/pods/db.yaml'"));
}

/// The hook runs as root, and a container's author reads its messages. No message may quote a
/// secret from a file that is not a Pod.
TEST(HookRequestOf, QuotesNothingOfAPodFile) {
  constexpr const char* kGood = "{metadata: {name: db}, spec: {containers: [{name: main}]}}";
  ASSERT_TRUE(request({{"io.pinfold.pod-file", "/pods/db.yaml"}}, kGood)) << "the cases vary it";
  std::vector<std::string> files = {
      "SECRET",
      "root:$6$SECRET:19000:0:99999:7:::\n",
      "[SECRET",
      "{\"SECRET",
      "{\"a\": SECRET}",
      "\tSECRET: 1",
      "a: *SECRET",
      "a: !SECRET b",
      "{SECRET: 1, SECRET: 2}",
      "a: 1\n---\nb: SECRET",
      "{kind: SECRET, metadata: {name: db}, spec: {containers: [{name: main}]}}",
      "{kind: Deployment, metadata: {name: SECRET}}",
      "{apiVersion: SECRET, metadata: {name: db}, spec: {containers: [{name: main}]}}",
      "{metadata: {name: SECRET}, spec: {containers: [{name: main}]}}",
      "{metadata: {name: ../SECRET}, spec: {containers: [{name: main}]}}",
      "{metadata: {name: db, uid: ../SECRET}, spec: {containers: [{name: main}]}}",
      "{metadata: {name: db, namespace: ../SECRET}, spec: {containers: [{name: main}]}}",
      "{metadata: {name: db}, spec: {containers: [{name: ../SECRET}]}}",
      "{metadata: {name: db}, spec: {containers: [{name: main, SECRET: 1}]}}",
      "{metadata: {name: db}, SECRET: {}, spec: {containers: [{name: main}]}}",
      "{metadata: {name: db}, spec: {containers: [{name: secret}, {name: secret}]}}",
      "{metadata: {name: db}, spec: {containers: SECRET}}",
      "{metadata: {name: db}, spec: {restartPolicy: [SECRET], containers: [{name: main}]}}",
      "{metadata: {name: db}, spec: {containers: [{name: secret}]}}",
  };
  for (const char* resources :
       {"limits: {cpu: SECRET}", "limits: {SECRET: 1}", "limits: {hugepages-SECRET: 1}",
        "limits: {cpu: 1}, requests: {cpu: 31337}"}) {
    files.push_back(
        fmt::format("{{metadata: {{name: db}}, spec: {{containers: [{{name: main, "
                    "resources: {{{}}}}}]}}}}",
                    resources));
  }
  for (const std::string& file : files) {
    const auto made = request(
        {{"io.pinfold.pod-file", "/pods/db.yaml"}, {"io.pinfold.container", "other"}}, file);
    ASSERT_FALSE(made) << file;
    const std::string& message = made.error().message;
    EXPECT_THAT(message, testing::AnyOf(HasSubstr("annotation io.pinfold.pod-file: "
                                                  "'/pods/db.yaml' is not a valid Pod"),
                                        HasSubstr("annotation io.pinfold.container: 'other': ")))
        << file;
    for (const char* word : {"SECRET", "secret", "31337"}) {
      EXPECT_THAT(message, Not(HasSubstr(word))) << file;
    }
  }
}

TEST(OciResources, AreThoseOfAConfigJson) {
  ContainerResources decided;
  decided.cpuset_mems = "0-1";
  decided.isolation = Isolation::kContainer;
  decided.linux_resources.cpu_shares = 2048;
  decided.linux_resources.cpu_quota = -1;
  decided.linux_resources.cpu_period = 100000;
  decided.linux_resources.memory_limit = 1 << 20;
  decided.linux_resources.hugepage_limits = {{"2MB", 4 << 20}};
  EXPECT_EQ(oci_config(decided, CpuSet{2, 3}, ExecCpus::kAll), json::parse(R"({
    "process": {"execCPUAffinity": {"final": "2-3"}},
    "linux": {
      "resources": {
        "cpu": {"shares": 2048, "quota": -1, "period": 100000, "cpus": "2-3", "mems": "0-1"},
        "memory": {"limit": 1048576}, "hugepageLimits": [{"pageSize": "2MB", "limit": 4194304}]},
      "memoryPolicy": {"mode": "MPOL_BIND", "nodes": "0-1"}}})"));
  EXPECT_EQ(oci_config(decided, CpuSet{2, 3}, ExecCpus::kFirst)["process"],
            json::parse(R"({"execCPUAffinity": {"final": "2"}})"));
  decided.isolation = Isolation::kHost;
  EXPECT_FALSE(oci_config(decided, CpuSet{2, 3}, ExecCpus::kFirst).contains("process"))
      << "the pool changes";
  EXPECT_EQ(oci_config(ContainerResources(), CpuSet(), ExecCpus::kFirst),
            json::parse(R"({"linux": {"resources": {"cpu": {"shares": 0}}}})"));
}

json config_of(const json& annotations, const std::string& cgroups_path) {
  return {{"process", {{"env", {"PATH=/bin", "PINFOLD_CPUS=9", "PINFOLD_CPUS_OTHER=1"}}}},
          {"mounts", {{{"destination", "/proc"}, {"type", "proc"}}}},
          {"annotations", annotations},
          {"linux", {{"cgroupsPath", cgroups_path}}}};
}

TEST(HookConfig, HasTheIdInItsCgroup) {
  const json annotations = {{"io.pinfold.cpu", "1"}};
  for (const auto& [path, id] :
       {std::pair{"/libpod_parent/libpod-abc", "abc"}, std::pair{"machine.slice:libpod:abc", "abc"},
        std::pair{"/runtime/one", "one"}, std::pair{"one", "one"}}) {
    const auto state = state_of_config(config_of(annotations, path), "");
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->id, id) << path;
  }
  EXPECT_EQ(state_of_config(config_of(annotations, "/a/b"), "named")->id, "named");
  EXPECT_EQ(state_of_config(config_of({{"org.other", "x"}}, ""), "")->id, "") << "none of ours";
  for (const json& wrong : {config_of(annotations, ""), config_of(annotations, "/"),
                            json{{"annotations", annotations}}}) {
    const auto state = state_of_config(wrong, "");
    ASSERT_FALSE(state) << wrong;
    EXPECT_THAT(state.error().message, HasSubstr("linux.cgroupsPath"));
  }
  EXPECT_FALSE(state_of_config(json::array(), ""));
  EXPECT_THAT(state_of_config({{"annotations", 1}}, "").error().message,
              HasSubstr("annotations: expected an object"));
}

TEST(HookConfig, AsksForItsResources) {
  const auto asked = [](const std::string& value) {
    HookState state;
    state.annotations["io.pinfold.assigned"] = value;
    return asked_of(state);
  };
  EXPECT_EQ(asked_of({}).value(), std::nullopt);
  EXPECT_EQ(asked("false").value(), std::nullopt);
  EXPECT_EQ(asked("true").value(), AssignedVariables());
  EXPECT_EQ(asked("{W: assigned.cpuset, M: assigned.memset}").value(),
            (AssignedVariables{{"W", kAssignedCpuset}, {"M", kAssignedMemset}}));
  for (const auto& [value, message] :
       {std::pair{"7", "annotation io.pinfold.assigned: 7: expected true, false, or variables"},
        std::pair{"{W: cpus}",
                  "annotation io.pinfold.assigned.W: 'cpus': expected assigned.cpuset"},
        std::pair{"{'A=B': assigned.cpuset}", "expected the name of an environment variable"},
        std::pair{"{'': assigned.cpuset}", "expected the name of an environment variable"},
        std::pair{"{", "annotation io.pinfold.assigned: "}}) {
    const auto read = asked(value);
    ASSERT_FALSE(read) << value;
    EXPECT_THAT(read.error().message, HasSubstr(message)) << value;
  }
}

TEST(HookConfig, GetsVariablesAndAMount) {
  json config = config_of({}, "/a");
  const verbs::OwnResources own{"/s/u/c", {"1-2", "0", "1-2", ""}};
  ASSERT_TRUE(
      add_own_resources(own, {{"WORKERS", kAssignedCpuset}, {"NODES", kAssignedMemset}}, config));
  EXPECT_EQ(config["process"]["env"], json({"PATH=/bin", "PINFOLD_CPUS_OTHER=1", "PINFOLD_CPUS=1-2",
                                            "PINFOLD_MEMS=0", "NODES=", "WORKERS=1-2"}));
  ASSERT_EQ(config["mounts"].size(), 2U);
  EXPECT_EQ(config["mounts"][1],
            json({{"destination", "/run/pinfold/self"},
                  {"type", "bind"},
                  {"source", "/s/u/c"},
                  {"options", {"bind", "ro", "nosuid", "nodev", "noexec", "rprivate"}}}));
  json bare = {{"process", json::object()}};
  ASSERT_TRUE(add_own_resources(own, {}, bare));
  EXPECT_EQ(bare["mounts"].size(), 1U);
  for (json wrong : {json::object(), json{{"process", {{"env", 1}}}},
                     json{{"process", json::object()}, {"mounts", "x"}}}) {
    EXPECT_FALSE(add_own_resources(own, {}, wrong)) << wrong;
  }
}

}  // namespace
}  // namespace pinfold::tools
