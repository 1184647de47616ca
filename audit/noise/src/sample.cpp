#include "pinfold/noise/sample.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "pinfold/base/read_file.hpp"

namespace pinfold::noise {

Result<NoiseSample> read_counters(const std::string& root) {
  NoiseSample sample;
  PINFOLD_LET(const auto interrupts, read_file(root + "/proc/interrupts"));
  sample.at = std::chrono::steady_clock::now().time_since_epoch();
  sample.interrupts = parse_counts(interrupts);
  if (const auto text = read_file(root + "/proc/softirqs")) sample.softirqs = parse_counts(*text);
  if (const auto text = read_file(root + "/proc/stat")) {
    sample.lost = parse_lost_times(*text, ::sysconf(_SC_CLK_TCK));
  }
  if (const auto text = read_file(root + "/proc/schedstat")) sample.runs = parse_runs(*text);
  return sample;
}

Result<NoiseSample> read_sample(const std::string& root, const CpuSet& cpus) {
  PINFOLD_LET(auto sample, read_counters(root));
  PINFOLD_LET(auto tasks, audit::read_tasks(root, cpus));
  for (audit::LinuxTask& task : tasks) {
    const auto text =
        read_file(fmt::format("{}/proc/{}/task/{}/schedstat", root, task.process, task.thread));
    const auto times = text ? parse_thread_times(*text) : std::nullopt;
    if (times) sample.threads.push_back({std::move(task), *times});
  }
  return sample;
}

}  // namespace pinfold::noise
