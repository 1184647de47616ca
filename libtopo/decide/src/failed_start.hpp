#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/decide/node.hpp"
#include "pinfold/decide/start_advice.hpp"

/// The input of the advice on a failed start. The writers return members of a configuration in
/// YAML, see StartAdvice::write.
namespace pinfold {

struct FailedStart {
  const Machine& machine;
  const Config& config;
  const StartError& error;
};

using Texts = std::map<std::string, std::string>;

[[nodiscard]] bool mentions(const StartError& error, std::string_view text);

[[nodiscard]] Texts without_member(Texts texts, std::string_view name);

/// Returns 'kubeReserved: {cpu: "1", memory: "1Gi"}'.
[[nodiscard]] std::string write_map(std::string_view field, const Texts& texts);

/// Returns the changes, with their places, that make members of a configuration take effect.
[[nodiscard]] std::vector<AdviceStep> start_steps(const std::string& write,
                                                  const ConfigSources& sources);

// The advice on reserved CPUs and memory, and on eviction.
[[nodiscard]] StartAdvice balance_memory(const FailedStart& start);
[[nodiscard]] StartAdvice drop_huge_pages(const FailedStart& start);
[[nodiscard]] StartAdvice name_numa_nodes(const FailedStart& start);
[[nodiscard]] StartAdvice correct_reservation(const FailedStart& start);
[[nodiscard]] StartAdvice correct_amount(const FailedStart& start);
[[nodiscard]] StartAdvice limit_cpus(const FailedStart& start);
[[nodiscard]] StartAdvice limit_reservation(const FailedStart& start);
[[nodiscard]] StartAdvice reserve_cpus(const FailedStart& start);
[[nodiscard]] StartAdvice correct_cpu_list(const FailedStart& start);
[[nodiscard]] StartAdvice reserve_known_resources(const FailedStart& start);

}  // namespace pinfold
