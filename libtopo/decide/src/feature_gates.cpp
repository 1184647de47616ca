#include "pinfold/decide/feature_gates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "known_feature_gates.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold {
namespace {

constexpr int kFirstMinor = 36;
constexpr int kLastMinor = 38;

/// Returns the stages of a gate, oldest first; empty if no kubelet knows it.
std::span<const FeatureGateStage> stages_of(std::string_view name) {
  const auto [first, last] =
      std::equal_range(kFeatureGates.begin(), kFeatureGates.end(), FeatureGateStage{name},
                       [](const auto& one, const auto& other) { return one.name < other.name; });
  return {first, last};
}

/// Returns the state of a gate in a kubelet of this minor version; kRemoved if it has no such gate.
GateState state_in(std::string_view name, int minor) {
  GateState state = GateState::kRemoved;
  for (const FeatureGateStage& stage : stages_of(name)) {
    if (stage.since <= minor) state = stage.state;
  }
  return state;
}

/// Returns the minor version of a profile; 0 for `fixed`.
int minor_of(Profile profile) {
  switch (profile) {
    case Profile::kKubelet136:
      return kFirstMinor;
    case Profile::kKubelet137:
      return kFirstMinor + 1;
    case Profile::kKubelet138:
      return kLastMinor;
    case Profile::kFixed:
      break;
  }
  return 0;
}

bool is_known_gate(std::string_view name, Profile profile) {
  const int minor = minor_of(profile);
  return minor == 0 ? !stages_of(name).empty() : state_in(name, minor) != GateState::kRemoved;
}

/// Returns the known gate with the most similar name; "" if none is similar.
std::string_view nearest_gate(std::string_view name) {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> all;
    for (const FeatureGateStage& stage : kFeatureGates) {
      if (all.empty() || all.back() != stage.name) all.push_back(stage.name);
    }
    return all;
  }();
  return nearest(name, kNames);
}

/// Returns whether a decision can depend on a gate that the configuration sets.
bool decides(const Config& config, const std::string& name) {
  if (is_gate_of_options(name)) return true;
  Config without = config;
  without.feature_gates.erase(name);
  return !(without.gates() == config.gates());
}

/// Returns " (since 1.37)", " (removed in 1.38)", " (locked)", " (did you mean 'X'?)" and so on, or
/// "".
std::string remark_on(std::string_view name, Profile profile) {
  if (const auto stages = stages_of(name); !stages.empty()) {
    if (is_known_gate(name, profile)) return " (locked)";
    return stages.back().state == GateState::kRemoved
               ? fmt::format(" (removed in 1.{})", stages.back().since)
               : fmt::format(" (since 1.{})", stages.front().since);
  }
  for (const auto& [gate, version] : kStableGates) {
    if (name == gate) return fmt::format(" (always on since {}, no longer a gate)", version);
  }
  if (std::binary_search(kOpenShiftGates.begin(), kOpenShiftGates.end(), name)) {
    return " (OpenShift)";
  }
  const std::string_view meant = nearest_gate(name);
  return meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant);
}

}  // namespace

bool is_gate_of_options(std::string_view name) {
  return name == "CPUManagerPolicyOptions" || name == "TopologyManagerPolicyOptions";
}

bool is_locked_against(std::string_view name, bool value, Profile profile) {
  const int minor = minor_of(profile);
  const GateState state = state_in(name, minor == 0 ? kFirstMinor : minor);
  return state == (value ? GateState::kLockedOff : GateState::kLockedOn);
}

std::vector<std::string> unknown_gates(const Config& config) {
  const bool is_other_kubelet = has_openshift_gates(config);
  std::vector<std::string> names;
  for (const auto& [name, enabled] : config.feature_gates) {
    const bool is_known = is_known_gate(name, config.profile);
    const bool is_locked = is_other_kubelet && is_locked_against(name, enabled, config.profile);
    if (!is_known || (is_locked && !decides(config, name))) names.push_back(name);
  }
  return names;
}

bool has_openshift_gates(const Config& config) {
  return std::any_of(
      config.feature_gates.begin(), config.feature_gates.end(), [](const auto& gate) {
        return std::binary_search(kOpenShiftGates.begin(), kOpenShiftGates.end(), gate.first);
      });
}

Config without_unknown_gates(Config config) {
  for (const std::string& name : unknown_gates(config)) config.feature_gates.erase(name);
  return config;
}

Config with_judged_gates(Config config) {
  const bool is_certain = config.profile == Profile::kKubelet136 && !has_openshift_gates(config);
  return is_certain ? config : without_unknown_gates(std::move(config));
}

std::string describe_unknown_gates(const Config& config) {
  constexpr std::size_t kShown = 10;
  std::vector<std::string> gates = unknown_gates(config);
  if (gates.empty()) return "";
  for (std::string& gate : gates) gate = printable(gate) + remark_on(gate, config.profile);
  gates = first_named(std::move(gates), kShown, "more");
  const int minor = minor_of(config.profile);
  return fmt::format(
      "feature gates that {}{}: {}; no decision depends on them{}",
      minor == 0 ? "no kubelet 1.36 to 1.38 knows"
                 : fmt::format("kubelet 1.{} does not know", minor),
      has_openshift_gates(config) ? ", or that are locked in it" : "", fmt::join(gates, ", "),
      has_openshift_gates(config) ? "" : ", but upstream's kubelet does not start with them");
}

}  // namespace pinfold
