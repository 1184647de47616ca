#include "guest/guest_coverage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::harness {
namespace {

constexpr Milliseconds kLimit(120000);
/// A multiple of 3, so that encoded parts can be concatenated. One encoded part fits into a reply
/// of the agent.
constexpr std::size_t kPart = 73728;

constexpr const char* kPack =
    "cd / && tar czf /tmp/coverage.tgz $(find . -xdev -name '*.gcda') && wc -c < /tmp/coverage.tgz";

tl::unexpected<VmFailure> failed(std::string message) {
  return tl::unexpected(VmFailure{Trouble::kHost, std::move(message)});
}

VmResult<std::string> output_of(Vm& vm, const std::string& script) {
  PINFOLD_LET(
      auto reply,
      vm.request({{"op", "exec"}, {"argv", {"sh", "-c", script}}, {"timeLimitMs", kLimit.count()}},
                 kLimit));
  if (reply.value("status", -1) != 0) return failed(reply.value("stderr", "no status"));
  return reply.value("stdout", "");
}

}  // namespace

VmResult<void> collect_coverage(Vm& vm, const std::filesystem::path& folder) {
  // Programs write gcov data when they exit, and the agent never exits.
  PINFOLD_TRY(vm.request({{"op", "dump-coverage"}}, kLimit));
  PINFOLD_LET(const auto size, output_of(vm, kPack));
  std::string encoded;
  const std::size_t bytes = std::strtoull(size.c_str(), nullptr, 10);
  for (std::size_t at = 0; at * kPart < bytes; ++at) {
    PINFOLD_LET(
        const auto part,
        output_of(vm, fmt::format(
                          "dd if=/tmp/coverage.tgz bs={} skip={} count=1 2>/dev/null | base64 -w 0",
                          kPart, at)));
    const std::size_t expected = (std::min(kPart, bytes - at * kPart) + 2) / 3 * 4;
    if (part.size() != expected) {
      return failed(
          fmt::format("part {} came with {} characters, expected {}", at, part.size(), expected));
    }
    encoded += part;
  }
  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  const std::filesystem::path file = folder / "coverage.base64";
  if (auto written = write_file(file, encoded); !written) return failed(written.error().message);
  const auto unpacked =
      run_program({"sh", "-c", "base64 -d \"$1\" | tar xz -C \"$2\"", "sh", file, folder}, kLimit);
  std::filesystem::remove(file, trouble);
  if (!unpacked) return failed(unpacked.error().message);
  if (unpacked->exit_status != 0) return failed(unpacked->output);
  return {};
}

}  // namespace pinfold::harness
