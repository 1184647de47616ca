// The cost of one admission on a disk by the node agent (without enforcement), compared with the
// kubelet's for one container (the CPU file written, synced and renamed twice, the memory file
// once), and with a single append and sync of as many bytes as a transaction of whole files has.
// The three alternate, so that they run under the same load. For the admission it also counts
// instructions (without the kernel's, where the machine counts them), allocations and syncs. Uses
// the directory for temporary files; set TMPDIR to measure another disk. Arguments: the numbers of
// pods. Results: docs/performance.md.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "counted_calls.hpp"
#include "instructions.hpp"
#include "large_node.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/journal.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "quantile.hpp"
#include "temp_dir.hpp"

namespace pinfold {
namespace {

constexpr int kRounds = 200;
constexpr int kSettleEvery = 10;  ///< rounds

[[noreturn]] void give_up(std::string_view what) {
  fmt::print(stderr, "bench_commit: {}\n", what);
  std::exit(EXIT_FAILURE);
}

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

PodSpec numbered_pod(int number) {
  return test::pod_of_two_cpus(fmt::format("7a90481b-0000-4000-8000-{:012}", number),
                               fmt::format("web-{}", number));
}

/// Counts what does not depend on the load of the machine.
struct Tallied {
  static Tallied now() {
    static const Instructions kInstructions;
    return {kInstructions.read(), test::CountedCalls::now()};
  }

  std::optional<std::uint64_t> instructions;
  test::CountedCalls calls = {};
};

class CountSamples {
 public:
  void add_since(const Tallied& before) {
    const Tallied now = Tallied::now();
    if (now.instructions && before.instructions) {
      instructions_.push_back(static_cast<double>(*now.instructions - *before.instructions));
    }
    const auto calls = now.calls - before.calls;
    allocations_.push_back(static_cast<double>(calls.allocations));
    syncs_.push_back(static_cast<double>(calls.syncs));
  }
  void print(int pods) const {
    const std::string instructions =
        instructions_.empty() ? "not counted" : fmt::format("{:.0f}", quantile(instructions_, 0.5));
    fmt::print(
        "{:>4} pods  one admission, medians: instructions {}  allocations {:.0f}  syncs {:.0f}\n",
        pods, instructions, quantile(allocations_, 0.5), quantile(syncs_, 0.5));
  }

 private:
  std::vector<double> instructions_;
  std::vector<double> allocations_;
  std::vector<double> syncs_;
};

class Timer {
 public:
  /// Returns microseconds of wall-clock time, and of CPU time of this thread, since construction.
  [[nodiscard]] std::pair<double, double> read() const {
    const std::chrono::duration<double, std::micro> wall = Clock::now() - wall_;
    return {wall.count(), cpu_now() - cpu_};
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double cpu_now() {
    timespec now = {};
    if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) give_up("clock_gettime");
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
  }
  Clock::time_point wall_ = Clock::now();
  double cpu_ = cpu_now();
};

struct Samples {
  void add(const Timer& timer) {
    const auto [wall_us, cpu_us] = timer.read();
    wall.push_back(wall_us);
    cpu.push_back(cpu_us);
  }
  std::vector<double> wall;
  std::vector<double> cpu;
};

void print(int pods, std::string_view what, const Samples& samples) {
  fmt::print("{:>4} pods  {:<28} wall p10 {:7.0f} us  median {:7.0f} us  CPU median {:6.0f} us\n",
             pods, what, quantile(samples.wall, 0.1), quantile(samples.wall, 0.5),
             quantile(samples.cpu, 0.5));
}

void kubelet_write(checkpoint::Fs& fs, std::string_view name, const std::string& bytes) {
  const std::string temp = "." + std::string(name);
  const auto file = must(fs.create(temp));
  must(checkpoint::write_all(*file, bytes));
  must(file->sync());
  must(fs.rename(temp, std::string(name)));
}

void append(const UniqueFd& fd, const std::string& bytes) {
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fdatasync(fd.get()) != 0) {
    give_up("append");
  }
}

void measure(int pods) {
  const std::filesystem::path disk = std::filesystem::temp_directory_path();
  const test::TempDir ours(disk);
  const test::TempDir theirs(disk);
  const auto fs = must(checkpoint::open_directory(theirs.path()));
  const UniqueFd bare(::open((theirs / "bare").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  auto agent = must(
      agent::NodeAgent::open(test::large_node(),
                             must(checkpoint::Store::open(ours.path(), {std::chrono::seconds(1)},
                                                          checkpoint::OwnerCheck::kOff)),
                             std::nullopt, {}));
  for (int pod = 0; pod < pods; ++pod) must(agent.admit(numbered_pod(pod)));
  must(agent.admit(numbered_pod(pods)));
  must(agent.checkpoint_journal());
  const auto files = must(checkpoint::read_files(*must(checkpoint::open_directory(ours.path()))));
  must(agent.remove_pod(numbered_pod(pods).uid, agent::RunningProcesses::kRefuse));
  const std::string block(checkpoint::kJournalBlock, 'x');
  Samples admission;
  CountSamples counts;
  Samples settling;
  Samples one_write;
  Samples three_writes;
  Samples bare_append;
  // Not measured: the first commit of a journal also syncs the directory.
  const auto begin_journal = [&] {
    must(agent.admit(numbered_pod(pods)));
    must(agent.remove_pod(numbered_pod(pods).uid, agent::RunningProcesses::kRefuse));
  };
  begin_journal();
  for (int round = 0; round < kRounds; ++round) {
    const PodSpec pod = numbered_pod(pods + 1 + round);
    const Tallied before = Tallied::now();
    const Timer admission_timer;
    const auto outcome = must(agent.admit(pod));
    admission.add(admission_timer);
    counts.add_since(before);
    if (outcome.rejection) give_up("rejected");
    must(agent.remove_pod(pod.uid, agent::RunningProcesses::kRefuse));
    const Timer kubelet_timer;
    kubelet_write(*fs, checkpoint::kCpuFileName, *files.cpu);
    one_write.add(kubelet_timer);
    kubelet_write(*fs, checkpoint::kCpuFileName, *files.cpu);
    kubelet_write(*fs, checkpoint::kMemoryFileName, *files.memory);
    three_writes.add(kubelet_timer);
    const Timer append_timer;
    append(bare, block);
    bare_append.add(append_timer);
    if (round % kSettleEvery != 0) continue;
    const Timer settle_timer;
    must(agent.checkpoint_journal());
    settling.add(settle_timer);
    begin_journal();
  }
  print(pods, "one admission", admission);
  counts.print(pods);
  print(pods, "kubelet, one write", one_write);
  print(pods, "kubelet, three writes", three_writes);
  print(pods, fmt::format("append {} bytes, sync", block.size()), bare_append);
  print(pods, "checkpoint", settling);
}

}  // namespace
}  // namespace pinfold

// NOLINTNEXTLINE(bugprone-exception-escape): a failed measurement ends the program
int main(int argc, char** argv) {
  std::vector<int> numbers;
  for (const char* const argument : std::span(argv, static_cast<std::size_t>(argc)).subspan(1)) {
    numbers.push_back(std::atoi(argument));
  }
  if (numbers.empty()) numbers = {0, 10, 50, 250};
  for (const int pods : numbers) pinfold::measure(pods);
}
