#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include "fixture.hpp"
#include "socket_runtime.hpp"
#include "temp_dir.hpp"

/// The program of examples/nri, with a runtime in this process.
namespace pinfold::nri {
namespace {

using test::SocketRuntime;

class NriExample : public testing::Test {
 protected:
  NriExample() : pid_(::fork()) {
    if (pid_ != 0) return;
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)::dup2(null, STDOUT_FILENO);
    ::execl(PINFOLD_SIMPLE_PLUGIN, PINFOLD_SIMPLE_PLUGIN, path_.c_str(), "50", "0-7", "0", nullptr);
    ::_exit(1);
  }
  ~NriExample() override {
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  void run_until(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_so()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "not within a minute";
      runtime_.poll();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  template <class Answer>
  Answer ask(const std::string& method, const google::protobuf::MessageLite& message) {
    const auto stream = runtime_.call(method, message.SerializeAsString());
    run_until([&] { return runtime_.answers.contains(stream); });
    Answer answer;
    EXPECT_TRUE(answer.ParseFromString(runtime_.answers.at(stream).value()));
    return answer;
  }
  /// Returns the request to create the only container of this pod.
  static api::CreateContainerRequest to_create(const std::string& pod, const std::string& limited) {
    const PodSpec spec = test::pod_with({limited});
    api::CreateContainerRequest request;
    *request.mutable_container() = test::container_of(spec, spec.containers.front());
    request.mutable_container()->set_id(pod + "-c");
    request.mutable_container()->set_pod_sandbox_id(pod);
    return request;
  }

  pinfold::test::TempDir directory_;
  const std::string path_ = directory_ / "nri.sock";
  SocketRuntime runtime_{path_};
  pid_t pid_;
};

TEST_F(NriExample, PinsContainersAndUpdatesTheOthers) {
  run_until([&] { return runtime_.is_registered; });
  EXPECT_EQ(ask<api::ConfigureResponse>("Configure", api::ConfigureRequest()).events(), 0);
  (void)ask<api::SynchronizeResponse>("Synchronize", api::SynchronizeRequest());
  const auto cpus_of = [](const api::CreateContainerResponse& answer) {
    return answer.adjust().linux().resources().cpu().cpus();
  };
  const auto shared = ask<api::CreateContainerResponse>(
      "CreateContainer", to_create("a", test::limited("c", "500m", "64Mi")));
  EXPECT_EQ(cpus_of(shared), "0-7");
  const auto exclusive = ask<api::CreateContainerResponse>(
      "CreateContainer", to_create("b", test::limited("c", "2", "64Mi")));
  EXPECT_EQ(cpus_of(exclusive), "1-2");
  ASSERT_EQ(exclusive.update_size(), 1);
  EXPECT_EQ(exclusive.update(0).container_id(), "a-c");
  EXPECT_EQ(exclusive.update(0).linux().resources().cpu().cpus(), "0,3-7");
  api::StopContainerRequest stop;
  *stop.mutable_container() = to_create("b", test::limited("c", "2", "64Mi")).container();
  const auto stopped = ask<api::StopContainerResponse>("StopContainer", stop);
  ASSERT_EQ(stopped.update_size(), 1);
  EXPECT_EQ(stopped.update(0).linux().resources().cpu().cpus(), "0-7");
}

}  // namespace
}  // namespace pinfold::nri
