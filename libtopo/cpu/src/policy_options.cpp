#include "pinfold/cpu/policy_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "pinfold/api/topology_policy.hpp"
#include "pinfold/text/go_text.hpp"

namespace pinfold::cpu {
namespace {

/// The feature gate that an option needs: CPUManagerPolicyAlphaOptions, CPUManagerPolicyBetaOptions
/// or none.
enum class Maturity { kAlpha, kBeta, kStable };

struct PolicyOption {
  std::string_view name;
  Maturity maturity;
  bool CpuPolicyOptions::*flag;
};

constexpr PolicyOption kFullPcpusOnly{"full-pcpus-only", Maturity::kStable,
                                      &CpuPolicyOptions::full_pcpus_only};
constexpr PolicyOption kAcrossNuma{"distribute-cpus-across-numa", Maturity::kBeta,
                                   &CpuPolicyOptions::distribute_cpus_across_numa};
constexpr PolicyOption kBySocket{"align-by-socket", Maturity::kAlpha,
                                 &CpuPolicyOptions::align_by_socket};
constexpr PolicyOption kAcrossCores{"distribute-cpus-across-cores", Maturity::kAlpha,
                                    &CpuPolicyOptions::distribute_cpus_across_cores};
// Observed: kubelet v1.36.2 accepts these two even without CPUManagerPolicyBetaOptions.
constexpr PolicyOption kStrict{"strict-cpu-reservation", Maturity::kStable,
                               &CpuPolicyOptions::strict_cpu_reservation};
constexpr PolicyOption kByUncoreCache{"prefer-align-cpus-by-uncorecache", Maturity::kStable,
                                      &CpuPolicyOptions::prefer_align_cpus_by_uncorecache};

constexpr std::array kOptions{kFullPcpusOnly, kAcrossNuma, kBySocket,
                              kAcrossCores,   kStrict,     kByUncoreCache};

/// Pairs of options that exclude each other, in the order in which the kubelet checks them.
constexpr std::array kConflicts{
    std::pair{kFullPcpusOnly, kAcrossCores},
    std::pair{kAcrossNuma, kAcrossCores},
    std::pair{kByUncoreCache, kAcrossCores},
    std::pair{kByUncoreCache, kAcrossNuma},
};

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Result<void> read_option(const std::string& name, const std::string& value,
                         const FeatureGates& gates, CpuPolicyOptions& options) {
  const auto* const option = std::find_if(kOptions.begin(), kOptions.end(),
                                          [&](const PolicyOption& o) { return o.name == name; });
  if (option == kOptions.end()) {
    return invalid("unknown CPU Manager Policy option: " + go::quote(name));
  }
  const bool hidden_alpha =
      option->maturity == Maturity::kAlpha && !gates.cpu_manager_policy_alpha_options;
  const bool hidden_beta =
      option->maturity == Maturity::kBeta && !gates.cpu_manager_policy_beta_options;
  if (hidden_alpha || hidden_beta) {
    return invalid(
        fmt::format("CPU Manager Policy {}-level Options not enabled, but option \"{}\" provided",
                    hidden_alpha ? "Alpha" : "Beta", name));
  }
  const auto flag = go::parse_bool(value);
  if (!flag) {
    return invalid(fmt::format("bad value for option \"{}\": {}", name, flag.error().message));
  }
  options.*(option->flag) = *flag;
  return {};
}

}  // namespace

Result<CpuPolicyOptions> read_policy_options(const Machine& machine, const Config& config) {
  CpuPolicyOptions options;
  const FeatureGates gates = config.gates();
  for (const auto& [name, value] : config.cpu_manager_policy_options) {
    PINFOLD_TRY(read_option(name, value, gates, options));
  }
  for (const auto& [one, other] : kConflicts) {
    if (options.*(one.flag) && options.*(other.flag)) {
      return invalid(fmt::format("static policy options {} and {} can not be used at the same time",
                                 one.name, other.name));
    }
  }
  if (options.align_by_socket) {
    if (config.topology_manager_policy == to_string(TopologyPolicy::kSingleNumaNode)) {
      // The misspelling is the kubelet's.
      return invalid(
          "Topolgy manager single-numa-node policy is incompatible with CPUManager "
          "align-by-socket policy option");
    }
    if (static_cast<int>(machine.sockets().size()) > machine.numa_with_cpus()) {
      return invalid(
          "Align by socket is not compatible with hardware where number of sockets are more than "
          "number of NUMA");
    }
  }
  return options;
}

}  // namespace pinfold::cpu

namespace pinfold {

std::vector<std::string_view> cpu_policy_option_names() {
  std::vector<std::string_view> names;
  names.reserve(cpu::kOptions.size());
  for (const cpu::PolicyOption& option : cpu::kOptions) names.push_back(option.name);
  return names;
}

}  // namespace pinfold
