#include "pinfold/quiet/quiet_level.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace pinfold::quiet {
namespace {

struct NamedLevel {
  QuietLevel level;
  std::string_view name;
};
constexpr std::array kLevels = {
    NamedLevel{QuietLevel::kOff, "off"}, NamedLevel{QuietLevel::kInterrupts, "interrupts"},
    NamedLevel{QuietLevel::kSystem, "system"}, NamedLevel{QuietLevel::kIsolated, "isolated"}};

}  // namespace

std::string_view to_string(QuietLevel level) {
  return kLevels[static_cast<std::size_t>(level)].name;
}

Result<QuietLevel> parse_quiet_level(std::string_view text) {
  for (const auto& [level, name] : kLevels) {
    if (name == text) return level;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected off, interrupts, system or isolated", text));
}

}  // namespace pinfold::quiet
