#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "pinfold/checkpoint/snapshot.hpp"
#include "temp_dir.hpp"

/// What pinfold-gate adds to the start of a container, for states of 1 to 500 pods. Its own process
/// is the container. The least that any hook costs is a static program that does nothing.
namespace pinfold {
namespace {

std::string state_of(int pods) {
  std::string entries = R"("u":{"main":"0-8191"})";
  for (int i = 1; i < pods; ++i) {
    entries += fmt::format(R"(,"22222222-aaaa-4000-8000-{:012}":{{"main":"{}"}})", i, 8192 - i);
  }
  return fmt::format(
      R"({{"policyName":"static","defaultCpuSet":"","entries":{{{}}},"checksum":1}})", entries);
}

constexpr const char* kContainer =
    R"({{"id":"c","pid":{},"annotations":{{"io.kubernetes.pod.uid":"u",)"
    R"("io.kubernetes.pod.namespace":"default","io.kubernetes.container.name":"main"}}}})";

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// Runs a program with a file as its input. Returns its CPU time in seconds, which other load
/// changes less than the time that passes; negative if it fails.
double run(std::vector<std::string> words, const std::string& input) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  (void)::posix_spawn_file_actions_init(&actions);
  (void)::posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
  (void)::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), nullptr);
  (void)::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage usage{};
  if (failed != 0 || ::wait4(child, &status, 0, &usage) != child || status != 0) return -1;
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

void repeat(benchmark::State& state, const std::vector<std::string>& words,
            const std::string& input) {
  for ([[maybe_unused]] auto one : state) {
    const double seconds = run(words, input);
    if (seconds < 0) return state.SkipWithError("the program failed");
    state.SetIterationTime(seconds);
  }
}

void gate(benchmark::State& state) {
  const test::TempDir dir;
  checkpoint::SnapshotWriter writer(dir.path());
  checkpoint::Files files;
  files.cpu = state_of(static_cast<int>(state.range(0)));
  writer.publish(files);
  dir.write("input", fmt::format(kContainer, ::getpid()));
  repeat(state, {PINFOLD_GATE, "--state-dir", dir.path(), "--socket", dir / "sock"}, dir / "input");
}
BENCHMARK(gate)->Arg(1)->Arg(100)->Arg(500)->Iterations(300)->UseManualTime()->Unit(
    benchmark::kMicrosecond);

void exempt(benchmark::State& state) {
  const test::TempDir dir;
  dir.write("input", fmt::format(kContainer, ::getpid()));
  repeat(state, {PINFOLD_GATE, "--exempt", "default"}, dir / "input");
}
BENCHMARK(exempt)->Iterations(300)->UseManualTime()->Unit(benchmark::kMicrosecond);

void nothing(benchmark::State& state) { repeat(state, {"/bin/busybox", "true"}, "/dev/null"); }
BENCHMARK(nothing)->Iterations(300)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace pinfold
