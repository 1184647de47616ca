#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "checks.hpp"
#include "cri.hpp"
#include "cri_call.hpp"
#include "foreign.hpp"

/// Runs in a guest with containerd and the service, and makes and removes pods and containers as
/// fast as it can.
///
///     nri-driver churn GOAL SERIES FILE     records exclusive CPUs in FILE
///     nri-driver steps GOAL SERIES FILE     as churn, with any plugin: checks nothing, and
///     continues
///                                           when a step fails
///     nri-driver storm GOAL SERIES START    kills the service and the runtime meanwhile; START
///                                           starts the service
///     nri-driver starts COUNT FILE          appends to FILE how long containers take to start
///     nri-driver foreign SECONDS PODS SERIES FILE   as churn, on a node with other agents
///                                                   (foreign.hpp)
///     nri-driver figures FILE...        prints a summary of the times in these files
///     nri-driver update NAME CPUS       UpdateContainerResources for containers of this name
///     nri-driver resize NAME COUNT      the same as a kubelet that resizes them: shares and quota
///
/// With NRI_DRIVER_RESTLESS in the environment, containers work on their CPUs, for the witness.
/// GOAL is the number of containers to make and remove or, for storm, of kills of the service and
/// as many of the runtime. SERIES seeds the random choices, and each series has its own pods. Exit
/// status: 0, or 1 with a message that says what was wrong.
namespace pinfold::driver {
namespace {

constexpr int kMostPods = 4;
constexpr int kMostExclusive = 4;  ///< of the 6 CPUs that are not reserved: no pod is rejected
constexpr int kMostOfPod = 3;

struct Counts {
  std::atomic<int> pods = 0;
  std::atomic<int> made = 0;  ///< containers
  std::atomic<int> removed = 0;
  std::atomic<int> steps = 0;
};

std::string to_string(const Counts& counts) {
  return fmt::format("{} containers made, {} removed, in {} pods", counts.made.load(),
                     counts.removed.load(), counts.pods.load());
}

/// Makes and removes pods and containers.
class Driver {
 public:
  Driver(int series, const char* file)
      : series_(series), random_(static_cast<unsigned>(series)), exclusive_(file) {}

  /// Makes and removes a pod with an exclusive CPU.
  Footprint use_once() {
    Sandbox sandbox{"", {1, series_, ++number_}, true, {}};
    sandbox.id = run_sandbox(sandbox.pod);
    ++counts.pods;
    make(sandbox, "main");
    remove_all();
    return footprint();
  }

  /// A sandbox costs several times as much as a container, so most steps change containers.
  void step() {
    const auto all = sandboxes();
    const bool with_pods = all.size() < 2 || random_() % 8 == 0;
    if (with_pods && all.size() < kMostPods && (all.size() < 2 || random_() % 2 == 0)) {
      make_pod(all);
    } else if (const Sandbox& one = all.at(random_() % all.size()); with_pods || !one.is_ready) {
      remove(one);
    } else {
      change(one, random_() % 2 == 0 ? "main" : "more");
    }
    ++counts.steps;
  }

  void remove_all() {
    for (const Sandbox& one : sandboxes()) remove(one);
  }

  Counts counts;

 private:
  void make_pod(const std::vector<Sandbox>& all) {
    int used = 0;
    for (const Sandbox& one : all) used += one.pod.exclusive;
    const int most = std::min(kMostOfPod, kMostExclusive - used);
    const int exclusive = static_cast<int>(random_() % (static_cast<unsigned>(most) + 1U));
    Sandbox sandbox{"", {exclusive, series_, ++number_}, true, {}};
    sandbox.id = run_sandbox(sandbox.pod);
    ++counts.pods;
    make(sandbox, "main");
  }

  void make(const Sandbox& sandbox, const std::string& name) {
    const std::string id = run_container(sandbox, name);
    ++counts.made;
    const int exclusive = sandbox.pod.exclusive_of(name);
    if (exclusive == 0) return;
    const std::string group = sandbox.pod.cgroup() + "/" + id;
    const CpuSet cpus = cpus_of_group(group);
    // A container made without the service has no cpuset, or that of the shared pool, where it is
    // confined until the service has decided. The pool always has more CPUs than a container.
    if (static_cast<int>(cpus.size()) != exclusive) return;
    exclusive_ << group.substr(std::string("/kubepods/").size()) << ' ' << cpus.to_string()
               << std::endl;
  }

  /// Removes a container of a pod, or makes it; the second time it gets a new id.
  void change(const Sandbox& sandbox, const std::string& name) {
    const auto found = std::find_if(sandbox.containers.begin(), sandbox.containers.end(),
                                    [&name](const auto& one) { return one.name == name; });
    if (found == sandbox.containers.end()) return make(sandbox, name);
    remove_container(*found);
    ++counts.removed;
  }

  void remove(const Sandbox& sandbox) {
    remove_pod(sandbox);
    counts.removed += static_cast<int>(sandbox.containers.size());
  }

  int series_;
  std::mt19937 random_;
  std::ofstream exclusive_;
  int number_ = 0;
};

void churn(int goal, int series, const char* file) {
  Driver driver(series, file);
  const Footprint before = driver.use_once();
  while (driver.counts.made < goal) driver.step();
  expect_right_state("at the end");
  driver.remove_all();
  expect_nothing_left(before, EmptyGroups::kNone);
  fmt::print("{}\n", to_string(driver.counts));
}

/// Makes a step; if it fails, because the runtime is dead, waits a moment.
void try_step(Driver& driver) {
  try {
    driver.step();
  } catch (const std::exception&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void steps(int goal, int series, const char* file) {
  Driver driver(series, file);
  while (driver.counts.made < goal) try_step(driver);
  fmt::print("{}\n", to_string(driver.counts));
}

/// Waits until the driver has done two more steps: the first may have begun before the kill.
void wait_for_steps(const Driver& driver) {
  constexpr double kMost = 300;
  const auto begin = Clock::now();
  const int before = driver.counts.steps;
  while (driver.counts.steps < before + 2) {
    if (seconds_since(begin) > kMost) complain("nothing is made or removed any more");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

class Storm {
 public:
  Storm(int series, std::string start)
      : driver_(series, "/tmp/exclusive"),
        before_(driver_.use_once()),
        random_(static_cast<unsigned>(series) + 1U),
        what_(series),
        start_(std::move(start)) {}

  /// Kills while containers are made and removed, restarts, and checks.
  void strike() {
    std::atomic<bool> end = false;
    std::thread worker([&] {
      while (!end) try_step(driver_);
    });
    std::string failed;
    try {
      kill_and_start();
      wait_for_steps(driver_);
    } catch (const std::exception& error) {
      failed = error.what();
    }
    end = true;
    worker.join();
    if (!failed.empty()) complain(failed);
    expect_right_state(to_string());
  }

  Forgotten finish() {
    driver_.remove_all();
    expect_right_state("after all pods");
    Forgotten forgotten = forgotten_groups();
    end_forgotten(forgotten);
    expect_nothing_left(before_, EmptyGroups::kOfRuntime);
    return forgotten;
  }

  [[nodiscard]] int kills_of_each() const { return std::min(of_service_, of_runtime_); }
  [[nodiscard]] std::string to_string() const {
    return fmt::format("{} kills of the service, {} of the runtime, {}", of_service_, of_runtime_,
                       driver::to_string(driver_.counts));
  }

 private:
  void wait(unsigned most_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random_() % most_ms));
  }

  void kill_and_start() {
    const int what = what_++ % 3;  // each in turn, because there are few rounds
    const bool kills_service = what != 1;
    const bool kills_runtime = what != 0;
    wait(4000);
    const int connected = std::atoi(output_of("grep -c 'NRI: connected' /run/pinfold/log").c_str());
    if (kills_service) run("sh /test/serve.sh kill");
    if (kills_runtime) run("sh /usr/lib/pinfold/runtime.sh kill");
    of_service_ += kills_service ? 1 : 0;
    of_runtime_ += kills_runtime ? 1 : 0;
    wait(3000);
    if (kills_runtime) run("sh /usr/lib/pinfold/runtime.sh restart");
    if (kills_service) run(start_);
    run(fmt::format("sh /test/serve.sh wait 'NRI: connected' {} >/dev/null",
                    kills_service ? 1 : connected + 1));
  }

  Driver driver_;
  Footprint before_;
  std::mt19937 random_;
  int what_;
  std::string start_;
  int of_service_ = 0;
  int of_runtime_ = 0;
};

void storm(int goal, int series, const std::string& start) {
  Storm storm(series, start);
  while (storm.kills_of_each() < goal) storm.strike();
  const Forgotten forgotten = storm.finish();
  fmt::print("{}; left by the runtime: {} empty groups, {} with processes\n", storm.to_string(),
             forgotten.empty.size(), forgotten.running.size());
}

/// In a pod with 3 exclusive CPUs, starts its containers with 2 and with 1 in turns, so that the
/// shared pool changes each time. Another pod runs in the pool.
void starts(int count, const char* file) {
  std::ofstream times(file, std::ios::app);
  Sandbox shared{"", {0, 0, 1}, true, {}};
  shared.id = run_sandbox(shared.pod);
  (void)run_container(shared, "main");
  Sandbox exclusive{"", {3, 0, 2}, true, {}};
  exclusive.id = run_sandbox(exclusive.pod);
  for (int i = 0; i < count; ++i) {
    const std::string name = i % 2 == 0 ? "main" : "more";
    const auto begin = Clock::now();
    const std::string id = run_container(exclusive, name);
    times << seconds_since(begin) << std::endl;
    remove_container({id, name, true});
  }
  remove_pod(exclusive);
  remove_pod(shared);
}

void print_figures(const std::string& file) {
  std::vector<double> times;
  std::ifstream in(file);
  for (double seconds = 0; in >> seconds;) times.push_back(seconds);
  if (times.empty()) complain(fmt::format("'{}': no times", file));
  std::sort(times.begin(), times.end());
  const auto at = [&times](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  fmt::print("{}: {} starts: least {:.3f} s, p50 {:.3f} s, p90 {:.3f} s, p99 {:.3f} s\n", file,
             times.size(), times.front(), at(0.5), at(0.9), at(0.99));
}

/// `resources`: those of the runtime's LinuxContainerResources that change.
void update(const std::string& name, const Json& resources) {
  int count = 0;
  const Json containers = call("ListContainers", Json::object()).at("containers");
  for (const Json& one : containers) {
    if (one.at("metadata").at("name") != name || one.at("state") != "CONTAINER_RUNNING") continue;
    (void)call("UpdateContainerResources", {{"container_id", one.at("id")}, {"linux", resources}});
    ++count;
  }
  fmt::print("{} updated\n", count);
}

void resize(const std::string& name, int cpus) {
  constexpr int kPeriod = 100'000;  // us
  constexpr int kSharesOfACpu = 1024;
  update(name, Json::object({{"cpu_period", kPeriod},
                             {"cpu_quota", cpus * kPeriod},
                             {"cpu_shares", cpus * kSharesOfACpu}}));
}

void run_command(const std::vector<std::string>& arguments) {
  const std::string verb = arguments.empty() ? "" : arguments[0];
  if (arguments.size() == 4 && verb == "churn") {
    churn(std::stoi(arguments[1]), std::stoi(arguments[2]), arguments[3].c_str());
  } else if (arguments.size() == 4 && verb == "steps") {
    steps(std::stoi(arguments[1]), std::stoi(arguments[2]), arguments[3].c_str());
  } else if (arguments.size() == 4 && verb == "storm") {
    storm(std::stoi(arguments[1]), std::stoi(arguments[2]), arguments[3]);
  } else if (arguments.size() == 5 && verb == "foreign") {
    run_beside_others(
        {std::stoi(arguments[1]), std::stoi(arguments[2]), std::stoi(arguments[3]), arguments[4]});
  } else if (arguments.size() == 3 && verb == "starts") {
    starts(std::stoi(arguments[1]), arguments[2].c_str());
  } else if (arguments.size() == 3 && verb == "update") {
    update(arguments[1], Json::object({{"cpuset_cpus", arguments[2]}}));
  } else if (arguments.size() == 3 && verb == "resize") {
    resize(arguments[1], std::stoi(arguments[2]));
  } else if (arguments.size() > 1 && verb == "figures") {
    std::for_each(arguments.begin() + 1, arguments.end(), print_figures);
  } else {
    complain(
        "usage: nri-driver churn GOAL SERIES FILE | steps GOAL SERIES FILE | storm GOAL SERIES "
        "START | starts COUNT FILE | figures FILE... | update NAME CPUS | resize NAME COUNT | "
        "foreign SECONDS PODS SERIES FILE");
  }
}

}  // namespace
}  // namespace pinfold::driver

int main(int argc, char** argv) {
  try {
    pinfold::driver::run_command({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    // The report contains the end of the output and of the logs.
    fmt::print(
        "{}\nfailed: {}\n",
        pinfold::driver::output_of("grep -h 'NRI: ' /run/pinfold/log | tail -n 15 | cut -c 1-260"),
        error.what());
    return 1;
  }
}
