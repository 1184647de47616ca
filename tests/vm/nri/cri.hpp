#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// The runtime's side of the scenarios with NRI: pods and containers, as a kubelet asks for them.
namespace pinfold::driver {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

[[nodiscard]] double seconds_since(Clock::time_point begin);
[[noreturn]] void complain(const std::string& what);

/// A call of CRI through the program that makes the harness's calls. Throws what the runtime
/// answers if it is an error.
Json call(const std::string& method, const Json& request);

/// A pod with the containers "main" and "more". All is in its name, "x3-1-17": it has 3 exclusive
/// CPUs, of which "main" has at most 2 and "more" the others; a container without has a share of
/// the others. 1 is the series, 17 the number in it. "x-1-1-17" is a best-effort pod.
struct Pod {
  static constexpr int kBestEffort = -1;  ///< `exclusive` of one that asks for nothing
  int exclusive;
  int series;
  int number;

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string uid() const;
  [[nodiscard]] std::string cgroup() const;
  [[nodiscard]] Json sandbox() const;
  [[nodiscard]] Json container(const std::string& container) const;
  [[nodiscard]] Json resources(const std::string& container) const;
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

/// What the runtime has.
[[nodiscard]] std::vector<Sandbox> sandboxes();

/// Each returns the id that the runtime gives.
std::string run_sandbox(const Pod& pod);
std::string run_container(const Sandbox& sandbox, const std::string& name);

/// Kills what runs.
void remove_container(const Container& container);
/// And its group, as a kubelet does.
void remove_pod(const Sandbox& sandbox);

}  // namespace pinfold::driver
