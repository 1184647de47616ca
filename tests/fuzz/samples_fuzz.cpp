#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "pinfold/harness/judge.hpp"

/// The exclusive CPUs of the program under test, a line "-", then the guest sampler's changes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::harness;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find("-\n");
  const std::string changes = end == std::string::npos ? "" : text.substr(end + 2);
  const auto exclusive = parse_exclusive(text.substr(0, end));
  if (!exclusive) {
    if (exclusive.error().message.empty()) std::abort();
    return 0;
  }
  const auto overlaps = overlaps_seen(changes, *exclusive);
  if (exclusive->empty() && !overlaps.empty()) std::abort();
  return 0;
}
