#include "irqbalance.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <cstddef>

#include "knob_file.hpp"
#include "local_socket.hpp"
#include "pinfold/quiet/knob.hpp"

// The commands are those of irqbalance-ui, from 1.4 (2018) on: "setup", "settings cpus LIST" and
// "settings cpus NULL". irqbalance looks at a new list when it next balances.

namespace pinfold::quiet {
namespace {

constexpr std::size_t kLongestAnswer = std::size_t{1} << 20;  // some 40 bytes per interrupt

bool is_socket(const std::string& name) {
  return name.starts_with("irqbalance") && name.ends_with(".sock");
}

/// Connects to the irqbalance that runs. One that was killed leaves its socket.
Result<UniqueFd> connect_to_irqbalance(const std::string& root) {
  const std::string directory = root + "/run/irqbalance";
  for (const std::string& name : names_in(directory)) {
    if (!is_socket(name)) continue;
    auto connection = connect_to(fmt::format("{}/{}", directory, name));
    if (connection || connection.error().sys_errno != ECONNREFUSED) return connection;
  }
  return fail(ErrorCode::kNotFound, fmt::format("irqbalance does not listen in '{}'", directory));
}

}  // namespace

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

Irqbalance::~Irqbalance() {
  constexpr int kPatienceMs = 2000;
  (void)wait_for_late_answer(kPatienceMs);
}

/// Returns false if the earlier question is still open.
bool Irqbalance::wait_for_late_answer(int milliseconds) {
  while (unanswered_) {
    pollfd end{unanswered_.get(), POLLIN, 0};
    if (::poll(&end, 1, milliseconds) <= 0) return false;
    const auto part = receive(unanswered_.get(), kLongestAnswer);
    if (!part || part->empty()) unanswered_.reset();
  }
  return true;
}

Result<CpuSet> Irqbalance::read_banned() {
  if (!wait_for_late_answer(0)) {
    return fail(ErrorCode::kUnsupported, "no answer yet to an earlier question");
  }
  PINFOLD_LET(auto connection, connect_to_irqbalance(root_));
  PINFOLD_TRY(send_all(connection.get(), "setup"));
  std::string answer;
  while (answer.size() < kLongestAnswer) {
    auto part = receive(connection.get(), kLongestAnswer);
    if (!part) {
      unanswered_ = std::move(connection);
      return fail(std::move(part).error());
    }
    if (part->empty()) break;
    answer += *part;
  }
  return parse_irqbalance_setup(answer);
}

Result<void> Irqbalance::write_banned(const CpuSet& cpus) const {
  PINFOLD_LET(const auto connection, connect_to_irqbalance(root_));
  const std::string list = cpus.empty() ? "NULL" : cpus.to_string();
  PINFOLD_TRY_WRAP(send_all(connection.get(), "settings cpus " + list), "irqbalance");
  return {};
}

}  // namespace pinfold::quiet
