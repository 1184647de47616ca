#include "pinfold/decide/config_effects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/text/go_text.hpp"

namespace pinfold {
namespace {

/// Without hints align-by-socket acts only on the choice of distribute-cpus-across-numa.
bool has_idle_align_by_socket(const Config& config) {
  const auto& options = config.cpu_manager_policy_options;
  if (!options.contains("align-by-socket")) return false;
  // QUIRK: with it that choice, too, ignores the option.
  if (config.quirks().align_by_socket_ignored_in_distribution) return true;
  const auto across = options.find("distribute-cpus-across-numa");
  return across == options.end() || !go::parse_bool(across->second).value_or(false);
}

}  // namespace

std::vector<std::string> settings_without_effect(const Config& config) {
  std::vector<std::string> sentences;
  const bool is_static = config.cpu_manager_policy == "static";
  const bool has_memory = config.memory_manager_policy == "Static";
  const bool is_aligned = config.topology_manager_policy != "none";
  if (!config.topology_manager_policy_options.empty() && !is_aligned) {
    sentences.emplace_back(
        "topologyManagerPolicyOptions have no effect with topologyManagerPolicy 'none'");
  }
  if (config.topology_manager_scope != "container" && !is_aligned) {
    sentences.push_back(
        fmt::format("topologyManagerScope '{}' has no effect with topologyManagerPolicy 'none'",
                    config.topology_manager_scope));
  }
  if (is_static && !is_aligned && has_idle_align_by_socket(config)) {
    sentences.emplace_back(
        "cpuManagerPolicyOptions: 'align-by-socket' has no effect on decisions with "
        "topologyManagerPolicy 'none'");
  }
  if (!config.reserved_memory.empty() && !has_memory) {
    sentences.push_back(fmt::format("reservedMemory has no effect with memoryManagerPolicy '{}'",
                                    config.memory_manager_policy));
  }
  const bool has_memory_qos =
      config.memory_throttling_factor || !config.memory_reservation_policy.empty();
  if (has_memory_qos && config.profile == Profile::kKubelet136 &&
      !config.set_gate("MemoryQoS", false)) {
    sentences.emplace_back(
        "memoryThrottlingFactor and memoryReservationPolicy have no effect without the feature "
        "gate MemoryQoS");
  }
  const bool knows_drift =
      config.profile == Profile::kFixed || config.profile == Profile::kKubelet138;
  if (!config.memory_manager_policy_options.empty() && !knows_drift) {
    sentences.emplace_back(
        "memoryManagerPolicyOptions have no effect before kubelet 1.38, which may have them");
  }
  if (const std::string gates = describe_unknown_gates(config); !gates.empty()) {
    sentences.push_back(gates);
  }
  return sentences;
}

std::vector<std::string> config_warnings(std::vector<std::string> of_text, const Config& config) {
  auto effects = settings_without_effect(config);
  std::move(effects.begin(), effects.end(), std::back_inserter(of_text));
  return of_text;
}

}  // namespace pinfold
