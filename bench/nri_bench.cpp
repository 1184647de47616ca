// How long the answers to a runtime's requests take on a node with many containers in the shared
// pool, all of which must be written when one with exclusive CPUs comes or goes. An answer is
// decided, committed to a directory (set TMPDIR to measure a disk), applied to a model of cgroups
// in memory and read back. A real kernel adds its system calls. Argument: the number of containers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "quantile.hpp"
#include "runtime_world.hpp"

namespace pinfold::nri {
namespace {

using Clock = std::chrono::steady_clock;

template <class Work>
double milliseconds_of(const Work& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void report(const char* what, std::vector<double> times) {
  fmt::print("{:<28} p50 {:7.2f} ms   p99 {:7.2f} ms\n", what, quantile(times, 0.5),
             quantile(times, 0.99));
}

void run(int containers) {
  constexpr int kRounds = 50;
  test::RuntimeWorld world;
  for (int i = 1; i < containers; ++i) world.run(test::shared("s" + std::to_string(i)));
  std::vector<double> creations;
  std::vector<double> starts;
  std::vector<double> ends;
  for (int round = 0; round < kRounds; ++round) {
    const PodSpec spec = test::exclusive("x" + std::to_string(round), 2);
    world.run_sandbox(spec);
    creations.push_back(milliseconds_of([&] { (void)world.create(spec); }));
    starts.push_back(milliseconds_of([&] { (void)world.start(spec); }));
    world.stop(spec);
    ends.push_back(milliseconds_of([&] { world.remove_sandbox(spec); }));
  }
  fmt::print("{} containers\n", containers);
  report("CreateContainer", creations);
  report("START_CONTAINER", starts);
  report("STOP_ and REMOVE_POD_SANDBOX", ends);
  std::vector<PodSpec> pods;
  for (int i = 1; i < containers; ++i) pods.push_back(test::shared("s" + std::to_string(i)));
  world.restart();
  report("Synchronize, all known", {milliseconds_of([&] { world.synchronize(pods); })});
  test::RuntimeWorld other;
  for (const PodSpec& spec : pods) other.run_unseen(spec);
  report("Synchronize, all unknown", {milliseconds_of([&] { other.synchronize(pods); })});
}

}  // namespace
}  // namespace pinfold::nri

// NOLINTNEXTLINE(bugprone-exception-escape): a failed measurement ends the program
int main(int argc, char** argv) {
  pinfold::nri::run(argc > 1 ? std::stoi(argv[1]) : 250);
  return testing::Test::HasFailure() ? 1 : 0;
}
