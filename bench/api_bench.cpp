// Admissions through the gRPC socket while 0, 60 and 250 pods are active, by one client that waits
// for each answer. Includes the commit to a state directory in memory (or below the given
// directory), without cgroups. Results: docs/performance.md.
#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "node_fixture.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/grpc/api.hpp"
#include "pinfold/grpc/endpoint.hpp"
#include "temp_dir.hpp"

namespace pinfold {
namespace {

using Clock = std::chrono::steady_clock;
using v1::Pinfold;

PodSpec a_pod(const std::string& uid) {
  return test::pod_of(uid, {test::container("c", {{"cpu", "1"}, {"memory", "64Mi"}})});
}

/// A node with 4 NUMA nodes of 80 CPUs, and its service.
class Served {
 public:
  explicit Served(const std::string& parent) : dir_(parent) {
    thread_ = std::thread([this] { worker_.run(); });
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served() {
    worker_.stop();
    thread_.join();
  }

  void admit(const std::string& uid) {
    v1::AdmitRequest request;
    request.set_manifest(to_json(a_pod(uid)).dump());
    v1::AdmitResponse response;
    ::grpc::ClientContext context;
    const auto status = stub_->Admit(&context, request, &response);
    require(status.ok() && response.admission().admitted(), status.error_message());
  }
  void remove(const std::string& uid) {
    v1::RemoveRequest request;
    request.set_pod_uid(uid);
    v1::RemoveResponse response;
    ::grpc::ClientContext context;
    const auto status = stub_->Remove(&context, request, &response);
    require(status.ok(), status.error_message());
  }

 private:
  static void require(bool is_ok, const std::string& message) {
    if (is_ok) return;
    fmt::print(stderr, "bench_api: {}\n", message);
    std::exit(EXIT_FAILURE);  // NOLINT(concurrency-mt-unsafe): other threads no longer matter
  }
  [[nodiscard]] agent::NodeAgent open() const {
    constexpr int kMemoryGib = 512;
    auto node = Node::make(test::machine_of({4, 80, kMemoryGib}),
                           test::with_memory_manager(test::aligning_config("single-numa-node")));
    agent::AgentOptions options;
    options.state_dir = dir_.path();
    return agent::NodeAgent::open(std::move(node).value(),
                                  checkpoint::Store::open(dir_.path()).value(), std::nullopt,
                                  std::move(options))
        .value();
  }

  test::TempDir dir_;
  worker::Worker worker_{open(), {}};
  grpc::Api api_{worker_};
  std::unique_ptr<grpc::Endpoint> endpoint_ =
      grpc::Endpoint::start(socket::Listener::open(dir_ / "api.sock").value(), {&api_}, {}).value();
  std::unique_ptr<Pinfold::Stub> stub_ = Pinfold::NewStub(
      ::grpc::CreateChannel("unix:" + (dir_ / "api.sock"), ::grpc::InsecureChannelCredentials()));
  std::thread thread_;
};

void measure(const std::string& parent, int active, int count) {
  Served served(parent);
  for (int i = 0; i < active; ++i) served.admit("active" + std::to_string(i));
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    served.admit("measured");
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    served.remove("measured");
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  fmt::print("{:>4} active pods: p50 {:.2f} ms, p99 {:.2f} ms\n", active, at(0.5), at(0.99));
}

}  // namespace
}  // namespace pinfold

// NOLINTNEXTLINE(bugprone-exception-escape): a failed measurement ends the program
int main(int argc, char** argv) {
  const std::string parent = argc > 1 ? argv[1] : "/dev/shm";
  constexpr int kCount = 1000;
  fmt::print("admission through the gRPC socket, {} each, state directory below {}\n", kCount,
             parent);
  for (const int active : {0, 60, 250}) pinfold::measure(parent, active, kCount);
  return EXIT_SUCCESS;
}
