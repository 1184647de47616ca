#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "child.hpp"
#include "fixture.hpp"
#include "hook_run.hpp"
#include "kubelet_messages.hpp"
#include "nri_service.hpp"
#include "socket_runtime.hpp"
#include "temp_dir.hpp"

/// Both barriers at once: NRI and the gate, with the real service and the kernel's cgroups.
namespace pinfold::gate {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
namespace api = nri::api;

constexpr int kLimit = 60;  // seconds: for any single answer of the service

/// A runtime that sends one NRI message at a time, as containerd does, and runs hooks meanwhile.
class Runtime {
 public:
  Runtime(const test::TempDir& directory, const nri::test::Groups& groups)
      : directory_(directory), socket_(directory / "nri.sock"), groups_(groups) {
    kubelet_.cgroup_root = groups.name();
  }

  void connect() {
    wait([this] { return socket_.is_registered; });
    api::ConfigureRequest configure;
    configure.set_runtime_name("containerd");
    configure.set_runtime_version("0");
    (void)ask("Configure", configure);
    (void)ask("Synchronize", api::SynchronizeRequest());
  }

  struct Pod {
    PodSpec spec;
    std::string group;
    std::unique_ptr<test::Child> process;
  };
  /// Creates a container that waits for its hook.
  Pod create(const PodSpec& spec) {
    Pod pod{spec, container(spec).linux().cgroups_path(), nullptr};
    make_parent(spec);
    send(api::Event::RUN_POD_SANDBOX, spec, false);
    api::CreateContainerRequest request;
    *request.mutable_pod() = sandbox_of(spec, kubelet_);
    *request.mutable_container() = container(spec);
    api::CreateContainerResponse answer;
    nri::test::check(answer.ParseFromString(ask("CreateContainer", request)), "CreateContainer");
    send(api::Event::POST_CREATE_CONTAINER, spec, true);
    groups_.make(pod.group);
    groups_.set_cpus(pod.group, answer.adjust().linux().resources().cpu().cpus());
    pod.process = std::make_unique<test::Child>();
    groups_.attach(pod.group, pod.process->pid());
    return pod;
  }
  /// Takes the answer of NRI back, as if its plugin had been skipped.
  void unplace(const Pod& pod) const { groups_.set_cpus(pod.group, groups_.all_cpus()); }
  [[nodiscard]] HookRun run_gate(const Pod& pod) const {
    const std::string uid = pod.spec.uid.value;
    const std::string input = "hook-of-" + uid;
    directory_.write(input, fmt::format(R"({{"id":"id-{0}","pid":{1},"annotations":{{)"
                                        R"("io.kubernetes.pod.uid":"{0}",)"
                                        R"("io.kubernetes.pod.name":"{0}",)"
                                        R"("io.kubernetes.pod.namespace":"default",)"
                                        R"("io.kubernetes.container.name":"c"}}}})",
                                        uid, pod.process->pid()));
    return run_hook({PINFOLD_GATE, "--state-dir", directory_ / "state", "--socket",
                     directory_ / "agent.sock", "--time-limit-ms", std::to_string(kLimit * 1000)},
                    directory_ / input);
  }
  void start(const Pod& pod) {
    send(api::Event::START_CONTAINER, pod.spec, true);
    send(api::Event::POST_START_CONTAINER, pod.spec, true);
  }
  void end(const Pod& pod) {
    pod.process->kill();
    pod.process->wait();
    groups_.remove(pod.group);
    api::StopContainerRequest stop;
    *stop.mutable_pod() = sandbox_of(pod.spec, kubelet_);
    *stop.mutable_container() = container(pod.spec);
    (void)ask("StopContainer", stop);
    send(api::Event::REMOVE_CONTAINER, pod.spec, true);
    send(api::Event::STOP_POD_SANDBOX, pod.spec, false);
    send(api::Event::REMOVE_POD_SANDBOX, pod.spec, false);
    groups_.remove(parent(pod.spec));
  }

 private:
  /// On cgroup v1 another thread must not see the groups above without CPUs.
  void make_parent(const PodSpec& spec) {
    const std::scoped_lock lock(mutex_);
    groups_.make(parent(spec));
  }
  [[nodiscard]] std::string parent(const PodSpec& spec) const {
    return sandbox_of(spec, kubelet_).linux().cgroup_parent();
  }
  [[nodiscard]] api::Container container(const PodSpec& spec) const {
    api::Container shown = container_of(spec, spec.containers.front(), kubelet_);
    shown.set_id("id-" + spec.uid.value);
    shown.set_pod_sandbox_id(sandbox_of(spec, kubelet_).id());
    shown.mutable_linux()->set_cgroups_path(parent(spec) + "/" + shown.id());
    return shown;
  }
  void send(api::Event event, const PodSpec& spec, bool with_container) {
    api::StateChangeEvent message;
    message.set_event(event);
    *message.mutable_pod() = sandbox_of(spec, kubelet_);
    if (with_container) *message.mutable_container() = container(spec);
    (void)ask("StateChange", message);
  }
  std::string ask(const std::string& method, const google::protobuf::MessageLite& message) {
    const std::scoped_lock lock(mutex_);
    const auto stream = socket_.call(method, message.SerializeAsString());
    wait([&] { return socket_.answers.contains(stream); });
    const auto answer = socket_.answers.at(stream);
    socket_.answers.erase(stream);
    nri::test::check(answer.has_value(), method + (answer ? "" : ": " + answer.error().message));
    return *answer;
  }
  template <class Condition>
  void wait(const Condition& is_so) {
    const auto limit = Clock::now() + std::chrono::seconds(kLimit);
    while (!is_so()) {
      nri::test::check(Clock::now() < limit, "the service does not answer NRI");
      pollfd ready{socket_.descriptor(), POLLIN, 0};
      (void)::poll(&ready, 1, 10);
      socket_.poll();
    }
  }

  const test::TempDir& directory_;
  std::mutex mutex_;
  nri::test::SocketRuntime socket_;
  const nri::test::Groups& groups_;
  nri::test::Kubelet kubelet_;
};

PodSpec pod_of(const std::string& uid, const std::string& container) {
  PodSpec spec = nri::test::pod_with({container});
  spec.uid = PodUid(uid);
  spec.name = uid;
  return spec;
}
PodSpec shared(const std::string& uid) { return pod_of(uid, "{name: c}"); }
PodSpec exclusive(const std::string& uid) {
  return pod_of(uid, nri::test::limited("c", "1", "64Mi"));
}

class Barriers : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("PINFOLD_TEST_CGROUP") == nullptr) {  // NOLINT(concurrency-mt-unsafe)
      GTEST_SKIP() << "makes groups only with PINFOLD_TEST_CGROUP; Vm.nri-barriers does";
    }
    groups_ = std::make_unique<nri::test::Groups>();
    groups_->make(groups_->name() + "/service");
    runtime_ = std::make_unique<Runtime>(directory_, *groups_);
    service_ = std::make_unique<nri::test::Service>(PINFOLD_SERVE, *groups_, directory_);
    runtime_->connect();
  }
  /// Runs a function in each of `count` threads; an exception fails the test.
  static void in_threads(int count, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&work, i] {
        try {
          work(i);
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  test::TempDir directory_;
  std::unique_ptr<nri::test::Groups> groups_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<nri::test::Service> service_;
};

TEST_F(Barriers, TheServicePlacesManyAtOnce) {
  constexpr int kCount = 40;
  const Runtime::Pod owner = runtime_->create(exclusive("owner"));
  runtime_->start(owner);
  std::vector<Runtime::Pod> pods;
  pods.reserve(kCount);
  for (int i = 0; i < kCount; ++i) pods.push_back(runtime_->create(shared(fmt::format("p{}", i))));
  for (const Runtime::Pod& pod : pods) runtime_->unplace(pod);
  in_threads(kCount, [&](int i) {
    const HookRun run = runtime_->run_gate(pods[static_cast<std::size_t>(i)]);
    EXPECT_EQ(run.exit_status, 0);
    EXPECT_LT(run.wall, kLimit + 2);
  });
  for (const Runtime::Pod& pod : pods) runtime_->start(pod);
  for (const Runtime::Pod& pod : pods) runtime_->end(pod);
  runtime_->end(owner);
}

/// While gates wait for the service, others of its messages are on their way, and it halts again
/// and again. A wait for each other would end with a gate that refuses, or an unanswered message.
TEST_F(Barriers, DoNotWaitForEachOther) {
  std::atomic<bool> is_over = false;
  std::thread halting([&] {
    while (!is_over) {
      service_->signal(SIGSTOP);
      std::this_thread::sleep_for(milliseconds(30));
      service_->signal(SIGCONT);
      std::this_thread::sleep_for(milliseconds(60));
    }
  });
  in_threads(8, [&](int thread) {
    for (int i = 0; i < 10; ++i) {
      const std::string uid = fmt::format("t{}-{}", thread, i);
      const bool is_exclusive = thread == 0;  // changes the pool of the others
      const auto pod = runtime_->create(is_exclusive ? exclusive(uid) : shared(uid));
      if (i % 2 == 0) runtime_->unplace(pod);
      EXPECT_EQ(runtime_->run_gate(pod).exit_status, 0) << uid;
      runtime_->start(pod);
      runtime_->end(pod);
    }
  });
  is_over = true;
  halting.join();
}

}  // namespace
}  // namespace pinfold::gate
