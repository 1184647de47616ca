#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// The runtime's side of the NRI scenarios: pods and containers, requested as by a kubelet.
namespace pinfold::driver {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

[[nodiscard]] double seconds_since(Clock::time_point begin);
[[noreturn]] void complain(const std::string& what);

/// A pod with the containers "main" and "more". Its name says everything: "x3-1-17" has 3 exclusive
/// CPUs, of which "main" has at most 2 and "more" the others; a container without exclusive CPUs
/// has a share of the others. 1 is the series, 17 the number in it. "x-1-1-17" is a best-effort
/// pod.
struct Pod {
  static constexpr int kBestEffort = -1;  ///< value of `exclusive` for a pod without requests
  int exclusive;
  int series;
  int number;

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string uid() const;
  [[nodiscard]] std::string cgroup() const;
  [[nodiscard]] Json sandbox() const;
  [[nodiscard]] Json container(const std::string& container) const;
  [[nodiscard]] Json resources(const std::string& container) const;
  [[nodiscard]] Json all_resources() const;
  [[nodiscard]] int exclusive_of(const std::string& container) const;
};

struct Container {
  std::string id;
  std::string name;
  bool runs;
};

struct Sandbox {
  std::string id;
  Pod pod;
  bool is_ready;
  std::vector<Container> containers;
};

/// Returns the runtime's sandboxes.
[[nodiscard]] std::vector<Sandbox> sandboxes();

/// Each returns the id that the runtime assigns.
std::string run_sandbox(const Pod& pod);
std::string run_container(const Sandbox& sandbox, const std::string& name);

/// Kills the container if it runs.
void remove_container(const Container& container);
/// Also removes its group, as a kubelet does.
void remove_pod(const Sandbox& sandbox);

}  // namespace pinfold::driver
