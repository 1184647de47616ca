// The gate reads what runtimes, the service, the kernel and the writer of the snapshot give it. The
// first byte of the input chooses the reader.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "pinfold/gate/container.hpp"
#include "pinfold/gate/decision.hpp"
#include "pinfold/gate/kernel_text.hpp"
#include "pinfold/gate/options.hpp"

namespace {

using namespace pinfold::gate;  // NOLINT(google-build-using-namespace): a program

void fuzz_state(std::string_view text) {
  const auto container = parse_state(text);
  if (!container) return;
  if (container->pid <= 0) std::abort();
  (void)concerns_gate({}, *container);
  (void)unplaced_of({}, *container);
  (void)owner_of(*container).is_pod(container->uid);
}

void fuzz_list(std::string_view text) {
  const auto cpus = CpuBits::parse(text);
  if (!cpus) return;
  std::vector<char> buffer(65536);
  if (CpuBits::parse(cpus->print(buffer)) != cpus) std::abort();
}

void fuzz_cpu_state(std::string_view text) {
  std::string copy(text);
  const auto decision = parse_cpu_state(copy, {"", "p", "a"});
  if (!decision || decision->own.empty()) return;
  if (!is_placed(decision, {decision->own, true})) std::abort();
}

void fuzz_snapshot(std::string_view text) {
  std::vector<std::uint64_t> memory(text.size() / 8 + 1);
  std::memcpy(memory.data(), text.data(), text.size());
  std::array<char, 512> buffer{};
  (void)read_decision(std::as_bytes(std::span(memory)).first(text.size() / 8 * 8), "boot",
                      {"", "p", "a"}, buffer);
}

void fuzz_kernel(std::string_view text) {
  const auto groups = parse_process_groups(text);
  if (groups && !groups->cpuset.path.starts_with('/')) std::abort();
  const TwoWords words = split_words(text);
  (void)is_whole_cpus(words.first, words.second);
  (void)is_error_answer(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::array kReaders = {fuzz_state, fuzz_list, fuzz_cpu_state, fuzz_snapshot,
                                   fuzz_kernel};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  kReaders[data[0] % kReaders.size()](text);
  return 0;
}
