#include "irqbalance.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "local_socket.hpp"
#include "pinfold/quiet/knob.hpp"

// The commands are those of irqbalance-ui, from 1.4 (2018) on: "setup", "settings cpus LIST" and
// "settings cpus NULL". irqbalance looks at a new list when it balances the next time.

namespace pinfold::quiet {

std::string irqbalance_socket(const std::string& root) {
  std::error_code failed;
  std::filesystem::directory_iterator entry(root + "/run/irqbalance", failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename();
    if (name.starts_with("irqbalance") && name.ends_with(".sock")) return entry->path();
  }
  return "";
}

Result<CpuSet> parse_irqbalance_setup(std::string_view answer) {
  constexpr std::string_view kBanned = "BANNED ";
  const std::size_t at = answer.rfind(kBanned);
  if (at == std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, "irqbalance's answer has no list of banned CPUs");
  }
  std::string_view mask = answer.substr(at + kBanned.size());
  mask = mask.substr(0, mask.find_first_of(" \n"));
  return cpus_of(Knob{KnobKind::kNewInterrupts, ""}, mask, {});  // a mask, too
}

Result<CpuSet> read_banned(const std::string& socket) {
  constexpr std::size_t kMost = 65536;
  PINFOLD_LET(const auto connection, connect_to(socket));
  PINFOLD_TRY_WRAP(send_all(connection.get(), "setup"), "irqbalance");
  std::string answer;
  while (answer.size() < kMost) {
    PINFOLD_LET_WRAP(const auto part, receive(connection.get(), kMost), "irqbalance");
    if (part.empty()) break;
    answer += part;
  }
  return parse_irqbalance_setup(answer);
}

Result<void> write_banned(const std::string& socket, const CpuSet& cpus) {
  PINFOLD_LET(const auto connection, connect_to(socket));
  const std::string list = cpus.empty() ? "NULL" : cpus.to_string();
  PINFOLD_TRY_WRAP(send_all(connection.get(), "settings cpus " + list), "irqbalance");
  return {};
}

}  // namespace pinfold::quiet
