// Plays the kernel's table of cpusets, and random rows of its kind, on the kernel that runs this
// program and on the model of it; prints TAP. Only for a machine without other use: it takes CPUs
// offline.
//   kernel-table SCRIPT FIRST_SEED ROWS

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "on_model.hpp"
#include "random_rows.hpp"

namespace pinfold::test {
namespace {

constexpr const char* kMount = "/sys/fs/cgroup";

Result<void> set_online(CpuId cpu, bool online) {
  const std::string path = fmt::format("/sys/devices/system/cpu/cpu{}/online", cpu.value);
  std::ofstream out(path);
  out << (online ? "1" : "0") << std::flush;
  if (!out) return fail(ErrorCode::kIo, "write " + path);
  return {};
}

std::string shown(const Result<Played>& played) {
  return played ? to_string(*played) : played.error().message;
}

/// Returns the difference between the kernel and the row or, if the row is within the model,
/// between the kernel and the model. Empty if there is none.
std::string compare(Player& kernel, const TableRow& row, bool is_expected) {
  std::string beyond;
  const auto model = play_on_model(row, &beyond);
  const auto real = kernel.play(row);
  const std::string problem = real && is_expected ? difference(row, *real) : "";
  const bool is_same = real && (!beyond.empty() || (model && same_groups(*real, *model)));
  if (is_same && problem.empty()) return "";
  return fmt::format("{}: kernel {}; model {}; {}", row.text, shown(real), shown(model), problem);
}

void report(std::size_t number, const std::string& problem, const std::string& name) {
  fmt::print("{} {} - {}\n", problem.empty() ? "ok" : "not ok", number,
             problem.empty() ? name : problem);
}

/// Returns the first difference of random rows, and how many of them are within the model.
/// `kinds`: those of the rows, in turn.
std::pair<std::string, int> compare_random(Player& kernel, const std::vector<TableKind>& kinds,
                                           std::uint64_t first_seed, std::uint64_t count) {
  std::pair<std::string, int> found = {"", 0};
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    const TableRow row = random_row(seed, kinds[seed % kinds.size()]);
    std::string beyond;
    if (!play_on_model(row, &beyond) || !beyond.empty()) continue;
    ++found.second;
    const std::string problem = compare(kernel, row, false);
    if (problem.empty()) continue;
    fmt::print("# seed {}: {}\n", seed, problem);
    if (found.first.empty()) found.first = problem;
  }
  return found;
}

int run(const std::string& script, std::uint64_t first_seed, std::uint64_t count) {
  std::ifstream in(script);
  const auto rows = parse_table(std::string{std::istreambuf_iterator<char>(in), {}});
  const auto fs = enforce::open_cgroup_fs(kMount);
  if (!rows || !fs) {
    fmt::print("Bail out! {}\n", !rows ? rows.error().message : fs.error().message);
    return 1;
  }
  if (rows->empty()) {
    fmt::print("Bail out! the table has no rows\n");
    return 1;
  }
  Player kernel(**fs, set_online);
  fmt::print("1..{}\n", rows->size() + 1);
  std::size_t number = 0;
  for (const TableRow& row : *rows) report(++number, compare(kernel, row, true), row.text);
  const bool is_linux7 = rows->front().kind != TableKind::kInPartition;
  const std::vector<TableKind> kinds = is_linux7
                                           ? std::vector{TableKind::kAtRoot, TableKind::kRemote}
                                           : std::vector{TableKind::kInPartition};
  const auto [problem, played] = compare_random(kernel, kinds, first_seed, count);
  report(++number, problem, fmt::format("{} random rows", played));
  return 0;
}

}  // namespace
}  // namespace pinfold::test

// NOLINTNEXTLINE(bugprone-exception-escape): a failure here fails the step
int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print("Bail out! usage: kernel-table SCRIPT FIRST_SEED ROWS\n");
    return 2;
  }
  return pinfold::test::run(argv[1], std::stoull(argv[2]), std::stoull(argv[3]));
}
