#include "systemd_units.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "dbus_message.hpp"
#include "knob_file.hpp"
#include "local_socket.hpp"

namespace pinfold::quiet {
namespace {

constexpr const char* kCgroups = "/sys/fs/cgroup";
constexpr const char* kBus = "/run/dbus/system_bus_socket";
constexpr std::array kSystemUnits = {"init.scope", "system.slice", "user.slice"};
constexpr std::uint32_t kHello = 1;
constexpr std::uint32_t kSet = 2;

std::string cpus_file(const std::string& root, const std::string& unit) {
  return fmt::format("{}{}/{}/cpuset.cpus", root, kCgroups, unit);
}

/// Returns every CPU that this machine can ever have; none if the kernel does not say.
CpuSet possible_cpus(const std::string& root) {
  const auto list = read_value(root + "/sys/devices/system/cpu/possible");
  return list ? CpuSet::parse(*list).value_or(CpuSet()) : CpuSet();
}

/// Lets a unit use any CPU. Linux (seen with 6.1 and 6.12, not with 7.2) refuses to clear the set
/// of a group with processes in or below it, so such a group gets every CPU.
Result<void> clear_cpus(const std::string& root, const std::string& file) {
  auto cleared = write_value(file, "");
  if (cleared || cleared.error().code == ErrorCode::kNotFound) return {};
  if (cleared.error().sys_errno != ENOSPC) return cleared;
  const CpuSet all = possible_cpus(root);
  return all.empty() ? cleared : write_value(file, all.to_string());
}

/// Authenticates as this user, whose id the kernel has passed along with the connection.
Result<void> authenticate(int bus) {
  constexpr std::size_t kMost = 256;
  std::string hex;
  for (const char digit : std::to_string(::geteuid())) hex += fmt::format("{:02x}", digit);
  PINFOLD_TRY(send_all(bus, std::string(1, '\0') + "AUTH EXTERNAL " + hex + "\r\n"));
  PINFOLD_LET(const auto answer, receive(bus, kMost));
  if (!answer.starts_with("OK ")) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("'{}' refuses user {}: run as root", kBus, ::geteuid()));
  }
  return send_all(bus, "BEGIN\r\n");
}

/// Receives until `bytes` has `size` of them.
Result<void> fill(int bus, std::size_t size, std::string& bytes) {
  while (bytes.size() < size) {
    PINFOLD_LET(const auto part, receive(bus, size - bytes.size()));
    if (part.empty()) return fail(ErrorCode::kUnsupported, "the bus closed the connection");
    bytes += part;
  }
  return {};
}

/// Waits for the answer to a call. Skips signals, which everyone gets.
Result<DbusReply> receive_reply(int bus, std::uint32_t serial) {
  constexpr int kMostMessages = 64;
  for (int i = 0; i < kMostMessages; ++i) {
    std::string message;
    PINFOLD_TRY(fill(bus, kDbusHead, message));
    const auto size = dbus_size(message);
    if (!size)
      return fail(ErrorCode::kUnsupported, "the bus sent something other than a D-Bus message");
    PINFOLD_TRY(fill(bus, *size, message));
    auto reply = parse_reply(message);
    if (reply && reply->serial == serial) return *std::move(reply);
  }
  return fail(ErrorCode::kUnsupported, "no reply within 64 messages");
}

Result<void> call(int bus, std::uint32_t serial, const std::string& message) {
  PINFOLD_TRY(send_all(bus, message));
  PINFOLD_LET(const auto reply, receive_reply(bus, serial));
  if (reply.error.empty()) return {};
  return fail(ErrorCode::kUnsupported, "refused: " + reply.error);
}

/// Sends a call of SetUnitProperties with the serial kSet.
Result<void> set_properties(const std::string& root, const std::string& message) {
  PINFOLD_LET(const auto bus, connect_to(root + kBus));
  PINFOLD_TRY(authenticate(bus.get()));
  PINFOLD_TRY(call(bus.get(), kHello, hello_message(kHello)));
  return call(bus.get(), kSet, message);
}

}  // namespace

std::vector<std::string> system_units(const std::string& root) {
  auto names = names_in(root + kCgroups);
  const bool is_v2 = std::binary_search(names.begin(), names.end(), "cgroup.controllers");
  std::erase_if(names, [&](const std::string& name) {
    return !is_v2 ||
           std::find(kSystemUnits.begin(), kSystemUnits.end(), name) == kSystemUnits.end();
  });
  return names;
}

std::string read_unit_cpus(const std::string& root, const std::string& unit) {
  auto value = read_value(cpus_file(root, unit)).value_or("");
  const auto cpus = CpuSet::parse(value);
  const CpuSet all = possible_cpus(root);
  return cpus && !all.empty() && cpus->contains_all(all) ? "" : value;
}

Result<void> write_unit_cpus(const std::string& root, const std::string& unit, const CpuSet& cpus) {
  PINFOLD_TRY_WRAP(set_properties(root, allowed_cpus_message(kSet, unit, cpus)),
                   fmt::format("systemd: set AllowedCPUs={} of '{}'", cpus.to_string(), unit));
  if (!cpus.empty()) return {};
  // systemd (seen with 252 to 261) forgets the setting, but leaves cpuset.cpus as it was.
  return clear_cpus(root, cpus_file(root, unit));
}

Result<void> write_unit_partition(const std::string& root, const std::string& unit,
                                  const CpuSet& cpus, const std::string& partition) {
  PINFOLD_TRY_WRAP(set_properties(root, partition_message(kSet, unit, cpus, partition)),
                   fmt::format("systemd: set CPUSetPartition={} of '{}'", partition, unit));
  return {};
}

}  // namespace pinfold::quiet
