#include "pinfold/grpc/api.hpp"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "agent_world.hpp"
#include "grpc_world.hpp"

/// pinfold.v1 over a real socket, with a worker that owns a node agent on a model kernel.
namespace pinfold::grpc {
namespace {

using ::grpc::ClientContext;
using ::grpc::StatusCode;
using std::chrono::hours;
using test::guaranteed;
using test::pod;
using test::World;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::string manifest(const PodSpec& spec) { return to_json(spec).dump(); }

/// UIDs of the maximum length that Kubernetes accepts.
std::string many_pods(int count, std::int64_t cpus) {
  auto list = nlohmann::json{{"kind", "List"}, {"items", nlohmann::json::array()}};
  for (int i = 0; i < count; ++i) {
    const std::string uid = std::string(200, 'u') + std::to_string(i);
    list["items"].push_back(to_json(pod(uid, {guaranteed("c", cpus)})));
  }
  return list.dump();
}

class ApiTest : public testing::Test {
 protected:
  ~ApiTest() override { stop(); }
  /// Starts run(). Without it, requests wait for run_round().
  void run() {
    thread_ = std::thread([this] { worker_.run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    worker_.stop();
    thread_.join();
  }
  /// Calls `method`, which must succeed.
  template <class Request, class Response>
  Response must(::grpc::Status (v1::Pinfold::Stub::*method)(ClientContext*, const Request&,
                                                            Response*),
                const Request& request) {
    Response response;
    const auto status = call(method, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  template <class Request, class Response>
  ::grpc::Status call(::grpc::Status (v1::Pinfold::Stub::*method)(ClientContext*, const Request&,
                                                                  Response*),
                      const Request& request, Response& response) {
    ClientContext context;
    return (stub_.get()->*method)(&context, request, &response);
  }
  v1::Admission admit(const PodSpec& spec, bool trace = false) {
    v1::AdmitRequest request;
    request.set_manifest(manifest(spec));
    request.set_trace(trace);
    return must(&v1::Pinfold::Stub::Admit, request).admission();
  }
  v1::StatusResponse status() { return must(&v1::Pinfold::Stub::Status, v1::StatusRequest()); }

  World world_;
  std::atomic<worker::Clock::duration> later_{worker::Clock::duration::zero()};
  std::function<worker::Clock::time_point()> now_ = [this] {
    return worker::Clock::now() + later_.load();
  };
  worker::Worker worker_{world_.open(), [this] {
                           worker::WorkerOptions options;
                           options.now = now_;
                           return options;
                         }()};
  Api api_{worker_, now_};
  test::ServedSocket socket_{{&api_}};
  std::unique_ptr<v1::Pinfold::Stub> stub_ = v1::Pinfold::NewStub(socket_.connect());
  std::thread thread_;
};

TEST_F(ApiTest, StatusHasWhatModeObserveHasCompared) {
  EXPECT_FALSE(status().has_comparison());
  worker_.set_comparison({3,
                          {{{{PodUid("u"), "default", "web\xff"}, "c"},
                            CpuSet::range(0, 7),
                            CpuSet{1, 2},
                            {0, 1},
                            {},
                            "it is Burstable, not Guaranteed"}}});
  worker_.run_round();
  const auto comparison = status().comparison();
  EXPECT_EQ(comparison.compared_count(), 3U);
  ASSERT_EQ(comparison.differences_size(), 1);
  const v1::Difference& difference = comparison.differences(0);
  EXPECT_EQ(difference.pod().uid(), "u");
  EXPECT_EQ(difference.pod().name(), "web\\xff");
  EXPECT_EQ(difference.pod().namespace_(), "default");
  EXPECT_EQ(difference.container(), "c");
  EXPECT_EQ(difference.cpuset_cpus_effective(), "0-7");
  EXPECT_EQ(difference.cpus(), "1-2");
  EXPECT_EQ(difference.cpuset_mems_effective(), "0-1");
  EXPECT_EQ(difference.mems(), "");
  EXPECT_EQ(difference.why_shared(), "it is Burstable, not Guaranteed");
}

TEST_F(ApiTest, AdmitsAPodAndSaysWhatItsContainersHave) {
  run();
  const auto admission = admit(pod("a", {guaranteed("c", 2), test::best_effort("d")}), true);
  EXPECT_TRUE(admission.admitted());
  EXPECT_EQ(admission.uid(), "a");
  EXPECT_FALSE(admission.has_rejection());
  ASSERT_EQ(admission.containers_size(), 2);
  EXPECT_EQ(admission.containers(1).isolation(), v1::ISOLATION_HOST);
  EXPECT_GT(admission.trace_size(), 0);
  EXPECT_FALSE(admission.has_not_enforced());
  const auto exclusive = admit(pod("b", {guaranteed("c", 2)}));
  ASSERT_EQ(exclusive.containers_size(), 1);
  EXPECT_EQ(exclusive.containers(0).exclusive_cpus(), "1-2");
  EXPECT_EQ(exclusive.containers(0).cpus(), "1-2");
  EXPECT_EQ(exclusive.containers(0).isolation(), v1::ISOLATION_CONTAINER);
  EXPECT_EQ(exclusive.trace_size(), 0);
  EXPECT_EQ(world_.cpus("podb/c"), "1-2");
}

TEST_F(ApiTest, ARejectedPodIsAnAnswer) {
  run();
  const auto admission = admit(pod("a", {guaranteed("c", 9)}));
  EXPECT_FALSE(admission.admitted());
  const v1::Rejection& rejection = admission.rejection();
  EXPECT_EQ(rejection.reason(), "UnexpectedAdmissionError");
  EXPECT_THAT(rejection.message(), HasSubstr("which is unexpected"));
  EXPECT_THAT(rejection.cause(), HasSubstr("not enough cpus available"));
  EXPECT_EQ(admission.containers_size(), 0);
}

TEST_F(ApiTest, ABadManifestIsAnInvalidArgument) {
  run();
  v1::AdmitRequest request;
  request.set_manifest("{kind: Pod}");
  v1::AdmitResponse response;
  const auto status = call(&v1::Pinfold::Stub::Admit, request, response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("metadata"));
}

TEST_F(ApiTest, TextThatIsNoUtf8IsRefusedAndNotLogged) {
  v1::StartRequest request;
  request.set_pod_uid("\xff");
  v1::StartResponse response;
  testing::internal::CaptureStderr();
  const auto status = call(&v1::Pinfold::Stub::Start, request, response);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);  // from gRPC itself
}

TEST_F(ApiTest, PodsTogetherAreOneTransaction) {
  run();
  v1::AdmitTogetherRequest request;
  request.set_manifest(manifest(pod("a", {guaranteed("c", 5)})) + "\n---\n" +
                       manifest(pod("b", {guaranteed("c", 5)})) + "\n---\n" +
                       manifest(pod("d", {guaranteed("c", 1)})));
  const auto response = must(&v1::Pinfold::Stub::AdmitTogether, request);
  ASSERT_EQ(response.admissions_size(), 3);
  EXPECT_TRUE(response.admissions(0).admitted());
  EXPECT_FALSE(response.admissions(1).admitted());
  EXPECT_EQ(response.admissions(2).uid(), "d");
  EXPECT_TRUE(response.admissions(2).admitted());
  EXPECT_EQ(worker_.snapshot()->counters.admit_rounds, 1U);
}

TEST_F(ApiTest, ExplainsAndChangesNothing) {
  run();
  v1::ExplainRequest request;
  request.set_manifest(manifest(pod("a", {guaranteed("c", 2)})));
  const auto explained = must(&v1::Pinfold::Stub::Explain, request).admission();
  EXPECT_TRUE(explained.admitted());
  EXPECT_EQ(explained.containers(0).exclusive_cpus(), "1-2");
  EXPECT_GT(explained.trace_size(), 0);
  request.set_manifest(manifest(pod("a", {guaranteed("c", 9)})));
  EXPECT_EQ(must(&v1::Pinfold::Stub::Explain, request).admission().rejection().reason(),
            "UnexpectedAdmissionError");
  EXPECT_EQ(status().pods_size(), 0);
}

TEST_F(ApiTest, ExplainFailsLikeAdmitIfARunningContainerWouldLoseItsCpus) {
  run();
  (void)admit(pod("a", {guaranteed("c", 2)}));
  v1::AttachRequest attach;
  attach.set_pod_uid("a");
  attach.set_container("c");
  attach.mutable_process()->set_pid(::getpid());
  (void)must(&v1::Pinfold::Stub::Attach, attach);
  const std::string changed = manifest(pod("a", {guaranteed("d", 2)}));
  v1::AdmitRequest admit;
  admit.set_manifest(changed);
  v1::AdmitResponse admitted;
  const auto refused = call(&v1::Pinfold::Stub::Admit, admit, admitted);
  EXPECT_EQ(refused.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(), HasSubstr("'c'"));
  v1::ExplainRequest explain;
  explain.set_manifest(changed);
  v1::ExplainResponse explained;
  const auto answer = call(&v1::Pinfold::Stub::Explain, explain, explained);
  EXPECT_EQ(answer.error_code(), refused.error_code());
  EXPECT_EQ(answer.error_message(), refused.error_message());
}

TEST_F(ApiTest, FollowsAPodFromItsStartToItsEnd) {
  run();
  (void)admit(pod("a", {guaranteed("c", 2)}));
  v1::StartRequest start;
  start.set_pod_uid("a");
  start.set_container("c");
  EXPECT_FALSE(must(&v1::Pinfold::Stub::Start, start).has_not_enforced());
  const auto running = status();
  ASSERT_EQ(running.pods_size(), 1);
  EXPECT_EQ(running.pods(0).qos_class(), "Guaranteed");
  EXPECT_TRUE(running.pods(0).containers(0).started());
  EXPECT_EQ(running.shared_pool(), "0,3-7");
  EXPECT_EQ(running.reserved_cpus(), "0");
  v1::RemoveRequest remove;
  remove.set_pod_uid("a");
  (void)must(&v1::Pinfold::Stub::Remove, remove);
  const auto after = status();
  EXPECT_EQ(after.pods_size(), 0);
  EXPECT_GT(after.round(), running.round());
  v1::RemoveResponse response;
  EXPECT_EQ(call(&v1::Pinfold::Stub::Remove, remove, response).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ApiTest, ResizesAContainer) {
  run();
  (void)admit(pod("a", {guaranteed("c", 2)}));
  v1::ResizeRequest resize;
  resize.set_pod_uid("a");
  resize.set_container("c");
  resize.set_cpu_amount(4000);
  const auto grown = must(&v1::Pinfold::Stub::Resize, resize);
  EXPECT_FALSE(grown.has_refused());
  EXPECT_EQ(grown.cpus_before(), "1-2");
  EXPECT_EQ(grown.cpus_after(), "1-4");
  EXPECT_EQ(status().pods(0).containers(0).baseline_cpus(), "1-2");
  resize.set_cpu_amount(1000);
  const auto refused = must(&v1::Pinfold::Stub::Resize, resize);
  EXPECT_EQ(refused.refused().reason(), "Infeasible");
  EXPECT_EQ(refused.refused().rejection().reason(), "prohibitedCPUAllocationError");
  EXPECT_EQ(refused.cpus_before(), "1-4");
  EXPECT_EQ(refused.cpus_after(), "1-4");
  EXPECT_EQ(world_.cpus("poda/c"), "1-4");
}

TEST_F(ApiTest, AdoptsAndAttaches) {
  (void)world_.kernel.cgroups();  // enables the controllers
  ASSERT_TRUE(world_.kernel.fs()->make_group("run-a").has_value());
  run();
  (void)admit(pod("a", {guaranteed("c", 2), guaranteed("d", 1)}));
  v1::AdoptRequest adopt;
  adopt.set_pod_uid("a");
  adopt.set_container("c");
  adopt.set_cgroup_path("/model/run-a");
  EXPECT_FALSE(must(&v1::Pinfold::Stub::Adopt, adopt).has_not_enforced());
  EXPECT_EQ(world_.cpus("run-a"), "1-2");
  v1::AttachRequest attach;
  attach.set_pod_uid("a");
  attach.set_container("d");
  attach.mutable_process()->set_pid(::getpid());
  (void)must(&v1::Pinfold::Stub::Attach, attach);
  EXPECT_TRUE(world_.kernel.find("poda/d")->processes.contains(::getpid()));
  attach.mutable_process()->set_start_time(1);  // that of an earlier process
  v1::AttachResponse response;
  EXPECT_EQ(call(&v1::Pinfold::Stub::Attach, attach, response).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ApiTest, AdoptsNoGroupTwiceHoweverItIsSpelt) {
  (void)world_.kernel.cgroups();  // enables the controllers
  ASSERT_TRUE(world_.kernel.fs()->make_group("run-a").has_value());
  world_.kernel.links = {{"/link", "/model/run-a"}, {"/proc/self/root", ""}};
  run();
  (void)admit(pod("a", {guaranteed("c", 2)}));
  (void)admit(pod("b", {guaranteed("c", 1)}));
  v1::AdoptRequest adopt;
  adopt.set_pod_uid("a");
  adopt.set_container("c");
  adopt.set_cgroup_path("/model/run-a");
  EXPECT_FALSE(must(&v1::Pinfold::Stub::Adopt, adopt).has_not_enforced());
  adopt.set_pod_uid("b");
  for (const char* directory : {"/model/run-a", "/model//run-a/", "/model/x/../run-a", "/link",
                                "/proc/self/root/model/run-a", "//model/./run-a"}) {
    adopt.set_cgroup_path(directory);
    v1::AdoptResponse response;
    EXPECT_EQ(call(&v1::Pinfold::Stub::Adopt, adopt, response).error_code(),
              StatusCode::INVALID_ARGUMENT)
        << directory;
  }
  EXPECT_EQ(world_.cpus("run-a"), "1-2");
}

TEST_F(ApiTest, PlansAndAppliesAnotherConfiguration) {
  run();
  ASSERT_TRUE(admit(pod("x", {guaranteed("c", 2)})).admitted());
  v1::ReconfigureRequest request;
  request.set_config("cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n");
  request.set_dry_run(true);
  const auto planned = must(&v1::Pinfold::Stub::Reconfigure, request);
  EXPECT_FALSE(planned.applied());
  EXPECT_TRUE(planned.other_node());
  EXPECT_EQ(planned.plan().containers(0).cpus_before(), "1-2");
  EXPECT_EQ(world_.cpus("podx/c"), "1-2");
  request.set_dry_run(false);
  request.set_config("cpuManagerPolicy: [");
  v1::ReconfigureResponse none;
  const auto bad = call(&v1::Pinfold::Stub::Reconfigure, request, none);
  EXPECT_EQ(bad.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(bad.error_message(), HasSubstr("configuration: "));
  request.set_config("cpuManagerPolicy: static\nreservedSystemCPUs: '0-6'\n");
  const auto refused = must(&v1::Pinfold::Stub::Reconfigure, request);
  EXPECT_FALSE(refused.applied());
  EXPECT_EQ(refused.plan().evicted_size(), 1);
  request.set_config("cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n");
  const auto done = must(&v1::Pinfold::Stub::Reconfigure, request);
  EXPECT_TRUE(done.applied());
  EXPECT_EQ(world_.cpus("podx/c"), done.plan().containers(0).cpus_after());
  const auto late = call(&v1::Pinfold::Stub::Reconfigure, request, none);
  EXPECT_EQ(late.error_code(), StatusCode::UNAVAILABLE) << "the service starts again";
}

TEST_F(ApiTest, MakesNoRoomThatThereIsNot) {
  run();
  v1::DefragmentRequest request;
  request.set_manifest(manifest(pod("x", {guaranteed("c", 2)})));
  const auto free = must(&v1::Pinfold::Stub::Defragment, request);
  EXPECT_FALSE(free.applied());
  EXPECT_FALSE(free.room().has_rejection()) << "the node admits it";
  request.set_manifest(manifest(pod("y", {guaranteed("c", 9)})));
  const auto full = must(&v1::Pinfold::Stub::Defragment, request);
  EXPECT_FALSE(full.applied());
  EXPECT_FALSE(full.room().possible());
  EXPECT_NE(full.room().rejection().reason(), "");
}

TEST_F(ApiTest, ReconcilesDrift) {
  worker_.run_round();
  std::promise<v1::ReconcileResponse> answered;
  std::thread client(
      [&] { answered.set_value(must(&v1::Pinfold::Stub::Reconcile, v1::ReconcileRequest())); });
  while (worker_.waiting() == 0) std::this_thread::yield();
  ASSERT_TRUE(world_.kernel.fs()->make_group("podgone").has_value());
  worker_.run_round();
  client.join();
  const auto report = answered.get_future().get();
  EXPECT_THAT(report.drift(), Contains(HasSubstr("podgone")));
  EXPECT_THAT(report.steps(), Contains(HasSubstr("podgone")));
  EXPECT_THAT(report.remaining(), IsEmpty());
  EXPECT_EQ(status().report().drift_size(), report.drift_size());
}

TEST_F(ApiTest, ARequestWhoseDeadlinePassesIsNotDone) {
  std::promise<::grpc::Status> answered;
  std::thread client([&] {
    ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + hours(1));
    v1::AdmitRequest request;
    request.set_manifest(manifest(pod("a", {guaranteed("c", 2)})));
    v1::AdmitResponse response;
    answered.set_value(stub_->Admit(&context, request, &response));
  });
  while (worker_.waiting() == 0) std::this_thread::yield();
  later_ = hours(2);
  worker_.run_round();
  client.join();
  const auto status = answered.get_future().get();
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("nothing was done"));
  EXPECT_TRUE(worker_.snapshot()->state.node.pods.empty());
}

TEST_F(ApiTest, AWorkerThatStopsIsUnavailable) {
  run();
  stop();
  v1::AdmitRequest request;
  request.set_manifest(manifest(pod("a", {guaranteed("c", 2)})));
  v1::AdmitResponse response;
  const auto status = call(&v1::Pinfold::Stub::Admit, request, response);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "the service is stopping");
}

TEST_F(ApiTest, AWatcherReceivesChanges) {
  run();
  ClientContext context;
  const auto stream = stub_->Watch(&context, {});
  v1::WatchResponse message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_TRUE(message.lagged()) << "the first one: read Status";
  EXPECT_EQ(message.changes_size(), 0);
  (void)admit(pod("a", {guaranteed("c", 2)}));
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_FALSE(message.lagged());
  ASSERT_EQ(message.changes_size(), 1);
  EXPECT_EQ(message.changes(0).kind(), v1::CHANGE_KIND_ADMITTED);
  EXPECT_EQ(message.changes(0).pod_uid(), "a");
  context.TryCancel();
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  (void)admit(pod("b", {guaranteed("c", 2)}));
}

TEST_F(ApiTest, AWatcherThatDoesNotReadLagsAndDelaysNobody) {
  run();
  ClientContext context;
  const auto slow = v1::Pinfold::NewStub(socket_.connect());
  const auto stream = slow->Watch(&context, {});
  v1::WatchResponse message;
  ASSERT_TRUE(stream->Read(&message));
  v1::AdmitTogetherRequest rejected;
  rejected.set_manifest(many_pods(500, 9));
  constexpr int kRounds = 6;  // more than the windows of a connection and a subscription hold
  for (int i = 0; i < kRounds; ++i) (void)must(&v1::Pinfold::Stub::AdmitTogether, rejected);
  int changes = 0;
  do {
    ASSERT_TRUE(stream->Read(&message));
    changes += message.changes_size();
  } while (!message.lagged());
  EXPECT_LT(changes, 500 * kRounds);
  (void)admit(pod("a", {guaranteed("c", 2)}));
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.changes(0).pod_uid(), "a");
}

TEST_F(ApiTest, EndsOpenCallsWhenItStops) {
  run();
  ClientContext context;
  const auto stream = stub_->Watch(&context, {});
  v1::WatchResponse message;
  ASSERT_TRUE(stream->Read(&message));
  stop();
  socket_.stop();
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_FALSE(stream->Finish().ok());
}

}  // namespace
}  // namespace pinfold::grpc
