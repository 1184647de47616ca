#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "pinfold/gate/container.hpp"

namespace pinfold::gate {

/// `--unplaced-in NAMESPACE=refuse|confine|allow`.
struct NamespaceRule {
  std::string_view name_space;
  Unplaced unplaced = Unplaced::kRefuse;
};

/// The command line of the gate, which the operator writes. Texts are parts of the arguments.
struct Options {
  static constexpr std::size_t kMostRules = 64;
  static constexpr std::int64_t kLongestMs = 60'000;

  const char* state_dir = "/var/lib/pinfold";
  const char* socket = "/run/pinfold/agent.sock";
  const char* cgroup_mount = "/sys/fs/cgroup";
  const char* log = nullptr;  ///< a file to append to
  std::int64_t time_limit_ms = 3000;
  Unplaced unplaced = Unplaced::kRefuse;
  std::array<NamespaceRule, kMostRules> rules{};
  std::size_t rule_count = 0;
  /// Each NAMESPACE, NAMESPACE/POD or NAMESPACE/PREFIX*.
  std::array<std::string_view, kMostRules> exempt{};
  std::size_t exempt_count = 0;
};

/// Parses the arguments after the program's name.
/// Returns nullopt and sets `wrong` to the argument that is unknown, or has a wrong or no value.
[[nodiscard]] std::optional<Options> parse_options(std::span<const char* const> arguments,
                                                   std::string_view& wrong);

/// Returns whether the gate handles a container. False if it is exempt, is a sandbox, belongs to
/// neither Kubernetes nor Pinfold's OCI hook, or has a Pod file, which the hook enforces.
[[nodiscard]] bool concerns_gate(const Options& options, const HookedContainer& container);

/// Returns what happens to a container if it is unplaced. Its annotation can only be stricter than
/// what the operator wrote.
[[nodiscard]] Unplaced unplaced_of(const Options& options, const HookedContainer& container);

}  // namespace pinfold::gate
