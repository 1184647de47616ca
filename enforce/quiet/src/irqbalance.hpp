#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/types/cpuset.hpp"

/// irqbalance's own list of banned CPUs, through its socket. It is lost when irqbalance ends.
namespace pinfold::quiet {

/// Parses its answer to "setup": "SLEEP 10 IRQ 24 ... BANNED 00000000,0000000c".
/// Errors: kInvalidArgument.
[[nodiscard]] Result<CpuSet> parse_irqbalance_setup(std::string_view answer);

/// The irqbalance that listens below `root`/run/irqbalance.
///
/// One whose answer finds a closed connection ends (seen with 1.9.2: SIGPIPE). So a connection that
/// it has not answered stays open until it does, and nothing else is asked meanwhile.
class Irqbalance {
 public:
  explicit Irqbalance(std::string root) : root_(std::move(root)) {}
  Irqbalance(const Irqbalance&) = delete;
  Irqbalance& operator=(const Irqbalance&) = delete;
  /// Waits for a late answer, at most 2 s.
  ~Irqbalance();

  /// Returns the banned CPUs. A list that was written appears only after the next balancing, by
  /// default within 10 s.
  /// Errors: kNotFound if none listens; kUnsupported if it does not answer; kIo.
  [[nodiscard]] Result<CpuSet> read_banned();
  /// Replaces the banned CPUs; if `cpus` is empty, irqbalance bans those that it was started with.
  /// Errors: kNotFound if none listens; kIo.
  [[nodiscard]] Result<void> write_banned(const CpuSet& cpus) const;

 private:
  [[nodiscard]] bool wait_for_late_answer(int milliseconds);

  std::string root_;
  UniqueFd unanswered_;
};

}  // namespace pinfold::quiet
