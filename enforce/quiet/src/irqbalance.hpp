#pragma once

#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

/// irqbalance's own list of banned CPUs, through its socket. It is lost when irqbalance ends.
namespace pinfold::quiet {

/// Parses its answer to "setup": "SLEEP 10 IRQ 24 ... BANNED 00000000,0000000c".
/// Errors: kInvalidArgument.
[[nodiscard]] Result<CpuSet> parse_irqbalance_setup(std::string_view answer);

/// Returns the banned CPUs of the irqbalance that listens below `root`/run/irqbalance. A list that
/// was written appears only after the next balancing, by default within 10 s.
/// Errors: kNotFound if none listens; kUnsupported if it does not answer; kIo.
[[nodiscard]] Result<CpuSet> read_banned(const std::string& root);

/// Replaces the banned CPUs; if `cpus` is empty, irqbalance bans those that it was started with.
/// Errors: kNotFound if none listens; kIo.
[[nodiscard]] Result<void> write_banned(const std::string& root, const CpuSet& cpus);

}  // namespace pinfold::quiet
