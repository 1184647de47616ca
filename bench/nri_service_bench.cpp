// The load of the service on this machine while a runtime starts ten containers per second, and how
// long its answers take. Uses the real program with its state directory on a disk and the kernel's
// cgroups; only the runtime's end of the socket is simulated. Needs root and 2 CPUs.
//
//     bench_nri_service [PROGRAM [SECONDS [RATE [CONTAINERS]]]]
//
// PROGRAM: pinfold-serve of another build. A container lives for 5 seconds, in a pod of its own,
// with one process. The barrier behind NRI, pinfold-gate, runs for every second container, so that
// one run measures what NRI, the barrier, and both add to a start. CONTAINERS, by default 50, live
// at the same time; those beyond RATE times 5 live for the whole run. Twice per second one has an
// exclusive CPU for a quarter of a second, so that all others are written.

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "child.hpp"
#include "fixture.hpp"
#include "hook_run.hpp"
#include "kubelet_messages.hpp"
#include "nri_service.hpp"
#include "quantile.hpp"
#include "socket_runtime.hpp"
#include "temp_dir.hpp"

namespace pinfold::nri {
namespace {

namespace fs = std::filesystem;
using test::check;
using test::Groups;
using test::Service;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLife(5000);
constexpr milliseconds kExclusiveLife(250);

/// The barrier, as the hook createRuntime.
class Barrier {
 public:
  explicit Barrier(const pinfold::test::TempDir& directory) : directory_(directory) {}

  /// Runs the hook for a container whose first process waits in its group. Returns the time, in ms.
  [[nodiscard]] double pass(const PodSpec& spec, pid_t process) const {
    directory_.write(
        "hook-input",
        fmt::format(R"({{"id":"id-{0}","pid":{1},"annotations":{{"io.kubernetes.pod.uid":"{0}",)"
                    R"("io.kubernetes.pod.name":"{0}","io.kubernetes.pod.namespace":"default",)"
                    R"("io.kubernetes.container.name":"{2}"}}}})",
                    spec.uid.value, process, spec.containers.front().name));
    const HookRun run = run_hook(
        {PINFOLD_GATE, "--state-dir", directory_ / "state", "--socket", directory_ / "agent.sock"},
        directory_ / "hook-input");
    check(run.is_ok, "the barrier has refused '" + spec.uid.value + "'");
    return run.wall * 1000;
  }

 private:
  const pinfold::test::TempDir& directory_;
};

/// A runtime that waits for each answer, as containerd does for each container.
class Runtime {
 public:
  Runtime(const pinfold::test::TempDir& directory, const Groups& groups)
      : socket_(directory / "nri.sock"), groups_(groups), barrier_(directory) {
    kubelet_.cgroup_root = groups.name();
  }

  void connect() {
    wait([this] { return socket_.is_registered; });
    api::ConfigureRequest configure;
    configure.set_runtime_name("containerd");
    configure.set_runtime_version("0");
    ask("Configure", configure);
    ask("Synchronize", api::SynchronizeRequest());
  }
  /// Answers the service's requests until `end`.
  void idle_until(Clock::time_point end) {
    while (Clock::now() < end) step(milliseconds(10));
  }

  struct Pod {
    PodSpec spec;
    std::string group;
    std::unique_ptr<pinfold::test::Child> process;
    Clock::time_point end;
  };
  Pod start(const PodSpec& spec, milliseconds life) {
    Pod pod{spec, container(spec).linux().cgroups_path(), nullptr, Clock::now() + life};
    groups_.make(parent(spec));
    send(api::Event::RUN_POD_SANDBOX, spec, false);
    api::CreateContainerRequest request;
    *request.mutable_pod() = sandbox_of(spec, kubelet_);
    *request.mutable_container() = container(spec);
    creations.push_back(ask("CreateContainer", request));
    api::CreateContainerResponse answer;
    check(answer.ParseFromString(last_answer_), "CreateContainer: an answer that cannot be read");
    send(api::Event::POST_CREATE_CONTAINER, spec, true);
    groups_.make(pod.group);
    groups_.set_cpus(pod.group, answer.adjust().linux().resources().cpu().cpus());
    pod.process = std::make_unique<pinfold::test::Child>();
    groups_.attach(pod.group, pod.process->pid());
    const bool has_barrier = ++started_ % 2 == 0;
    if (has_barrier) barriers.push_back(barrier_.pass(spec, pod.process->pid()));
    starts.push_back(send(api::Event::START_CONTAINER, spec, true));
    const double nri = creations.back() + starts.back();
    if (has_barrier) {
      both.push_back(nri + barriers.back());
    } else {
      nri_alone.push_back(nri);
    }
    send(api::Event::POST_START_CONTAINER, spec, true);
    return pod;
  }
  void end(const Pod& pod) {
    pod.process->kill();
    pod.process->wait();
    groups_.remove(pod.group);
    api::StopContainerRequest stop;
    *stop.mutable_pod() = sandbox_of(pod.spec, kubelet_);
    *stop.mutable_container() = container(pod.spec);
    ask("StopContainer", stop);
    send(api::Event::REMOVE_CONTAINER, pod.spec, true);
    ends.push_back(send(api::Event::STOP_POD_SANDBOX, pod.spec, false));
    send(api::Event::REMOVE_POD_SANDBOX, pod.spec, false);
    groups_.remove(parent(pod.spec));
  }

  void forget_times() {
    for (auto* const times : {&creations, &starts, &nri_alone, &barriers, &both}) times->clear();
  }

  std::vector<double> creations;  ///< in milliseconds, like the others
  std::vector<double> starts;
  std::vector<double> ends;
  std::vector<double> nri_alone;  ///< what is added to the start of a container
  std::vector<double> barriers;
  std::vector<double> both;

 private:
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
  double send(api::Event event, const PodSpec& spec, bool with_container) {
    api::StateChangeEvent message;
    message.set_event(event);
    *message.mutable_pod() = sandbox_of(spec, kubelet_);
    if (with_container) *message.mutable_container() = container(spec);
    return ask("StateChange", message);
  }
  double ask(const std::string& method, const google::protobuf::MessageLite& message) {
    const auto begin = Clock::now();
    const auto stream = socket_.call(method, message.SerializeAsString());
    wait([&] { return socket_.answers.contains(stream); });
    const auto& answer = socket_.answers.at(stream);
    if (!answer) throw std::runtime_error(fmt::format("{}: {}", method, answer.error().message));
    const double taken = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    last_answer_ = *answer;
    socket_.answers.erase(stream);
    return taken;
  }
  template <class Condition>
  void wait(const Condition& is_so) {
    const auto limit = Clock::now() + std::chrono::seconds(30);
    while (!is_so()) {
      check(Clock::now() < limit, "the service has not answered within 30 s");
      step(milliseconds(20));
    }
  }
  /// Waits until data arrives, at most for `limit`.
  void step(milliseconds limit) {
    pollfd ready{socket_.descriptor(), POLLIN, 0};
    (void)::poll(&ready, 1, static_cast<int>(limit.count()));
    socket_.poll();
  }

  test::SocketRuntime socket_;
  const Groups& groups_;
  Barrier barrier_;
  test::Kubelet kubelet_;
  std::string last_answer_;
  int started_ = 0;
};

/// Returns a pod with this container.
PodSpec pod_of(const std::string& uid, const std::string& container) {
  PodSpec spec = test::pod_with({container});
  spec.uid = PodUid(uid);
  spec.name = uid;
  return spec;
}

void report(const char* what, const std::vector<double>& times) {
  fmt::print("{:<24} {} times: p50 {:.2f} ms, p99 {:.2f} ms\n", what, times.size(),
             quantile(times, 0.5), quantile(times, 0.99));
}

/// Starts containers that live until they are ended; their times are dropped.
std::deque<Runtime::Pod> fill(Runtime& runtime, int containers) {
  std::deque<Runtime::Pod> pods;
  for (int i = 0; i < containers; ++i) {
    pods.push_back(runtime.start(pod_of(fmt::format("still-{}", i), "{name: c}"), milliseconds(0)));
  }
  runtime.forget_times();
  return pods;
}

void load(Runtime& runtime, std::chrono::seconds time, int rate) {
  const auto begin = Clock::now();
  std::deque<Runtime::Pod> shared;
  std::optional<Runtime::Pod> exclusive;
  for (int i = 0; Clock::now() < begin + time; ++i) {
    const std::string uid = fmt::format("pod-{}", i);
    if (i % std::max(rate / 2, 1) == 0 && !exclusive) {
      exclusive = runtime.start(pod_of(uid, test::limited("c", "1", "64Mi")), kExclusiveLife);
    } else {
      shared.push_back(runtime.start(pod_of(uid, "{name: c}"), kLife));
    }
    while (!shared.empty() && shared.front().end < Clock::now()) {
      runtime.end(shared.front());
      shared.pop_front();
    }
    if (exclusive && exclusive->end < Clock::now()) {
      runtime.end(*exclusive);
      exclusive.reset();
    }
    runtime.idle_until(begin + milliseconds(1000) * (i + 1) / rate);
  }
  fmt::print("{} containers in {:.1f} s\n", runtime.starts.size(),
             std::chrono::duration<double>(Clock::now() - begin).count());
  for (const Runtime::Pod& pod : shared) runtime.end(pod);
  if (exclusive) runtime.end(*exclusive);
}

void run(const std::string& program, std::chrono::seconds time, int rate, int containers) {
  const Groups groups;
  groups.make(groups.name() + "/service");
  const pinfold::test::TempDir directory(fs::temp_directory_path());
  Runtime runtime(directory, groups);
  const Service service(program, groups, directory);
  runtime.connect();
  const auto phase = [&](const char* name, const auto& work) {
    const double before = service.cpu_seconds();
    const auto begin = Clock::now();
    work();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    fmt::print("{}: {:.2f} % of a CPU, RSS {}\n", name,
               100 * (service.cpu_seconds() - before) / seconds, service.memory());
  };
  phase("at rest", [&] { runtime.idle_until(Clock::now() + time); });
  const int still = std::max(containers - rate * static_cast<int>(kLife / milliseconds(1000)), 0);
  const auto pods = fill(runtime, still);
  phase("with the load", [&] { load(runtime, time, rate); });
  report("CreateContainer", runtime.creations);
  report("START_CONTAINER", runtime.starts);
  report("STOP_POD_SANDBOX", runtime.ends);
  report("added by NRI alone", runtime.nri_alone);
  report("added by the barrier", runtime.barriers);
  report("added by both", runtime.both);
  const double nri = quantile(runtime.nri_alone, 0.5);
  fmt::print("of NRI alone (p50): the barrier {:.2f}, both {:.2f}\n",
             quantile(runtime.barriers, 0.5) / nri, quantile(runtime.both, 0.5) / nri);
  for (const Runtime::Pod& pod : pods) runtime.end(pod);
}

}  // namespace
}  // namespace pinfold::nri

int main(int argc, char** argv) {
  if (::geteuid() != 0) {
    fmt::print("skipped: makes cgroups, so it needs root\n");
    return 0;
  }
  try {
    pinfold::nri::run(argc > 1 ? argv[1] : PINFOLD_SERVE,
                      std::chrono::seconds(argc > 2 ? std::stoi(argv[2]) : 60),
                      argc > 3 ? std::stoi(argv[3]) : 10, argc > 4 ? std::stoi(argv[4]) : 50);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_nri_service: {}\n", error.what());
    return 1;
  }
  return testing::Test::HasFailure() ? 1 : 0;
}
