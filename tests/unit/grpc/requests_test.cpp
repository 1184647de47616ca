#include "pinfold/grpc/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <variant>

namespace pinfold::service {
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
  const auto& admit = std::get<Admit>(*action);
  ASSERT_EQ(admit.pods.size(), 1U);
  EXPECT_EQ(admit.pods[0].uid.value, "u1");
  EXPECT_EQ(amount_of(admit.pods[0].containers[0].resources.requests, "cpu").value(), 2)
      << "a missing request takes the value of the limit";
  EXPECT_TRUE(admit.wants_trace);
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
      {"{kind: Deployment, metadata: {name: d}}", "expected 'Pod'"},
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
  request.set_skip_validation(true);
  EXPECT_TRUE(to_action(request).has_value());
}

TEST(Requests, EveryFieldReachesTheWorker) {
  v1::RemoveRequest remove;
  remove.set_pod_uid("u");
  remove.set_container("c");
  remove.set_kill(true);
  const auto removal = to_action(remove);
  EXPECT_EQ(std::get<Remove>(*removal).pod.value, "u");
  EXPECT_EQ(std::get<Remove>(*removal).container, "c");
  EXPECT_EQ(std::get<Remove>(*removal).running, agent::RunningProcesses::kKill);
  v1::AdoptRequest adopt;
  adopt.set_pod_uid("u");
  adopt.set_container("c");
  adopt.set_directory("/sys/fs/cgroup/x");
  const auto adoption = to_action(adopt);
  EXPECT_EQ(std::get<Adopt>(*adoption).pod.value, "u");
  EXPECT_EQ(std::get<Adopt>(*adoption).adoption.container, "c");
  EXPECT_EQ(std::get<Adopt>(*adoption).adoption.directory, "/sys/fs/cgroup/x");
  v1::ReconcileRequest reconcile;
  reconcile.set_move_pages(true);
  EXPECT_EQ(std::get<Reconcile>(*to_action(reconcile)).pages, agent::PageMoves::kOn);
}

TEST(Requests, AProcessWithoutAStartTimeIsTheOneThatRunsNow) {
  v1::AttachRequest request;
  request.set_pod_uid("u");
  request.set_container("c");
  request.set_pid(::getpid());
  const auto found = to_action(request);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(std::get<Attach>(*found).process, enforce::identify(::getpid()));
  request.set_start_time(7);
  EXPECT_EQ(std::get<Attach>(*to_action(request)).process.start_time, 7U);
}

TEST(Requests, MissingValuesAreErrors) {
  EXPECT_EQ(to_action(v1::RemoveRequest()).error().message, "pod_uid: expected a value");
  v1::StartRequest start;
  start.set_pod_uid("u");
  EXPECT_EQ(to_action(start).error().message, "container: expected a value");
  v1::AttachRequest attach;
  attach.set_pod_uid("u");
  attach.set_container("c");
  EXPECT_EQ(to_action(attach).error().message, "pid: 0: expected the number of a process");
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
}  // namespace pinfold::service
