#include "pinfold/socket/protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "node_samples.hpp"
#include "pinfold/agent/outcome.hpp"

/// The messages between the commands and the service.
namespace pinfold::socket {
namespace {

using std::chrono::milliseconds;
using test::guaranteed;
using test::pod;
using testing::HasSubstr;

const ContainerId kContainer{PodUid("u"), "c"};

verbs::Reconfigure all_of_reconfigure() {
  verbs::Reconfigure request;
  request.config = "cpuManagerPolicy: none # text\n";
  request.machine = test::two_sockets();
  request.evict = verbs::Evict::kRejected;
  request.running = agent::RunningProcesses::kKill;
  request.undo = true;
  request.dry_run = true;
  return request;
}

struct NamedAction {
  const char* name;
  verbs::Action action;
};
std::vector<NamedAction> all_actions() {
  const PodSpec spec = pod("u", {guaranteed("c", 2)});
  return {{"admit", verbs::Admit{{spec, pod("v", {test::best_effort("c")})}, true}},
          {"preview", verbs::PreviewAdmit{{spec, pod("v", {test::best_effort("c")})}, true, true}},
          {"start", verbs::Start{kContainer}},
          {"attach", verbs::Attach{kContainer, {7, 1ULL << 60U}}},
          {"remove a pod", verbs::Remove{PodUid("u"), "", agent::RunningProcesses::kKill}},
          {"remove a container", verbs::Remove{PodUid("u"), "c", agent::RunningProcesses::kRefuse}},
          {"releaseUnknown", verbs::ReleaseUnknown{}},
          {"admitHooked",
           verbs::AdmitHooked{spec, {"c", "/sys/fs/cgroup/x"}, enforce::ProcessId{7, 8}}},
          {"admitHooked without a process", verbs::AdmitHooked{spec, {"c", "/x"}, std::nullopt}},
          {"removeHooked", verbs::RemoveHooked{kContainer}},
          {"prepareHooked", verbs::PrepareHooked{spec, "c", {7, 8}}},
          {"reconcile", verbs::Reconcile{agent::PageMoves::kOn}},
          {"settle", verbs::CheckpointJournal{}},
          {"adopt", verbs::Adopt{PodUid("u"), {"c", "/sys/fs/cgroup/x"}}},
          {"resize", verbs::Resize{{kContainer, Quantity::milli(2500)}}},
          {"comparison", verbs::ReadComparison{}},
          {"service", verbs::ReadService{}},
          {"status", verbs::ReadStatus{}},
          {"list", verbs::ListPods{}},
          {"reconfigure", verbs::Reconfigure{}},
          {"reconfigure with all", all_of_reconfigure()},
          {"defragment", verbs::Defragment{spec, true}}};
}

TEST(Protocol, ReadsEveryRequestThatItWrites) {
  for (const auto& [name, action] : all_actions()) {
    const std::string line = encode({action, milliseconds(5000)});
    EXPECT_EQ(line.find('\n'), std::string::npos) << name;
    const auto call = decode_call(line);
    ASSERT_TRUE(call.has_value()) << name << ": " << call.error().message;
    EXPECT_EQ(call->timeout, milliseconds(5000)) << name;
    EXPECT_EQ(call->action.index(), action.index()) << name;
    EXPECT_EQ(encode(*call), line) << name;
  }
}

TEST(Protocol, KeepsPodsAsTheyAre) {
  const PodSpec spec = pod("u", {guaranteed("c", 2), test::half_a_cpu("d")});
  const auto call = decode_call(encode({verbs::Admit{{spec}}, milliseconds(0)}));
  EXPECT_EQ(std::get<verbs::Admit>(call.value().action).pods.at(0), spec);
}

verbs::Comparison some_comparison() {
  verbs::CpusetDifference difference;
  difference.container = {{PodUid("u"), "default", "web"}, "c"};
  difference.observed_cpus = CpuSet::range(0, 7);
  difference.desired_cpus = CpuSet{1, 2};
  difference.observed_mems = {0, 1};
  difference.why_shared = "it is Burstable, not Guaranteed";
  return {14, {difference}};
}

verbs::Reconfigured some_plan() {
  verbs::Reconfigured outcome;
  agent::Reconfiguration& planned = outcome.planned;
  planned.differences = {"reservedSystemCPUs: '0' becomes '0-1'"};
  PlannedContainer moved;
  moved.id = kContainer;
  moved.change = pinfold::Change::kMoved;
  moved.cpus_before = CpuSet{1, 2};
  moved.cpus_after = CpuSet{6, 7};
  moved.memory_before = {{{0, 1}, "memory", 1ULL << 40U}};
  moved.cpus_moved = 2;
  moved.bytes_moved = 1ULL << 60U;
  moved.why = "CPU 1 is now reserved";
  PlannedContainer evicted;
  evicted.id = {PodUid("held"), "c"};
  evicted.change = pinfold::Change::kEvicted;
  evicted.rejection = Rejection{"reason", "message", ""};
  planned.plan.containers = {moved, evicted};
  planned.plan.evicted = {PodUid("held")};
  planned.plan.cost = {1, 2, 3, 4, 5};
  planned.plan.optimal = true;
  planned.plan.short_of_requests = {{PodUid("u"), {"OutOfcpu", "message", ""}}};
  planned.parked = {kContainer};
  planned.steps[kContainer] = {"cpuset.cpus := 0", "cpuset.cpus := 6-7"};
  planned.is_undo = true;
  planned.pods = {{PodUid("u"), {PodUid("u"), "default", "web"}}};
  planned.room = agent::Room{{PodUid("b"), "default", "big"},
                             Rejection{"r", "m", "c"},
                             true,
                             true,
                             Rejection{"l", "n", ""}};
  outcome.is_applied = true;
  outcome.other_node = verbs::NodeParts{test::two_sockets(), Config{}};
  outcome.change.not_enforced = Error{ErrorCode::kIo, 28, "no space"};
  outcome.change.measured = {{kContainer, std::chrono::nanoseconds(7), std::nullopt, 9}};
  return outcome;
}

struct NamedAnswer {
  const char* name;
  Result<verbs::Answer> answer;
};
std::vector<NamedAnswer> all_answers() {
  const Error error{ErrorCode::kBusy, 11, "message with \"quotes\"\n"};
  agent::AdmitOutcome rejected;
  rejected.rejection = Rejection{"reason", "message", "cause"};
  agent::ReconcileReport report;
  report.drift = {"a", "b"};
  report.moved = {"step"};
  report.notes = {"note"};
  agent::DecidedPod decided;
  decided.spec = pod("u", {guaranteed("c", 2)});
  decided.qos = QosClass::kGuaranteed;
  agent::ContainerStatus& container = decided.containers.emplace_back();
  container.resources.name = "c";
  container.resources.exclusive_cpus = CpuSet{1, 2};
  container.desired.cpus = CpuSet{1, 2};
  agent::DecidedPod held;
  held.spec.uid = PodUid("held");
  held.is_held = true;
  agent::NodeStatus status;
  status.pods = {decided};
  status.shared_pool = CpuSet{0, 3};
  agent::ResizeOutcome resized;
  resized.before = CpuSet{1, 2};
  resized.after = CpuSet{1, 2, 5};
  agent::ResizeOutcome not_resized;
  not_resized.refused = NotResized{ResizeReason::kDeferred, {"reason", "message", "cause"}, "wait"};
  return {
      {"admissions with pods", verbs::Admissions{{{}}, {}, {decided}}},
      {"status", status},
      {"list", verbs::PodList{{decided, held}}},
      {"done", verbs::Done{}},
      {"admissions", verbs::Admissions{{{}, rejected}, {Trace{{{"cpu", "c", "text"}}}, Trace{}}}},
      {"change", agent::ChangeOutcome{error}},
      {"prepared", verbs::PreparedContainer{verbs::OwnResources{
                       "/var/lib/pinfold/pinfold_assigned/u/c", {"1-2", "0", "1-2", ""}}}},
      {"not prepared", verbs::PreparedContainer{verbs::Refusal{"summary", error}}},
      {"resized", resized},
      {"not resized", not_resized},
      {"hook", verbs::HookOutcome{}},
      {"refusal", verbs::HookOutcome{verbs::Refusal{"summary", error}}},
      {"rejected refusal",
       verbs::HookOutcome{verbs::Refusal{"rejected, r", error, rejected.rejection}}},
      {"report", report},
      {"empty comparison", verbs::Comparison{}},
      {"comparison", some_comparison()},
      {"service", verbs::ServiceReport{milliseconds(7), false, "/run/p.sock", "a reason"}},
      {"plan", verbs::Reconfigured{}},
      {"reconfiguration", some_plan()}};
}

TEST(Protocol, ReadsEveryAnswerThatItWrites) {
  for (const auto& [name, answer] : all_answers()) {
    const std::string line = encode(answer);
    EXPECT_EQ(line.find('\n'), std::string::npos) << name;
    const auto read = decode_answer(line);
    ASSERT_TRUE(read.has_value()) << name << ": " << read.error().message;
    EXPECT_EQ(read->index(), answer->index()) << name;
    EXPECT_EQ(encode(read), line) << name;
  }
}

TEST(Protocol, MemoryNodesAreInTheListFormat) {
  verbs::PodList list;
  list.pods.emplace_back().containers.emplace_back().resources.cpuset_mems = "0,1";
  const std::string line = encode(Result<verbs::Answer>(list));
  EXPECT_THAT(line, HasSubstr(R"("mems":"0-1")"));
  const auto read = decode_answer(line);
  const auto& pods = std::get<verbs::PodList>(read.value()).pods;
  EXPECT_EQ(pods.front().containers.front().resources.cpuset_mems, "0,1") << "as for the OCI";
}

TEST(Protocol, KeepsAServiceReport) {
  const verbs::ServiceReport report{milliseconds(7), false, "/run/p.sock", "a reason"};
  const auto read = decode_answer(encode(Result<verbs::Answer>(report)));
  EXPECT_EQ(std::get<verbs::ServiceReport>(read.value()), report);
}

TEST(Protocol, KeepsAComparison) {
  const auto read = decode_answer(encode(Result<verbs::Answer>(some_comparison())));
  EXPECT_EQ(std::get<verbs::Comparison>(read.value()), some_comparison());
  const auto wrong = decode_answer(
      R"({"comparison":{"comparedCount":1,"differences":[{"pod":{"uid":"u","namespace":"n",)"
      R"("name":"p"},"container":"c","cpus":"2-1","mems":"","cpusetCpusEffective":"",)"
      R"("cpusetMemsEffective":"","whyShared":""}]}})");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error().message, HasSubstr("comparison.differences[0].cpus: '2-1'"));
}

TEST(Protocol, KeepsAPlan) {
  const auto read = decode_answer(encode(Result<verbs::Answer>(some_plan())));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const auto& outcome = std::get<verbs::Reconfigured>(*read);
  const verbs::Reconfigured expected = some_plan();
  EXPECT_EQ(outcome.planned.plan.containers, expected.planned.plan.containers);
  EXPECT_EQ(outcome.planned.plan.evicted, expected.planned.plan.evicted);
  EXPECT_EQ(outcome.planned.plan.cost, expected.planned.plan.cost);
  EXPECT_EQ(outcome.planned.plan.short_of_requests, expected.planned.plan.short_of_requests);
  EXPECT_EQ(outcome.planned.parked, expected.planned.parked);
  EXPECT_EQ(outcome.planned.pods, expected.planned.pods);
  EXPECT_EQ(outcome.change.measured, expected.change.measured);
  ASSERT_TRUE(outcome.other_node);
  EXPECT_EQ(outcome.other_node->machine, expected.other_node->machine);
  EXPECT_EQ(outcome.other_node->config, expected.other_node->config);
  ASSERT_TRUE(outcome.planned.room);
  EXPECT_EQ(outcome.planned.room->limit->reason, "l");
}

TEST(Protocol, AnErrorKeepsItsCodeErrnoAndMessage) {
  for (const auto code :
       {ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kCorrupt, ErrorCode::kIo,
        ErrorCode::kUnsupported, ErrorCode::kInternal, ErrorCode::kBusy}) {
    const Error error{code, 28, "no space"};
    EXPECT_EQ(decode_answer(encode(Result<verbs::Answer>(tl::unexpected(error)))).error(), error);
  }
}

TEST(Protocol, AnAnswerThatIsTooLongBecomesAnError) {
  verbs::Admissions admissions{{{}}, {Trace{{{"cpu", "c", std::string(kMaxMessage, 'x')}}}}};
  const auto read = decode_answer(encode(Result<verbs::Answer>(std::move(admissions))));
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message, HasSubstr("the request is done, but the answer is longer"));
  EXPECT_TRUE(agent::is_unknown_outcome(read.error())) << "not an error that changes nothing";
}

TEST(Protocol, HelloKeepsTheNode) {
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.profile = Profile::kKubelet136;
  const Hello hello{"0.2.0",
                    "/var/lib/pinfold",
                    config,
                    agent::ProfileSource::kStateFiles,
                    test::two_sockets(),
                    "/sys/fs/cgroup/p"};
  const auto read = decode_hello(encode(hello));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->version, hello.version);
  EXPECT_EQ(read->state_dir, hello.state_dir);
  EXPECT_EQ(read->config, hello.config);
  EXPECT_EQ(read->profile_source, hello.profile_source);
  EXPECT_EQ(read->machine, hello.machine);
  EXPECT_EQ(read->cgroup_root, hello.cgroup_root);
}

TEST(Protocol, RefusesAnotherVersion) {
  EXPECT_TRUE(decode_hello_request(encode_hello_request()).has_value());
  const auto older = decode_hello_request(R"({"hello":{"version":1}})");
  ASSERT_FALSE(older.has_value());
  EXPECT_EQ(older.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(older.error().message, HasSubstr("hello.version: 1: this service speaks version 2"));
  const auto hello = decode_hello(R"({"hello":{"version":1,"software":"0.2.0"}})");
  ASSERT_FALSE(hello.has_value());
  EXPECT_EQ(hello.error().message, "hello.version: 1: expected 2");
}

/// A Pod in JSON, with the members of its status.
std::string pod_with(const std::string& name, const std::string& status) {
  return R"({"metadata":{"name":")" + name +
         R"("},"spec":{"containers":[{"name":"c"}]},"status":{)" + status + "}}";
}

TEST(Protocol, SkipsFinishedPodsOfSeveral) {
  const std::string done = pod_with("done", R"("phase":"Failed")");
  const auto call = decode_call(R"({"admit":{"manifests":[)" + done + "," +
                                pod_with("a", R"("phase":"Running")") + "]}}");
  ASSERT_TRUE(call) << call.error().message;
  const auto& admit = std::get<verbs::Admit>(call->action);
  ASSERT_EQ(admit.pods.size(), 1U);
  EXPECT_EQ(admit.pods.front().name, "a");
  EXPECT_THAT(admit.warnings,
              testing::ElementsAre("pod 'default/done' has finished (Failed): skipped"));
  EXPECT_EQ(decode_call(R"({"admit":{"manifests":[)" + done + "]}}").error().message,
            "admit.manifests: expected at least one pod; "
            "pod 'default/done' has finished (Failed): skipped");
}

TEST(Protocol, WarnsOfAnAnnotationThatOnlyNriReads) {
  const auto call = decode_call(
      R"({"admit":{"manifests":[{"metadata":{"name":"a","annotations":{"pinfold.io/quiet":"system"}},)"
      R"("spec":{"containers":[{"name":"c"}]}}]}})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_THAT(std::get<verbs::Admit>(call->action).warnings,
              testing::ElementsAre(HasSubstr("annotation pinfold.io/quiet has no effect")));
}

TEST(Protocol, RefusesAFinishedPodAlone) {
  const std::string manifest = R"("manifest":)" + pod_with("a", R"("phase":"Succeeded")");
  for (const std::string& line :
       {R"({"admitHooked":{"container":"c","cgroupPath":"/x",)" + manifest + "}}",
        R"({"prepareHooked":{"container":"c","creator":{"pid":7,"startTime":8},)" + manifest + "}}",
        R"({"defragment":{)" + manifest + "}}"}) {
    const auto call = decode_call(line);
    ASSERT_FALSE(call) << line;
    EXPECT_THAT(call.error().message, HasSubstr("pod 'default/a' has finished (Succeeded)"));
  }
}

TEST(Protocol, AnswersWithTheWarningsOfARequest) {
  verbs::Admissions admissions;
  admissions.warnings = {"skipped"};
  const auto read = decode_answer(encode(Result<verbs::Answer>(admissions)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<verbs::Admissions>(*read).warnings, admissions.warnings);
}

struct BadMessage {
  const char* line;
  const char* message;
};

TEST(Protocol, NamesWhatIsWrongInARequest) {
  const BadMessage cases[] = {
      {"", "message: expected a JSON object"},
      {"{admit: {}}", "message: expected a JSON object"},
      {R"({"admit":)", "message"},
      {R"({"admit":{"manifests":[]},"start":{}})",
       "message: an object: expected an object with one"},
      {R"({"timeoutSeconds":5})", "message: an object: expected an object with one member"},
      {R"({"dance":{}})", "message: 'dance': expected the name of a request"},
      {R"({"admit":3})", "admit: 3: expected an object"},
      {R"({"admit":{}})", "admit.manifests: missing"},
      {R"({"admit":{"manifests":[]}})", "admit.manifests: expected at least one pod"},
      {R"({"admit":{"manifests":{}}})", "admit.manifests: an object: expected a list"},
      {R"({"admit":{"manifests":[{}]}})", "admit.manifests[0]"},
      {R"({"admit":{"manifests":[{"metadata":{"name":"../x"},)"
       R"("spec":{"containers":[{"name":"c"}]}}]}})",
       "metadata.name"},
      {R"({"start":{"podUid":"u"}})", "start.container: missing"},
      {R"({"start":{"podUid":"u","container":3}})", "start.container: 3: expected a string"},
      {R"({"start":{"podUid":"u","container":"c","x":1}})", "start.x: 1: expected no such member"},
      {R"({"attach":{"podUid":"u","container":"c","process":{"pid":-1}}})",
       "attach.process.pid: -1: expected a whole number"},
      {R"({"attach":{"podUid":"u","container":"c","process":{"pid":4294967296}}})",
       "attach.process.pid: 4294967296: expected a whole number from 0 to 2147483647"},
      {R"({"remove":{"podUid":"u","kill":"yes"}})", "remove.kill: 'yes': expected true or false"},
      {R"({"reconfigure":{"evict":"all"}})",
       "reconfigure.evict: 'all': expected 'none', 'lost' or 'rejected'"},
      {R"({"reconfigure":{"config":{}}})", "reconfigure.config: an object: expected a string"},
      {R"({"reconfigure":{"machine":{}}})", "reconfigure.machine"},
      {R"({"reconfigure":{"machine":7}})", "reconfigure.machine"},
      {R"({"reconfigure":{"undo":1}})", "reconfigure.undo: 1: expected true or false"},
      {R"({"reconfigure":{"dryrun":true}})", "reconfigure.dryrun: true: expected no such member"},
      {R"({"defragment":{}})", "defragment.manifest: missing"},
      {R"({"defragment":{"manifest":{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c"}]}},)"
       R"("stepCount":10001}})",
       "defragment.stepCount: 10001: expected a whole number from 0 to 10000"},
      {R"({"defragment":{"manifest":{"metadata":{"name":"../x"},)"
       R"("spec":{"containers":[{"name":"c"}]}}}})",
       "metadata.name"},
      {R"({"settle":{"now":true}})", "settle.now: true: expected no such member"},
      {R"({"settle":{},"timeoutSeconds":-1})",
       "timeoutSeconds: -1: expected a number of seconds from 0 to 3600"},
  };
  for (const auto& [line, message] : cases) {
    const auto call = decode_call(line);
    ASSERT_FALSE(call.has_value()) << line;
    EXPECT_EQ(call.error().code, ErrorCode::kInvalidArgument) << line;
    EXPECT_THAT(call.error().message, HasSubstr(message)) << line;
  }
}

TEST(Protocol, RefusesWhatIsNested) {
  const std::string deep = R"({"settle":)" + std::string(1'000'000, '[');
  EXPECT_FALSE(decode_call(deep).has_value());
}

TEST(Protocol, NamesWhatIsWrongInAnAnswer) {
  const BadMessage cases[] = {
      {R"({"sung":{}})", "message: 'sung': expected the name of an answer"},
      {R"({"error":{"code":"odd","message":"m"}})",
       "error.code: 'odd': expected 'invalid argument', 'not found', "},
      {R"({"admissions":{"outcomes":{}}})", "admissions.outcomes: an object: expected a list"},
      {R"({"admissions":{"outcomes":[{"notEnforced":3}]}})",
       "admissions.outcomes[0].notEnforced: 3: expected an object"},
      {R"({"report":{"drift":[1],"steps":[],"remaining":[]}})", "report.drift[0]: 1: expected a"},
      {R"({"reconfiguration":{}})", "reconfiguration.plan: missing"},
      {R"({"reconfiguration":{"plan":{"differences":[],"containers":[{"change":"gone"}]}}})",
       "reconfiguration.plan.containers[0]"},
      {R"({"change":{"odd":1}})", "change.odd: 1: expected no such member"},
  };
  for (const auto& [line, message] : cases) {
    const auto answer = decode_answer(line);
    ASSERT_FALSE(answer.has_value()) << line;
    EXPECT_THAT(answer.error().message, HasSubstr(message)) << line;
  }
}

}  // namespace
}  // namespace pinfold::socket
