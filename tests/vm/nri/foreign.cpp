#include "foreign.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "checks.hpp"
#include "cri.hpp"

namespace pinfold::driver {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBestEffort = "/sys/fs/cgroup/kubepods/besteffort";
constexpr const char* kGroups = "/sys/fs/cgroup";

/// Ignores a group that no longer exists.
void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

/// Writes what koordinator writes to best-effort pods, and restores it.
class Agent {
 public:
  void act(std::mt19937::result_type choice) {
    const bool takes = choice % 2 == 0;
    switch (choice / 2 % 3) {
      case 0:
        return write(fs::path(kBestEffort) / "cpuset.cpus", takes ? "0-1" : "0-7");
      case 1:
        return write(fs::path(kBestEffort) / "cpu.max", takes ? "100000 100000" : "max");
      default:
        return set_idle(takes);
    }
  }
  void back_off() {
    for (const auto give : {1, 3, 5}) act(static_cast<std::mt19937::result_type>(give));
  }

 private:
  static void set_idle(bool is_idle) {
    for (const auto& entry : fs::recursive_directory_iterator(kBestEffort)) {
      if (entry.is_directory()) write(entry.path() / "cpu.idle", is_idle ? "1" : "0");
    }
  }
};

/// Like docker in docker: moves the container's processes into a new group below its own, and gives
/// that a cpuset.
void nest(const std::string& group) {
  const fs::path outer = kGroups + group;
  const fs::path inner = outer / "docker";
  fs::create_directory(inner);
  std::ifstream processes(outer / "cgroup.procs");
  for (int process = 0; processes >> process;) {
    write(inner / "cgroup.procs", std::to_string(process));
  }
  write(outer / "cgroup.subtree_control", "+cpuset");
  std::ifstream effective(outer / "cpuset.cpus.effective");
  std::string cpus;
  effective >> cpus;
  write(inner / "cpuset.cpus", cpus);
}

class Churn {
 public:
  explicit Churn(const BesideOthers& what)
      : what_(what), random_(static_cast<unsigned>(what.series)), exclusive_(what.file) {}

  void make_all() {
    for (int i = 0; i < what_.pods; ++i) make(i % 3 == 0 ? 0 : Pod::kBestEffort, ++number_);
    make(2, ++number_);
    nest(last_group_);
    make(Pod::kBestEffort, ++number_);
    nest(last_group_);
    make(Pod::kBestEffort, without_groups_);
  }

  /// Removes a random pod and makes a similar one.
  void step() {
    const auto all = sandboxes();
    const Sandbox& one = all.at(random_() % all.size());
    remove_pod(one);
    const bool has_groups = one.pod.number < kFirstWithoutGroups;
    make(one.pod.exclusive, has_groups ? ++number_ : ++without_groups_);
    if (random_() % 4 == 0 && has_groups) nest(last_group_);
    agent_.act(random_());
    ++steps_;
  }

  void finish() {
    agent_.back_off();
    expect_right_state("at the end");
    fmt::print("{} pods came and went, none was refused\n", steps_);
    for (const Sandbox& one : sandboxes()) remove_pod(one);
  }

 private:
  void make(int exclusive, int number) {
    Sandbox sandbox{"", {exclusive, what_.series, number}, true, {}};
    sandbox.id = run_sandbox(sandbox.pod);
    const std::string id = run_container(sandbox, "main");
    last_group_ = sandbox.pod.cgroup() + "/" + id;
    if (exclusive <= 0) return;
    exclusive_ << last_group_.substr(std::string("/kubepods/").size()) << ' '
               << cpus_of_group(last_group_).to_string() << std::endl;
  }

  BesideOthers what_;
  std::mt19937 random_;
  std::ofstream exclusive_;
  Agent agent_;
  std::string last_group_;
  int number_ = 0;
  int without_groups_ = kFirstWithoutGroups;
  int steps_ = 0;
};

}  // namespace

void run_beside_others(const BesideOthers& what) {
  Churn churn(what);
  churn.make_all();
  const auto begin = Clock::now();
  while (seconds_since(begin) < what.seconds) churn.step();
  churn.finish();
}

}  // namespace pinfold::driver
