// world: runs histories of a simulated node, and shrinks those that break a promise.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "picture.hpp"
#include "world.hpp"

namespace pinfold::world {
namespace {

constexpr const char* kUsage =
    "Usage: world run --seeds A..B [--actions N] [--jobs N] [--days N] [--picture FILE]\n"
    "                 [--only all|barrier]\n"
    "       world run --seeds A..B --busy 1|2 [--jobs N]\n"
    "       world replay FILE\n"
    "       world show SEED [--actions N]\n"
    "       world shrink SEED [--actions N]\n"
    "       world picture FILE > history.svg\n"
    "Each with --bug NAME: with that known mistake. --picture: the smallest seed that breaks a\n"
    "promise, shrunk, as an image. --busy: an hour of a busy node with other agents, with cgroup "
    "v1\n"
    "or v2, in place of the histories of the seeds. --only barrier: containers that start at a\n"
    "barrier, most of them with a fault, in place of them.\n";
constexpr int kActions = 300;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = 100;
  int actions = kActions;
  int jobs = 1;
  int days = 0;  ///< no seed begins after this many days; 0: no limit
  int busy = 0;  ///< the cgroup version of a busy node; 0: not a busy node
  bool only_barrier = false;
  Bug bug = Bug::kNone;
  std::string picture;  ///< output file; "": none
  std::vector<std::string> words;
};

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_seeds(std::string_view text, Options& options) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  return read_number(text.substr(0, dots), options.first) &&
         read_number(text.substr(dots + 2), options.last) && options.first <= options.last;
}

bool read_bug(std::string_view text, Options& options) {
  const auto bug = parse_bug(text);
  if (bug) options.bug = *bug;
  return bug.has_value();
}

bool read_only(std::string_view text, Options& options) {
  options.only_barrier = text == "barrier";
  return options.only_barrier || text == "all";
}

bool read_options(const std::vector<std::string>& arguments, Options& options) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (!name.starts_with("--")) {
      options.words.push_back(name);
      continue;
    }
    if (++i == arguments.size()) return false;
    const std::string& value = arguments[i];
    const bool is_read = name == "--seeds"     ? read_seeds(value, options)
                         : name == "--actions" ? read_number(value, options.actions)
                         : name == "--jobs"    ? read_number(value, options.jobs)
                         : name == "--days"    ? read_number(value, options.days)
                         : name == "--busy"    ? read_number(value, options.busy)
                         : name == "--bug"     ? read_bug(value, options)
                         : name == "--only"    ? read_only(value, options)
                         : name == "--picture" ? !(options.picture = value).empty()
                                               : false;
    if (!is_read) return false;
  }
  return !options.words.empty() && options.actions > 0 && options.jobs > 0 && options.days >= 0 &&
         options.busy >= 0 && options.busy <= 2;
}

History history_of(std::uint64_t seed, const Options& options) {
  if (options.only_barrier) return barrier_starts(seed, options.actions);
  if (options.busy == 0) return generate(seed, options.actions);
  return busy_node(seed, static_cast<enforce::CgroupVersion>(options.busy));
}

void print(const Failure& failure) {
  fmt::print("broken after action {}: {}: {}\n", failure.action, failure.promise, failure.what);
}

void print(const Tally& tally, std::chrono::duration<double> took) {
  constexpr double kDay = 86'400;
  const std::uint64_t due = tally.reconciliations + tally.idle;
  fmt::print(
      "{} actions, {} operations, {} checks for overlap, {} starts, {:.0f} node-days in {:.1f} s;\n"
      "{} reconciliations, and {} ({:.1f} % of those due) left out like the one before them;\n",
      tally.actions, tally.operations, tally.checks, tally.starts,
      static_cast<double>(tally.time.count()) / kDay, took.count(), tally.reconciliations,
      tally.idle,
      due == 0 ? 0.0 : 100.0 * static_cast<double>(tally.idle) / static_cast<double>(due));
  if (tally.passed + tally.refused > 0) {
    fmt::print("{} containers at the barrier, {} of them refused;\n", tally.passed + tally.refused,
               tally.refused);
  }
  std::uint64_t faults = 0;
  for (const auto& [name, count] : tally.faults) faults += count;
  fmt::print("{} faults:\n", faults);
  for (const auto& [name, count] : tally.faults) fmt::print("  {} {}\n", name, count);
}

/// Prints the shortest history, and draws it on request.
int report_broken(std::uint64_t seed, std::size_t count, const Options& options) {
  const History small = shrink(history_of(seed, options), options.bug);
  fmt::print("{} seeds break a promise; seed {} shrinks to:\n{}", count, seed, to_string(small));
  if (options.picture.empty()) return 1;
  std::ofstream out(options.picture, std::ios::binary);
  out << picture_of(small, run(small, Log::kOn, options.bug)) << std::flush;
  if (out) return 1;
  fmt::print(stderr, "{}: cannot be written\n", options.picture);
  return 2;
}

int run_seeds(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> next = options.first;
  std::mutex mutex;
  Tally tally;
  std::vector<std::uint64_t> broken;
  const auto work = [&] {
    while (true) {
      const std::uint64_t seed = next++;
      if (seed > options.last) return;
      const History history = history_of(seed, options);
      const Outcome outcome = run(history, Log::kOff, options.bug);
      const std::lock_guard lock(mutex);
      tally += outcome.tally;
      if (options.days > 0 && tally.time >= std::chrono::days(options.days))
        next = options.last + 1;
      if (!outcome.failure) continue;
      fmt::print("seed {}: ", seed);
      print(*outcome.failure);
      std::fflush(stdout);
      broken.push_back(seed);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < options.jobs; ++i) threads.emplace_back(work);
  }
  print(tally, std::chrono::steady_clock::now() - begin);
  if (broken.empty()) return 0;
  return report_broken(*std::min_element(broken.begin(), broken.end()), broken.size(), options);
}

int replay(const History& history, bool is_shrunk, Bug bug) {
  const Outcome outcome = run(history, Log::kOn, bug);
  if (!is_shrunk) {
    for (const std::string& line : outcome.log) fmt::print("{}\n", line);
  }
  if (!outcome.failure) return 0;
  print(*outcome.failure);
  if (is_shrunk) {
    const History small = shrink(history, bug);
    fmt::print("{}", to_string(small));
    (void)replay(small, false, bug);
  }
  return 1;
}

Result<History> read_history(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return parse_history(text);
}

/// Replays or draws a history from a file. `command`: replay or picture.
int show_file(const std::string& command, const std::string& path, Bug bug) {
  const auto history = read_history(path);
  if (!history) {
    fmt::print(stderr, "{}: {}\n", path, history.error().message);
    return 2;
  }
  if (command == "replay") return replay(*history, false, bug);
  fmt::print("{}", picture_of(*history, run(*history, Log::kOn, bug)));
  return 0;
}

int main(const std::vector<std::string>& arguments) {
  Options options;
  if (!read_options(arguments, options)) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  const std::string& command = options.words.front();
  if (command == "run" && options.words.size() == 1) return run_seeds(options);
  std::uint64_t seed = 0;
  if (options.words.size() == 2) {
    const std::string& what = options.words[1];
    if (command == "replay" || command == "picture") {
      return show_file(command, what, options.bug);
    }
    if (command == "show" && read_number(what, seed)) {
      fmt::print("{}", to_string(history_of(seed, options)));
      return 0;
    }
    if (command == "shrink" && read_number(what, seed)) {
      return replay(history_of(seed, options), true, options.bug);
    }
  }
  fmt::print(stderr, "{}", kUsage);
  return 2;
}

}  // namespace
}  // namespace pinfold::world

int main(int count, char** arguments) {
  return pinfold::world::main({arguments + 1, arguments + count});
}
