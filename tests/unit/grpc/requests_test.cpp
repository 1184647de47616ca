#include "pinfold/grpc/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <variant>

#include "node_samples.hpp"

namespace pinfold::grpc {
namespace {

using ::grpc::StatusCode;
using testing::HasSubstr;

constexpr const char* kPod = R"(
kind: Pod
metadata: {name: web, uid: u1}
spec:
  containers:
  - name: c
    resources: {limits: {cpu: 2, memory: 1Gi}}
)";

TEST(Requests, APodIsReadAsAUserWritesIt) {
  v1::AdmitRequest request;
  request.set_manifest(kPod);
  request.set_trace(true);
  const auto action = to_action(request);
  ASSERT_TRUE(action.has_value()) << action.error().message;
  const auto& admit = std::get<verbs::Admit>(*action);
  ASSERT_EQ(admit.pods.size(), 1U);
  EXPECT_EQ(admit.pods[0].uid.value, "u1");
  EXPECT_EQ(amount_of(admit.pods[0].containers[0].resources.requests, "cpu").value(), 2)
      << "a missing request takes the value of the limit";
  EXPECT_TRUE(admit.wants_trace);
}

TEST(Requests, AnAnnotationThatOnlyNriReadsIsWarnedOf) {
  v1::AdmitRequest request;
  request.set_manifest(
      "{kind: Pod, metadata: {name: web, annotations: {pinfold.io/quiet: isolated}}, spec: "
      "{containers: [{name: c}]}}");
  const auto action = to_action(request);
  ASSERT_TRUE(action.has_value()) << action.error().message;
  EXPECT_THAT(std::get<verbs::Admit>(*action).warnings,
              testing::ElementsAre(HasSubstr("annotation pinfold.io/quiet has no effect")));
}

struct BadManifest {
  const char* manifest;
  const char* message;
};

TEST(Requests, WhatIsWrongWithAManifestIsNamed) {
  const std::string two = std::string(kPod) + "---" + kPod;
  const BadManifest cases[] = {
      {"", "no pod in manifest: expected at least one"},
      {"{", "manifest: "},
      {"[]", "manifest: "},
      {two.c_str(), "2 pods in manifest: expected one"},
      {"{kind: Deployment, metadata: {name: d}}", "expected a pod template"},
      {"{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, limits: {}}]}}",
       "unknown field 'spec.containers[0].limits'"},
      {"{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, resources: {requests: "
       "{cpu: 2}, limits: {cpu: 1}}}]}}",
       "must be less than or equal to cpu limit of 1"},
  };
  for (const auto& [manifest, message] : cases) {
    v1::AdmitRequest request;
    request.set_manifest(manifest);
    const auto action = to_action(request);
    ASSERT_FALSE(action.has_value()) << manifest;
    EXPECT_EQ(action.error().code, ErrorCode::kInvalidArgument) << manifest;
    EXPECT_THAT(action.error().message, HasSubstr(message)) << manifest;
  }
}

TEST(Requests, ValidationCanBeSkipped) {
  v1::AdmitTogetherRequest request;
  request.set_manifest(
      "{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, resources: {requests: "
      "{cpu: 2}, limits: {cpu: 1}}}]}}");
  EXPECT_FALSE(to_action(request).has_value());
  request.set_validated(true);
  EXPECT_TRUE(to_action(request).has_value());
}

TEST(Requests, EveryFieldReachesTheWorker) {
  v1::RemoveRequest remove;
  remove.set_pod_uid("u");
  remove.set_container("c");
  remove.set_kill(true);
  const auto removal = to_action(remove);
  EXPECT_EQ(std::get<verbs::Remove>(*removal).pod.value, "u");
  EXPECT_EQ(std::get<verbs::Remove>(*removal).container, "c");
  EXPECT_EQ(std::get<verbs::Remove>(*removal).running, agent::RunningProcesses::kKill);
  v1::AdoptRequest adopt;
  adopt.set_pod_uid("u");
  adopt.set_container("c");
  adopt.set_cgroup_path("/sys/fs/cgroup/x");
  const auto adoption = to_action(adopt);
  EXPECT_EQ(std::get<verbs::Adopt>(*adoption).pod.value, "u");
  EXPECT_EQ(std::get<verbs::Adopt>(*adoption).adoption.container, "c");
  EXPECT_EQ(std::get<verbs::Adopt>(*adoption).adoption.directory, "/sys/fs/cgroup/x");
  v1::ResizeRequest resize;
  resize.set_pod_uid("u");
  resize.set_container("c");
  resize.set_cpu_amount(2500);
  const auto resizing = to_action(resize);
  EXPECT_EQ(std::get<verbs::Resize>(*resizing).request.container, (ContainerId{PodUid("u"), "c"}));
  EXPECT_EQ(std::get<verbs::Resize>(*resizing).request.cpu.to_string(), "2500m");
  v1::ReconcileRequest reconcile;
  reconcile.set_move_pages(true);
  EXPECT_EQ(std::get<verbs::Reconcile>(*to_action(reconcile)).pages, agent::PageMoves::kOn);
}

TEST(Requests, AReconfigurationReachesTheWorker) {
  const auto empty = to_action(v1::ReconfigureRequest());
  EXPECT_FALSE(std::get<verbs::Reconfigure>(*empty).config) << "what a start reads";
  EXPECT_FALSE(std::get<verbs::Reconfigure>(*empty).machine);
  v1::ReconfigureRequest request;
  request.set_config("cpuManagerPolicy: none\n");
  request.set_machine(test::two_sockets().to_json().dump());
  request.set_evict(v1::EVICT_REJECTED);
  request.set_kill(true);
  request.set_undo(true);
  request.set_dry_run(true);
  const auto action = to_action(request);
  ASSERT_TRUE(action.has_value()) << action.error().message;
  const auto& read = std::get<verbs::Reconfigure>(*action);
  EXPECT_EQ(read.config, "cpuManagerPolicy: none\n");
  EXPECT_EQ(read.machine, test::two_sockets());
  EXPECT_EQ(read.evict, verbs::Evict::kRejected);
  EXPECT_EQ(read.running, agent::RunningProcesses::kKill);
  EXPECT_TRUE(read.undo);
  EXPECT_TRUE(read.dry_run);
  request.set_machine("{");
  EXPECT_THAT(to_action(request).error().message, HasSubstr("machine: "));
  request.clear_machine();
  request.set_evict(static_cast<v1::Evict>(7));
  EXPECT_EQ(to_action(request).error().message,
            "evict: 7: expected EVICT_NONE, EVICT_LOST or EVICT_REJECTED");
  v1::DefragmentRequest defragment;
  EXPECT_THAT(to_action(defragment).error().message, HasSubstr("no pod in manifest"));
  defragment.set_manifest(kPod);
  defragment.set_dry_run(true);
  EXPECT_EQ(std::get<verbs::Defragment>(*to_action(defragment)).pod.uid.value, "u1");
  EXPECT_TRUE(std::get<verbs::Defragment>(*to_action(defragment)).dry_run);
  EXPECT_EQ(std::get<verbs::Defragment>(*to_action(defragment)).steps, kDefragmentationSteps);
  defragment.set_step_count(10'001);
  EXPECT_EQ(to_action(defragment).error().message, "step_count: 10001: expected at most 10000");
}

TEST(Requests, AProcessWithoutAStartTimeIsTheOneThatRunsNow) {
  v1::AttachRequest request;
  request.set_pod_uid("u");
  request.set_container("c");
  request.mutable_process()->set_pid(::getpid());
  const auto found = to_action(request);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(std::get<verbs::Attach>(*found).process, enforce::identify(::getpid()));
  request.mutable_process()->set_start_time(7);
  EXPECT_EQ(std::get<verbs::Attach>(*to_action(request)).process.start_time, 7U);
}

TEST(Requests, MissingValuesAreErrors) {
  EXPECT_EQ(to_action(v1::RemoveRequest()).error().message, "pod_uid: expected a value");
  v1::StartRequest start;
  start.set_pod_uid("u");
  EXPECT_EQ(to_action(start).error().message, "container: expected a value");
  v1::AttachRequest attach;
  attach.set_pod_uid("u");
  attach.set_container("c");
  EXPECT_EQ(to_action(attach).error().message, "process.pid: 0: expected a process id");
}

TEST(Requests, EachErrorCodeHasAStatus) {
  const std::pair<ErrorCode, StatusCode> cases[] = {
      {ErrorCode::kInvalidArgument, StatusCode::INVALID_ARGUMENT},
      {ErrorCode::kNotFound, StatusCode::NOT_FOUND},
      {ErrorCode::kCorrupt, StatusCode::DATA_LOSS},
      {ErrorCode::kIo, StatusCode::INTERNAL},
      {ErrorCode::kUnsupported, StatusCode::FAILED_PRECONDITION},
      {ErrorCode::kInternal, StatusCode::INTERNAL},
      {ErrorCode::kBusy, StatusCode::UNAVAILABLE},
  };
  for (const auto& [code, status] : cases) {
    const auto got = to_status({code, 0, "why"});
    EXPECT_EQ(got.error_code(), status) << to_string(code);
    EXPECT_EQ(got.error_message(), "why");
  }
}

}  // namespace
}  // namespace pinfold::grpc
