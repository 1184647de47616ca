#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pinfold::harness {

/// The outcome of a scenario.
enum class Verdict {
  kPassed,
  kFailed,        ///< a value differs from the expected one
  kPanic,         ///< the guest's kernel panicked
  kHang,          ///< a step or the boot did not end within its limit
  kSoftLockup,    ///< like kHang, and the kernel reports a stuck CPU
  kGarbage,       ///< data on the results port was not a result
  kLostResults,   ///< the machine ended before all results arrived
  kOutOfMemory,   ///< the guest ran out of memory
  kWrongMachine,  ///< the guest's hardware differs from the description
  kHarnessError,  ///< the machine could not be started
  kInterrupted,
  kSkipped,  ///< it needs something that the user has not given
};
/// "passed", "soft-lockup", ...
[[nodiscard]] std::string_view to_string(Verdict verdict);
/// Parses the output of to_string, except "skipped", which no scenario can expect.
[[nodiscard]] std::optional<Verdict> parse_verdict(std::string_view text);

/// Returns the names that parse_verdict accepts.
[[nodiscard]] std::vector<std::string_view> verdict_names();

/// What went wrong between host and guest.
enum class Trouble { kTimeout, kEnded, kGarbage, kInterrupted, kHost };

struct VmFailure {
  Trouble trouble = Trouble::kHost;
  std::string message;  ///< "step 3 took longer than 30 s"
};

/// Derives the verdict from the guest's console output.
[[nodiscard]] Verdict classify(Trouble trouble, std::string_view console);

/// Returns true once the console shows a kernel panic: there will be no more output.
[[nodiscard]] bool shows_panic(std::string_view console);

/// Returns the last `lines` lines, without control characters other than tabs and line ends.
[[nodiscard]] std::string end_of_console(std::string_view console, std::size_t lines = 25);

}  // namespace pinfold::harness
