#include "recording_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "pinfold/base/read_file.hpp"
#include "recording.hpp"

namespace pinfold::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kMarks = "marks";
constexpr const char* kSuffix = ".recording";
constexpr double kMillisecond = 1e6;
constexpr useconds_t kPollInterval = 50'000;

/// One program: the runs of its threads by CPU, in order of their begin, and its pauses.
struct Program {
  std::string name;
  std::size_t threads = 0;
  std::map<std::uint64_t, std::vector<Run>> on_cpu;
  std::vector<std::pair<std::int64_t, std::int64_t>> pauses;  ///< begin and end
  std::vector<Run> memory;
};

Json to_json(const Exclusive& exclusive) {
  Json object = Json::object();
  for (const auto& [name, cpus] : exclusive) object[name] = cpus.to_string();
  return object;
}
Exclusive to_exclusive(const Json& object) {
  Exclusive exclusive;
  for (const auto& [name, cpus] : object.items()) {
    exclusive[name] = CpuSet::parse(cpus.get<std::string>()).value_or(CpuSet());
  }
  return exclusive;
}

Result<std::vector<Mark>> read_marks(const std::string& folder) {
  std::ifstream in(folder + "/" + kMarks);
  std::vector<Mark> marks;
  for (std::string line; std::getline(in, line);) {
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) {
      return fail(ErrorCode::kCorrupt, fmt::format("marks: '{}': expected JSON", line));
    }
    Mark mark;
    mark.name = object.at("name").get<std::string>();
    mark.begin = object.at("begin").get<std::int64_t>();
    mark.end = object.at("end").get<std::int64_t>();
    mark.before = to_exclusive(object.at("before"));
    mark.after = to_exclusive(object.at("after"));
    marks.push_back(std::move(mark));
  }
  if (marks.empty()) return fail(ErrorCode::kIo, fmt::format("'{}' has no marks", folder));
  return marks;
}

/// Returns the runs that a recorder had written when the copy was made.
Result<std::vector<Run>> runs_of(const Runs& runs, const std::string& name) {
  const std::uint64_t count = runs.count.load();
  if (count > kMaxRuns) {
    return fail(ErrorCode::kCorrupt, fmt::format("'{}': more than {} runs", name, kMaxRuns));
  }
  return std::vector<Run>(&runs.runs[0], &runs.runs[count]);
}

Result<Program> read_program(const std::filesystem::path& path) {
  Program program;
  program.name = path.stem().string();
  std::replace(program.name.begin(), program.name.end(), '.', '/');
  const auto recording = std::make_unique<Recording>();
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(recording.get()), sizeof(Recording));
  if (!in || recording->threads < 1 || recording->threads > kMaxThreads) {
    return fail(ErrorCode::kCorrupt, fmt::format("'{}' is no recording", path.string()));
  }
  program.threads = recording->threads;
  PINFOLD_LET(program.memory, runs_of(recording->memory, program.name));
  for (std::size_t i = 0; i < program.threads; ++i) {
    PINFOLD_LET(const auto runs, runs_of(recording->cpus[i], program.name));
    if (runs.empty()) {
      return fail(ErrorCode::kCorrupt, fmt::format("'{}': thread {} never ran", program.name, i));
    }
    const Run* last = nullptr;
    for (const Run& run : runs) {
      if (last != nullptr) program.pauses.emplace_back(last->end, run.begin);
      program.pauses.emplace_back(run.longest_end - run.longest, run.longest_end);
      program.on_cpu[run.place].push_back(run);
      last = &run;
    }
  }
  for (auto& [cpu, runs] : program.on_cpu) {
    std::sort(runs.begin(), runs.end(),
              [](const Run& a, const Run& b) { return a.begin < b.begin; });
  }
  return program;
}

Result<std::vector<Program>> read_programs(const std::string& folder) {
  std::vector<Program> programs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != kSuffix) continue;
    PINFOLD_LET(auto program, read_program(entry.path()));
    programs.push_back(std::move(program));
  }
  if (programs.size() < 2) {
    return fail(ErrorCode::kIo, fmt::format("'{}' has {} recordings", folder, programs.size()));
  }
  std::sort(programs.begin(), programs.end(),
            [](const Program& a, const Program& b) { return a.name < b.name; });
  return programs;
}

struct Checker {
  const std::vector<Mark>& marks;
  const std::vector<Program>& programs;
  std::set<std::string> violations;

  static CpuSet cpus_of(const Exclusive& exclusive, const std::string& name) {
    const auto found = exclusive.find(name);
    return found == exclusive.end() ? CpuSet() : found->second;
  }

  void check() {
    for (std::size_t i = 0; i < marks.size(); ++i) {
      const std::int64_t until = i + 1 < marks.size() ? marks[i + 1].begin : INT64_MAX;
      for (const Program& owner : programs) {
        check_during(owner, marks[i]);
        check_after(owner, marks[i], until);
      }
    }
  }

  template <typename Visit>
  void for_each_other_run(const Program& owner, const CpuSet& cpus, const Visit& visit) const {
    for (const Program& other : programs) {
      if (&other == &owner) continue;
      for (const auto& [cpu, runs] : other.on_cpu) {
        if (!cpus.contains(CpuId{static_cast<std::int32_t>(cpu)})) continue;
        for (const Run& run : runs) visit(other, run);
      }
    }
  }

  void check_after(const Program& owner, const Mark& mark, std::int64_t until) {
    for_each_other_run(
        owner, cpus_of(mark.after, owner.name), [&](const Program& other, const Run& run) {
          if (run.end <= mark.end || run.begin >= until) return;
          violations.insert(fmt::format("{} ran on CPU {} of {} after '{}'", other.name, run.place,
                                        owner.name, mark.name));
        });
  }

  void check_during(const Program& owner, const Mark& mark) {
    const CpuSet before = cpus_of(mark.before, owner.name);
    const CpuSet after = cpus_of(mark.after, owner.name);
    if (before.empty() || after.empty()) return;
    for_each_other_run(owner, before | after, [&](const Program& other, const Run& run) {
      const auto own = owner.on_cpu.find(run.place);
      if (own == owner.on_cpu.end() || run.end < mark.begin || run.begin > mark.end) return;
      for (const Run& mine : own->second) {
        const std::int64_t begin = std::max({mine.begin, run.begin, mark.begin});
        if (begin > std::min({mine.end, run.end, mark.end})) continue;
        violations.insert(fmt::format("{} ran on CPU {} together with {} during '{}'", other.name,
                                      run.place, owner.name, mark.name));
      }
    });
  }
};

CpuSet nodes_in(std::uint64_t place) {
  CpuSet set;
  for (std::int32_t node = 0; node < 64; ++node) {
    if ((place >> static_cast<unsigned>(node) & 1U) != 0) set.insert(CpuId{node});
  }
  return set;
}

std::string describe_memory(const Program& program, std::int64_t from) {
  std::vector<std::string> nodes;
  for (const Run& run : program.memory) {
    if (run.end < from) continue;
    const auto text = nodes_in(run.place).to_string();
    if (nodes.empty() || nodes.back() != text) {
      nodes.push_back(text);
    }
  }
  return fmt::format("{}", fmt::join(nodes, " then "));
}

ProgramReport report_on(const Program& program, const std::vector<Mark>& marks) {
  std::int64_t during = 0;
  std::int64_t otherwise = 0;
  std::string when = "none";
  const std::int64_t from = marks.front().begin;
  for (const auto& [begin, end] : program.pauses) {
    if (begin < from) continue;
    const auto is_during = [begin = begin, end = end](const Mark& mark) {
      return begin < mark.end && end > mark.begin;
    };
    const auto mark = std::find_if(marks.begin(), marks.end(), is_during);
    std::int64_t& longest = mark == marks.end() ? otherwise : during;
    if (end - begin <= longest) continue;
    longest = end - begin;
    if (mark != marks.end()) when = mark->name;
  }
  ProgramReport report{program.name, static_cast<double>(during) / kMillisecond, ""};
  report.text = fmt::format(
      "{}: longest pause {:.1f} ms during a change ({}), {:.1f} ms otherwise; memory on NUMA "
      "nodes {}",
      program.name, report.longest_pause, when, static_cast<double>(otherwise) / kMillisecond,
      describe_memory(program, from));
  return report;
}

}  // namespace

std::int64_t monotonic_now() {
  timespec time{};
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

Result<void> add_mark(const std::string& folder, const Mark& mark) {
  const Json object = {{"name", mark.name},
                       {"begin", mark.begin},
                       {"end", mark.end},
                       {"before", to_json(mark.before)},
                       {"after", to_json(mark.after)}};
  std::ofstream out(folder + "/" + kMarks, std::ios::app);
  out << object.dump() << '\n';
  if (out.flush()) return {};
  return fail(ErrorCode::kIo, fmt::format("write '{}/{}'", folder, kMarks));
}

Result<Mark> last_mark(const std::string& folder) {
  PINFOLD_LET(auto marks, read_marks(folder));
  return std::move(marks.back());
}

Result<CpuSet> nodes_of_memory(const std::string& folder, const std::string& name) {
  std::string file = name;
  std::replace(file.begin(), file.end(), '/', '.');
  const std::string path = fmt::format("{}/{}{}", folder, file, kSuffix);
  const std::int64_t begin = monotonic_now();
  for (;;) {
    PINFOLD_LET(const auto program, read_program(path));
    if (!program.memory.empty() && program.memory.back().end > begin) {
      return nodes_in(program.memory.back().place);
    }
    (void)usleep(kPollInterval);
  }
}

Result<CheckedRecordings> check_recordings(const std::string& folder) {
  PINFOLD_LET(const auto marks, read_marks(folder));
  PINFOLD_LET(const auto programs, read_programs(folder));
  Checker checker{marks, programs, {}};
  checker.check();
  CheckedRecordings checked;
  for (const Program& program : programs) checked.programs.push_back(report_on(program, marks));
  checked.violations.assign(checker.violations.begin(), checker.violations.end());
  return checked;
}

}  // namespace pinfold::test
