#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/harness/test_output.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::harness;
  constexpr std::size_t kMaxName = std::size_t{9} * (200 * 8 + 3);  // at most nine names, escaped
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const TestFormat format : {TestFormat::kTap, TestFormat::kKselftest}) {
    const TestOutput output = parse_test_output(text, format);
    for (const TestOutcome& outcome : output.outcomes) {
      if (outcome.name.empty() || outcome.name.size() > kMaxName) std::abort();
      if (outcome.name.find('\n') != std::string::npos) std::abort();
    }
  }
  return 0;
}
