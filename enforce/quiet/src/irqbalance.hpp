#pragma once

#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

/// irqbalance's own list of banned CPUs, through its socket. It is lost when irqbalance ends.
namespace pinfold::quiet {

/// Returns the socket of a running irqbalance below `root`; "" if there is none.
[[nodiscard]] std::string irqbalance_socket(const std::string& root);

/// Parses its answer to "setup": "SLEEP 10 IRQ 24 ... BANNED 00000000,0000000c".
/// Errors: kInvalidArgument.
[[nodiscard]] Result<CpuSet> parse_irqbalance_setup(std::string_view answer);

/// Returns the banned CPUs. Errors: kUnsupported if it does not answer; kIo.
[[nodiscard]] Result<CpuSet> read_banned(const std::string& socket);

/// Replaces the banned CPUs; with none it bans again what it was started with.
/// Errors: kIo.
[[nodiscard]] Result<void> write_banned(const std::string& socket, const CpuSet& cpus);

}  // namespace pinfold::quiet
