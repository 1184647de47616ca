#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "pinfold/types/cpuset.hpp"

/// Watches the programs of containers in a virtual machine, until a file exists:
///
///     crun-watch FILE
///
/// A program is a process `sleep` in /runtime/ID. If ID begins with 'x', its CPUs are exclusive: no
/// other program may run on them. /proc is read file by file, so an overlap counts if two samples
/// in a row have it. Exit status: 0, or 1 after an overlap.
namespace pinfold {
namespace {

namespace fs = std::filesystem;

/// The CPUs of each program, by container.
using Sample = std::map<std::string, CpuSet>;
using Overlaps = std::set<std::pair<std::string, std::string>>;

/// Returns what follows `before` in the first line of the file that has it; "" if none has.
std::string find_after(const fs::path& file, const std::string& before) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find(before);
    if (at != std::string::npos) return line.substr(at + before.size());
  }
  return "";
}

void add_program(const fs::path& process, Sample& sample) {
  if (find_after(process / "comm", "") != "sleep") return;
  const std::string id = find_after(process / "cgroup", ":/runtime/");
  const auto cpus = CpuSet::parse(find_after(process / "status", "Cpus_allowed_list:\t"));
  if (!id.empty() && cpus) sample[id] = *cpus;
}

Sample take_sample() {
  Sample sample;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) add_program(entry, sample);
  }
  return sample;
}

Overlaps find_overlaps(const Sample& sample) {
  Overlaps overlaps;
  for (const auto& [id, cpus] : sample) {
    for (const auto& [other, its_cpus] : sample) {
      if (id[0] == 'x' && id != other && !(cpus & its_cpus).empty()) overlaps.emplace(id, other);
    }
  }
  return overlaps;
}

int watch(const fs::path& until) {
  using std::chrono_literals::operator""ms;
  Overlaps before;
  int samples = 0;
  std::size_t programs = 0;
  for (; !fs::exists(until); std::this_thread::sleep_for(20ms)) {
    const Sample sample = take_sample();
    const Overlaps now = find_overlaps(sample);
    for (const auto& [id, other] : now) {
      if (before.count({id, other}) == 0) continue;
      fmt::print("'{}' has '{}', and '{}' has '{}'\n", id, sample.at(id).to_string(), other,
                 sample.at(other).to_string());
      return 1;
    }
    before = now;
    programs += sample.size();
    ++samples;
  }
  fmt::print("{} samples, {} programs, no overlap\n", samples, programs);
  return 0;
}

}  // namespace
}  // namespace pinfold

int main(int argc, char** argv) { return argc == 2 ? pinfold::watch(argv[1]) : 2; }
