#pragma once

#include <cstdint>

#include "pinfold/api/config.hpp"
#include "pinfold/api/reservation.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold {

/// The result of stage `configuration` of the kubelet's start.
struct CheckedConfig {
  NodeReservation reservation;
  std::uint64_t cfs_period_us = 0;
};

/// Checks a configuration. Errors: kInvalidArgument with the kubelet's text for stage
/// `configuration`.
[[nodiscard]] Result<CheckedConfig> check_config(const Machine& machine, const Config& config);

}  // namespace pinfold
