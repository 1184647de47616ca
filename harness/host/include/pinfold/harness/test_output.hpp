#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pinfold::harness {

/// How a program reports its tests.
enum class TestFormat {
  kTap,        ///< the Test Anything Protocol; tests of a test are indented
  kKselftest,  ///< as the kernel's selftests and their runner print it: "# " before tests of a test
  kExit,       ///< by its exit status alone
};

/// One test of a program.
struct TestOutcome {
  enum class Kind { kOk, kFailed, kSkipped };
  std::string name;  ///< "PARENT / NAME" for a test of a test
  Kind kind = Kind::kOk;
  std::string note;  ///< "exit=1", the reason of a skip; ""

  friend bool operator==(const TestOutcome&, const TestOutcome&) = default;
};

struct TestOutput {
  std::vector<TestOutcome> outcomes;
  std::string problem;  ///< "expected 3 tests, got 2", "bailed out: no cpuset"; "" if complete
};

/// Reads what a program printed. Accepts any text: lines that are no results are left out.
/// Domain: kTap or kKselftest.
/// Source: testanything.org, version 14; Documentation/dev-tools/ktap.rst and
///   tools/testing/selftests/kselftest.h of Linux 6.12.
[[nodiscard]] TestOutput parse_test_output(std::string_view text, TestFormat format);

/// Exit status 0 is ok; 4 (kselftest) and 77 (Automake) mean that the test was skipped.
[[nodiscard]] TestOutcome::Kind outcome_of_status(int status);

}  // namespace pinfold::harness
