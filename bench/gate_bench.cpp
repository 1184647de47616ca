#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "hook_run.hpp"
#include "pinfold/checkpoint/snapshot.hpp"
#include "temp_dir.hpp"

/// What pinfold-gate adds to the start of a container, for states of 1 to 500 pods. The benchmark's
/// own process serves as the container. A static program that does nothing shows the least cost of
/// any hook.
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

void repeat(benchmark::State& state, const std::vector<std::string>& words,
            const std::string& input) {
  for ([[maybe_unused]] auto one : state) {
    const HookRun run = run_hook(words, input);
    if (!run.is_ok) return state.SkipWithError("the program failed");
    state.SetIterationTime(run.cpu);
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
