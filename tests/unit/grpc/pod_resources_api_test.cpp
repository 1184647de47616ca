#include "pinfold/grpc/pod_resources_api.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "grpc_world.hpp"
#include "node_fixture.hpp"

/// PodResources over a real socket.
namespace pinfold::grpc {
namespace {

using ::grpc::StatusCode;
using podresources::RateLimit;
using test::container;

class PodResourcesApiTest : public testing::Test {
 protected:
  PodResourcesApiTest() {
    EXPECT_EQ(node_.admit(test::pod_of("p", {container("c", {{"cpu", "2"}, {"memory", "1Gi"}})})),
              "");
    snapshot_.state.node = node_.state();
  }

  test::TestNode node_{{2, 4, 4}, test::aligning_config("none")};
  worker::Snapshot snapshot_;
  RateLimit::Clock::time_point now_{std::chrono::seconds(1)};
  PodResourcesApi api_{node_.node(),
                       [this] { return std::make_shared<const worker::Snapshot>(snapshot_); },
                       [this] { return now_; }};
  test::ServedSocket socket_{{api_.services()[0], api_.services()[1]}};
  std::unique_ptr<::v1::PodResourcesLister::Stub> v1_ =
      ::v1::PodResourcesLister::NewStub(socket_.connect());
  std::unique_ptr<::v1alpha1::PodResourcesLister::Stub> v1alpha1_ =
      ::v1alpha1::PodResourcesLister::NewStub(socket_.connect());
};

TEST_F(PodResourcesApiTest, AnswersEachCallAndCountsIt) {
  {
    ::grpc::ClientContext context;
    ::v1::ListPodResourcesResponse response;
    ASSERT_TRUE(v1_->List(&context, {}, &response).ok());
    ASSERT_EQ(response.pod_resources_size(), 1);
    EXPECT_EQ(response.pod_resources(0).containers(0).cpu_ids_size(), 2);
  }
  {
    ::grpc::ClientContext context;
    ::v1::AllocatableResourcesResponse response;
    ASSERT_TRUE(v1_->GetAllocatableResources(&context, {}, &response).ok());
    EXPECT_EQ(response.cpu_ids_size(), 7);
  }
  {
    ::grpc::ClientContext context;
    ::v1::GetPodResourcesRequest request;
    request.set_pod_name("p");
    request.set_pod_namespace("default");
    ::v1::GetPodResourcesResponse response;
    ASSERT_TRUE(v1_->Get(&context, request, &response).ok());
    EXPECT_EQ(response.pod_resources().name(), "p");
  }
  {
    ::grpc::ClientContext context;
    ::v1alpha1::ListPodResourcesResponse response;
    ASSERT_TRUE(v1alpha1_->List(&context, {}, &response).ok());
    EXPECT_EQ(response.pod_resources(0).containers(0).name(), "c");
  }
  const PodResourcesApi::Counts expected{1, 3, 1, 1, 1, 0};
  EXPECT_EQ(api_.counts(), expected);
}

TEST_F(PodResourcesApiTest, AnUnknownPodIsTheErrorOfAKubelet) {
  ::grpc::ClientContext context;
  ::v1::GetPodResourcesRequest request;
  request.set_pod_name("nopod");
  request.set_pod_namespace("default");
  ::v1::GetPodResourcesResponse response;
  const auto status = v1_->Get(&context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNKNOWN);
  EXPECT_EQ(status.error_message(), "pod nopod in namespace default not found");
  EXPECT_EQ(api_.counts().get_errors, 1U);
}

TEST_F(PodResourcesApiTest, AllCallsShareOneRateLimit) {
  const auto list = [&] {
    ::grpc::ClientContext context;
    ::v1::ListPodResourcesResponse response;
    return v1_->List(&context, {}, &response);
  };
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(list().ok()) << i;
  const auto status = list();
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "rejected by rate limit");
  ::grpc::ClientContext context;
  ::v1alpha1::ListPodResourcesResponse response;
  EXPECT_EQ(v1alpha1_->List(&context, {}, &response).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(api_.counts().total, 10U);
  now_ += std::chrono::milliseconds(10);
  EXPECT_TRUE(list().ok());
  EXPECT_FALSE(list().ok());
}

}  // namespace
}  // namespace pinfold::grpc
