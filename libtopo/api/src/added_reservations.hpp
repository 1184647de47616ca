#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pinfold/api/config.hpp"

/// The constants that distributions reserve for the system. Pure.
namespace pinfold {

/// Returns each systemReserved that the node of a distribution's file may have, the most common
/// first. None if the file names it, if it depends on the machine, or if the distribution has no
/// constant.
[[nodiscard]] std::vector<AddedReservation> added_reservations(const nlohmann::json& document);

/// Sets systemReserved to the reservation that agrees with reservedMemory, else to the first, and
/// returns a note for the user. Domain: `possible` is not empty.
[[nodiscard]] std::string add_reservation(const std::vector<AddedReservation>& possible,
                                          nlohmann::json& config);

}  // namespace pinfold
