// Plays the kernel's table of cpusets, and random rows of its kind, on the kernel that runs this
// program and on the model of it; prints TAP. For a machine that nobody needs: it takes CPUs
// offline.
//   kernel-table SCRIPT FIRST_SEED ROWS

#include <fmt/format.h>

#include <fstream>
#include <iterator>

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

/// "": kernel, model and row agree.
std::string compare(Player& kernel, const TableRow& row) {
  const auto real = kernel.play(row);
  const auto model = play_on_model(row);
  const bool is_same = real && model && *real == *model;
  const std::string expected = real ? difference(row, *real) : "";
  if (is_same && expected.empty()) return "";
  return fmt::format("{} kernel: {} model: {} {}", row.text, shown(real), shown(model), expected);
}

int run(const std::string& script, std::uint64_t first_seed, std::uint64_t count) {
  std::ifstream in(script);
  const auto rows = parse_table(std::string{std::istreambuf_iterator<char>(in), {}});
  const auto fs = enforce::open_cgroup_fs(kMount);
  if (!rows || !fs) {
    fmt::print("Bail out! {}\n", !rows ? rows.error().message : fs.error().message);
    return 1;
  }
  Player kernel(**fs, set_online);
  fmt::print("1..{}\n", rows->size() + 1);
  std::size_t number = 0;
  for (const TableRow& row : *rows) {
    const std::string problem = compare(kernel, row);
    fmt::print("{} {} - {}\n", problem.empty() ? "ok" : "not ok", ++number, row.text);
    if (!problem.empty()) fmt::print("# {}\n", problem);
  }
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    TableRow row = random_row(seed);
    const auto model = play_on_model(row);
    if (model) row.failures = model->failures;  // the kernel is compared with the model
    const std::string problem = compare(kernel, row);
    if (problem.empty()) continue;
    ++failed;
    fmt::print("# seed {}: {}\n", seed, problem);
  }
  fmt::print("{} {} - {} random rows from seed {}\n", failed == 0 ? "ok" : "not ok", ++number,
             count, first_seed);
  return 0;
}

}  // namespace
}  // namespace pinfold::test

// NOLINTNEXTLINE(bugprone-exception-escape): what fails here fails the step
int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print("Bail out! usage: kernel-table SCRIPT FIRST_SEED ROWS\n");
    return 2;
  }
  return pinfold::test::run(argv[1], std::stoull(argv[2]), std::stoull(argv[3]));
}
