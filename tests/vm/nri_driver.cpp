#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/types/cpuset.hpp"

/// Runs in a guest with containerd and the service, and makes and removes pods as fast as it can,
/// through the program that makes the harness's calls of CRI.
///
///     nri-driver churn SECONDS SEED FILE    records exclusive CPUs in FILE
///     nri-driver storm SECONDS SEED START   kills the service and the runtime meanwhile; START
///                                           starts the service
///     nri-driver starts COUNT               how long a container takes to start
///
/// Exit status: 0, or 1 with what was wrong.
namespace pinfold {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr const char* kSocket = "/run/pinfold-cri.sock";
constexpr const char* kKubepods = "/sys/fs/cgroup/kubepods";
constexpr int kMostPods = 5;
constexpr int kMostExclusive = 4;  ///< of the 6 CPUs that are not reserved: no pod is rejected

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void complain(const std::string& what) { throw std::runtime_error(what); }

std::string read_all(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

CpuSet parse_cpus(const std::string& text) {
  return CpuSet::parse(text.substr(0, text.find('\n'))).value_or(CpuSet());
}

/// A call of CRI. Throws what the runtime answers if it is an error.
Json call(const std::string& method, const Json& request) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (void)std::strncpy(address.sun_path, kSocket, sizeof address.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    complain(fmt::format("{}: {}", kSocket, strerrordesc_np(errno)));
  }
  const std::string text =
      Json({{"method", method}, {"request", request}, {"timeLimitMs", 120000}}).dump();
  if (send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()) ||
      shutdown(fd.get(), SHUT_WR) != 0) {
    complain(fmt::format("{}: {}", method, strerrordesc_np(errno)));
  }
  std::string answer;
  char chunk[4096];
  for (ssize_t got = 0; (got = read(fd.get(), chunk, sizeof chunk)) > 0;) {
    answer.append(chunk, static_cast<std::size_t>(got));
  }
  const Json reply = Json::parse(answer, nullptr, false);
  if (!reply.is_object() || !reply.contains("reply")) complain(method + ": " + answer);
  return reply["reply"];
}

/// A pod with one container. Its name says how many exclusive CPUs it has: "x2-17", or 0.
struct Pod {
  int number;
  int exclusive;

  [[nodiscard]] std::string name() const { return fmt::format("x{}-{}", exclusive, number); }
  [[nodiscard]] std::string uid() const {
    return fmt::format("33333333-aaaa-4000-8000-{:012}", number);
  }
  [[nodiscard]] std::string cgroup() const {
    return fmt::format("/kubepods{}/pod{}", exclusive == 0 ? "/burstable" : "", uid());
  }
  [[nodiscard]] Json resources() const {
    const int cpus = std::max(exclusive, 1);
    return {{"cpu_shares", exclusive == 0 ? 512 : 1024 * cpus},
            {"cpu_period", 100000},
            {"cpu_quota", 100000 * cpus},
            {"memory_limit_in_bytes", 32 << 20},
            {"oom_score_adj", exclusive == 0 ? 970 : -997}};
  }
  [[nodiscard]] Json sandbox() const {
    return {{"metadata", {{"name", name()}, {"namespace", "default"}, {"uid", uid()}}},
            {"linux",
             {{"cgroup_parent", cgroup()},
              {"security_context", {{"namespace_options", {{"network", "NODE"}}}}},
              {"resources", resources()}}}};
  }
  [[nodiscard]] Json container() const {
    return {{"metadata", {{"name", "main"}}},
            {"image", {{"image", "localhost/busybox:1"}}},
            {"labels", {{"number", std::to_string(number)}, {"cpus", std::to_string(exclusive)}}},
            {"linux", {{"resources", resources()}}}};
  }
};

int exclusive_of(const std::string& name) { return std::atoi(name.c_str() + 1); }

struct Started {
  std::string sandbox;
  std::string container;
  double seconds = 0;  ///< of CreateContainer and StartContainer
};

Started run_pod(const Pod& pod) {
  Started started;
  started.sandbox = call("RunPodSandbox", {{"config", pod.sandbox()}}).at("pod_sandbox_id");
  const auto begin = Clock::now();
  started.container = call("CreateContainer", {{"pod_sandbox_id", started.sandbox},
                                               {"config", pod.container()},
                                               {"sandbox_config", pod.sandbox()}})
                          .at("container_id");
  (void)call("StartContainer", {{"container_id", started.container}});
  started.seconds = seconds_since(begin);
  return started;
}

void remove_pod(const std::string& sandbox, const std::string& uid) {
  (void)call("StopPodSandbox", {{"pod_sandbox_id", sandbox}});
  (void)call("RemovePodSandbox", {{"pod_sandbox_id", sandbox}});
  // As a kubelet does. It may have been done before an earlier call failed.
  for (const char* const parent : {"/pod", "/burstable/pod"}) {
    std::error_code ignored;
    std::filesystem::remove(kKubepods + (parent + uid), ignored);
  }
}

Json sandboxes() { return call("ListPodSandbox", Json::object()).at("items"); }

std::string output_of(const char* command) {
  std::string text;
  std::FILE* const pipe = popen(command, "re");
  if (pipe == nullptr) complain(command);
  char chunk[4096];
  for (std::size_t got = 0; (got = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) {
    text.append(chunk, got);
  }
  (void)pclose(pipe);
  return text;
}

void run(const std::string& command) {
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe): glibc's is
  if (status != 0) {
    complain(fmt::format("'{}': status {}", command, status));
  }
}

/// The desired CPUs of one container by the service's state.
struct Desired {
  std::string directory;
  CpuSet cpus;
};

std::map<std::string, Desired> desired_by_uid() {
  std::map<std::string, Desired> desired;
  const Json status = Json::parse(
      output_of("pinfold status -o json --config /etc/pinfold/config.yaml"), nullptr, false);
  for (const Json& pod : status.at("pods")) {
    const Json& container = pod.at("containers").at(0);
    desired[pod.at("uid")] = {container.at("cgroupPath"),
                              parse_cpus(container.at("cpus").get<std::string>())};
  }
  return desired;
}

/// What is wrong with the CPUs of a running container; "" if nothing is.
std::string wrong_cpus(const std::string& name, const Desired& desired) {
  const int exclusive = exclusive_of(name);
  if (exclusive > 0 && static_cast<int>(desired.cpus.size()) != exclusive) {
    return fmt::format("{}: decided: {}", name, desired.cpus.to_string());
  }
  const CpuSet has = parse_cpus(read_all(desired.directory + "/cpuset.cpus.effective"));
  if (has == desired.cpus) return "";
  return fmt::format("{}: CPUs {}, expected {}", name, has.to_string(), desired.cpus.to_string());
}

/// Groups with processes that can run on exclusive CPUs of another.
std::string wrong_groups(const std::map<std::string, CpuSet>& exclusive) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kKubepods)) {
    if (!entry.is_directory()) continue;
    const std::string group = entry.path();
    if (read_all(group + "/cgroup.procs").empty()) continue;
    const CpuSet has = parse_cpus(read_all(group + "/cpuset.cpus.effective"));
    for (const auto& [owner, cpus] : exclusive) {
      if (owner == group || !has.intersects(cpus)) continue;
      return fmt::format("{}: CPUs {}, of them exclusive to {}: {}", group, has.to_string(), owner,
                         (has & cpus).to_string());
    }
  }
  return "";
}

/// The runtime's sandboxes: their names and UIDs by id.
struct Sandboxes {
  std::map<std::string, std::string> names;
  std::map<std::string, std::string> uids;
};

Sandboxes known_sandboxes() {
  Sandboxes known;
  for (const Json& sandbox : sandboxes()) {
    known.names[sandbox.at("id")] = sandbox.at("metadata").at("name");
    known.uids[sandbox.at("id")] = sandbox.at("metadata").at("uid");
  }
  return known;
}

/// Compares the running containers with the service's state and the kernel; "" if all is right.
std::string wrong_containers() {
  const auto desired = desired_by_uid();
  Sandboxes known = known_sandboxes();
  std::map<std::string, CpuSet> exclusive;
  for (const Json& container : call("ListContainers", Json::object()).at("containers")) {
    if (container.at("state") != "CONTAINER_RUNNING") continue;
    const std::string& name = known.names[container.at("pod_sandbox_id")];
    const auto found = desired.find(known.uids[container.at("pod_sandbox_id")]);
    if (found == desired.end()) return name + " is not known";
    if (!found->second.directory.ends_with("/" + container.at("id").get<std::string>())) {
      return name + " is not adopted";
    }
    if (std::string wrong = wrong_cpus(name, found->second); !wrong.empty()) return wrong;
    if (exclusive_of(name) > 0) exclusive[found->second.directory] = found->second.cpus;
  }
  return wrong_groups(exclusive);
}

/// A pod that the service has and the runtime has not; "" if there is none.
std::string left_pod() {
  const Sandboxes known = known_sandboxes();
  for (const auto& [uid, container] : desired_by_uid()) {
    const bool is_known =
        std::any_of(known.uids.begin(), known.uids.end(),
                    [&uid = uid](const auto& sandbox) { return sandbox.second == uid; });
    if (!is_known) return fmt::format("pod '{}' is left", uid);
  }
  return "";
}

/// Makes and removes pods.
class Driver {
 public:
  Driver(unsigned seed, const char* file) : random_(seed), exclusive_(file) {}

  /// Removes a pod, or makes one.
  void step() {
    const Json all = sandboxes();
    int used = 0;
    for (const Json& one : all) used += exclusive_of(one.at("metadata").at("name"));
    const int count = static_cast<int>(all.size());
    if (count >= kMostPods || (count > 0 && random_() % 2 == 0)) {
      remove(all.at(random_() % all.size()));
      ++removed;
      return;
    }
    const int most = std::min(2, kMostExclusive - used);
    const Pod pod{++number_,
                  most <= 0 ? 0 : static_cast<int>(random_() % (static_cast<unsigned>(most) + 1U))};
    const Started started = run_pod(pod);
    ++made;
    if (pod.exclusive == 0) return;
    const std::string group = pod.cgroup() + "/" + started.container;
    const CpuSet cpus = parse_cpus(read_all("/sys/fs/cgroup" + group + "/cpuset.cpus"));
    if (cpus.empty()) return;  // made without the service
    exclusive_ << group.substr(std::strlen("/kubepods/")) << ' ' << cpus.to_string() << std::endl;
  }
  void remove_all() {
    for (const Json& one : sandboxes()) remove(one);
  }

  std::atomic<int> made = 0;
  std::atomic<int> removed = 0;

 private:
  static void remove(const Json& sandbox) {
    remove_pod(sandbox.at("id"), sandbox.at("metadata").at("uid"));
  }

  std::mt19937 random_;
  std::ofstream exclusive_;
  int number_ = 0;
};

/// The containers at once; pods whose end the runtime has not reported may stay until the next
/// look.
void expect_right_state(const std::string& when) {
  constexpr double kLook = 30;
  if (const std::string wrong = wrong_containers(); !wrong.empty()) complain(when + ": " + wrong);
  const auto begin = Clock::now();
  for (std::string left; !(left = left_pod()).empty();) {
    if (seconds_since(begin) > kLook) complain(fmt::format("{}: {}", when, left));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

void churn(int seconds, unsigned seed, const char* file) {
  Driver driver(seed, file);
  const auto begin = Clock::now();
  while (seconds_since(begin) < seconds) driver.step();
  expect_right_state("at the end");
  driver.remove_all();
  expect_right_state("after all");
  fmt::print("{} made, {} removed\n", driver.made.load(), driver.removed.load());
}

/// Until the driver has done two more steps: the first may have begun before the kill.
void wait_for_steps(const Driver& driver) {
  constexpr double kMost = 300;
  const auto begin = Clock::now();
  const int before = driver.made + driver.removed;
  while (driver.made + driver.removed < before + 2) {
    if (seconds_since(begin) > kMost) complain("no pod is made or removed any more");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// One round of the storm: kills while pods are made and removed, and starts again.
void strike(Driver& driver, std::mt19937& random, const std::string& start) {
  std::atomic<bool> end = false;
  std::thread worker([&] {
    while (!end) {
      try {
        driver.step();
      } catch (const std::exception&) {  // the runtime is dead
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
  });
  const auto wait = [&random](unsigned most_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % most_ms));
  };
  const auto what = random() % 3;
  const bool kills_service = what != 1;
  const bool kills_runtime = what != 0;
  std::string failed;
  try {
    wait(4000);
    const int connected = std::atoi(output_of("grep -c 'NRI: connected' /run/pinfold/log").c_str());
    if (kills_service) run("sh /test/serve.sh kill");
    if (kills_runtime) run("sh /usr/lib/pinfold/runtime.sh kill");
    wait(3000);
    if (kills_runtime) run("sh /usr/lib/pinfold/runtime.sh restart");
    if (kills_service) run(start);
    run(fmt::format("sh /test/serve.sh wait 'NRI: connected' {} >/dev/null",
                    kills_service ? 1 : connected + 1));
    wait_for_steps(driver);
  } catch (const std::exception& error) {
    failed = error.what();
  }
  end = true;
  worker.join();
  if (!failed.empty()) complain(failed);
}

void storm(int seconds, unsigned seed, const std::string& start) {
  Driver driver(seed, "/tmp/exclusive");
  std::mt19937 random(seed + 1);
  const auto begin = Clock::now();
  int rounds = 0;
  for (; seconds_since(begin) < seconds; ++rounds) {
    strike(driver, random, start);
    expect_right_state(fmt::format("round {}", rounds));
  }
  driver.remove_all();
  expect_right_state("after all");
  fmt::print("{} rounds, {} made, {} removed\n", rounds, driver.made.load(), driver.removed.load());
}

void starts(int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const Pod pod{i, 2};
    const Started started = run_pod(pod);
    times.push_back(started.seconds);
    remove_pod(started.sandbox, pod.uid());
  }
  std::sort(times.begin(), times.end());
  const auto at = [&times](double share) {
    return times[std::min(times.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(times.size())))];
  };
  fmt::print("{} starts: p50 {:.3f} s, p99 {:.3f} s, least {:.3f} s\n", count, at(0.5), at(0.99),
             times.front());
}

int run_command(const std::vector<std::string>& arguments) {
  try {
    if (arguments.size() == 4 && arguments[0] == "churn") {
      churn(std::stoi(arguments[1]), static_cast<unsigned>(std::stoul(arguments[2])),
            arguments[3].c_str());
    } else if (arguments.size() == 4 && arguments[0] == "storm") {
      storm(std::stoi(arguments[1]), static_cast<unsigned>(std::stoul(arguments[2])), arguments[3]);
    } else if (arguments.size() == 2 && arguments[0] == "starts") {
      starts(std::stoi(arguments[1]));
    } else {
      complain(
          "usage: nri-driver churn SECONDS SEED FILE | storm SECONDS SEED START | starts COUNT");
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print("failed: {}\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace pinfold

int main(int argc, char** argv) { return pinfold::run_command({argv + 1, argv + argc}); }
