#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pinfold::harness {

/// How a program reports its tests.
enum class TestFormat {
  kTap,        ///< the Test Anything Protocol; subtests are indented
  kKselftest,  ///< the kernel's selftests and their runner: "# " before subtests
  kExit,       ///< by its exit status alone
};

/// One test of a program.
struct TestOutcome {
  enum class Kind { kOk, kFailed, kSkipped };
  std::string name;  ///< "PARENT / NAME" for a subtest
  Kind kind = Kind::kOk;
  std::string note;  ///< "exit=1", the reason for skipping; ""

  friend bool operator==(const TestOutcome&, const TestOutcome&) = default;
};

struct TestOutput {
  std::vector<TestOutcome> outcomes;
  std::string problem;  ///< "expected 3 tests, got 2", "bailed out: no cpuset"; "" if complete
};

/// Parses a program's output. Accepts any text: lines without a result are skipped.
/// Domain: kTap or kKselftest.
/// Source: testanything.org, version 14; Documentation/dev-tools/ktap.rst and
///   tools/testing/selftests/kselftest.h of Linux 6.12.
[[nodiscard]] TestOutput parse_test_output(std::string_view text, TestFormat format);

/// Returns the outcome for an exit status: 0 is ok; 4 (kselftest) and 77 (Automake) mean skipped.
[[nodiscard]] TestOutcome::Kind outcome_of_status(int status);

}  // namespace pinfold::harness
