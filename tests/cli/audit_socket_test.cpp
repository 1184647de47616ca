#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>

#include "kubelet_tree.hpp"
#include "podresources/v1/podresources.grpc.pb.h"
#include "run_program.hpp"

/// `pinfold audit` with the socket of a kubelet's PodResources API.
namespace pinfold {
namespace {

using test::KubeletTree;
using test::Outcome;
using test::run_shell;
using testing::HasSubstr;
using testing::Not;

/// Lists one container, with these CPUs.
class KubeletLister final : public ::v1::PodResourcesLister::Service {
 public:
  explicit KubeletLister(std::vector<int> cpus) : cpus_(std::move(cpus)) {}

  ::grpc::Status List(::grpc::ServerContext* /*context*/,
                      const ::v1::ListPodResourcesRequest* /*request*/,
                      ::v1::ListPodResourcesResponse* response) override {
    auto* const pod = response->add_pod_resources();
    pod->set_name("web");
    pod->set_namespace_("shop");
    auto* const container = pod->add_containers();
    container->set_name("app");
    for (const int cpu : cpus_) container->add_cpu_ids(cpu);
    return ::grpc::Status::OK;
  }

 private:
  std::vector<int> cpus_;
};

Outcome audit_with(const KubeletTree& tree, ::grpc::Service& service) {
  const std::string socket = tree.dir() / "kubelet.sock";
  ::grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, ::grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  EXPECT_NE(server, nullptr);
  return run_shell(fmt::format("'{}' audit --root '{}' --pod-resources '{}'", PINFOLD_COMMAND,
                               tree.path(), socket));
}

TEST(AuditSocket, ComparesWhatTheKubeletLists) {
  const KubeletTree tree;
  KubeletLister same({2, 3});
  const Outcome clean = audit_with(tree, same);
  EXPECT_EQ(clean.status, 0) << clean.err;
  EXPECT_THAT(clean.out, Not(HasSubstr("pod-resources-differ")));
  KubeletLister other({2, 6});
  const Outcome different = audit_with(tree, other);
  EXPECT_EQ(different.status, 1) << different.err;
  EXPECT_THAT(different.out, HasSubstr("has exclusive CPUs 2-3 in the kubelet's file, and 2,6 in "
                                       "its PodResources API"));
}

TEST(AuditSocket, NamesASocketThatDoesNotAnswer) {
  const KubeletTree tree;
  ::v1::PodResourcesLister::Service silent;  // without List
  const Outcome outcome = audit_with(tree, silent);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("kubelet.sock fails: pinfold-pod-resources: "));
  EXPECT_THAT(outcome.err, Not(HasSubstr("\npinfold-pod-resources"))) << "no message beside it";
}

}  // namespace
}  // namespace pinfold
