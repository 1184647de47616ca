#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/types/cpuset.hpp"

/// The messages of D-Bus that are needed to set properties of one unit. Pure.
/// Source: the D-Bus specification, and org.freedesktop.systemd1(5).
namespace pinfold::quiet {

/// Returns the first message on a connection with the bus.
[[nodiscard]] std::string hello_message(std::uint32_t serial);

/// Returns the call of SetUnitProperties that sets AllowedCPUs of a unit until the next boot. An
/// empty set means any CPU.
[[nodiscard]] std::string allowed_cpus_message(std::uint32_t serial, std::string_view unit,
                                               const CpuSet& cpus);

/// Does the same for CPUSetPartition, which systemd 261 added and accepts for a unit with
/// AllowedCPUs.
[[nodiscard]] std::string partition_message(std::uint32_t serial, std::string_view unit,
                                            const CpuSet& cpus, std::string_view partition);

/// The beginning of a message: how long it is as a whole.
inline constexpr std::size_t kDbusHead = 16;
/// Returns the number of bytes of a message from its first kDbusHead; nullopt unless they begin a
/// little-endian message of at most 64 KiB.
[[nodiscard]] std::optional<std::size_t> dbus_size(std::string_view head);

/// An answer.
struct DbusReply {
  std::uint32_t serial = 0;  ///< of the call; 0: not an answer
  std::string error = {};    ///< "org.freedesktop.DBus.Error.AccessDenied"; "": none

  friend bool operator==(const DbusReply&, const DbusReply&) = default;
};
/// Parses a whole message; nullopt if its fields are malformed.
[[nodiscard]] std::optional<DbusReply> parse_reply(std::string_view message);

}  // namespace pinfold::quiet
