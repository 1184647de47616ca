#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/harness/test_output.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::harness;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const TestFormat format : {TestFormat::kTap, TestFormat::kKselftest}) {
    const TestOutput output = parse_test_output(text, format);
    for (const TestOutcome& outcome : output.outcomes) {
      // Each of at most nine names, escaped: four characters for a byte.
      if (outcome.name.empty() || outcome.name.size() > 9 * (200 * 8 + 3)) std::abort();
      if (outcome.name.find('\n') != std::string::npos) std::abort();
    }
  }
  return 0;
}
