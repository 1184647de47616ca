#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "failed_start.hpp"
#include "known_start_errors.hpp"
#include "pinfold/align/topology_manager.hpp"
#include "pinfold/api/topology_policy.hpp"
#include "pinfold/cpu/policy_options.hpp"
#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/decide/start_advice.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/go_duration.hpp"
#include "pinfold/text/go_text.hpp"
#include "pinfold/text/kubelet_words.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold {
namespace {

constexpr std::array<std::string_view, 2> kCpuPolicies = {"none", "static"};
constexpr std::array<std::string_view, 2> kMemoryPolicies = {"None", "Static"};
constexpr std::array<std::string_view, 1> kMemoryOptionNames = {"memory-drift-tolerance"};

using KnownNames = std::span<const std::string_view>;
using Gates = std::map<std::string, bool>;

/// Returns the name, in quotes if YAML needs them.
std::string written_name(const std::string& name) {
  const bool is_plain = !name.empty() && name.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789._-/") == std::string::npos;
  return is_plain ? name : go::quote(name);
}

std::string write_gates(const Gates& gates) {
  std::vector<std::string> members;
  members.reserve(gates.size());
  for (const auto& [name, value] : gates) {
    members.push_back(fmt::format("{}: {}", written_name(name), value));
  }
  return fmt::format("featureGates: {{{}}}", fmt::join(members, ", "));
}

std::string enable_gate(const Config& config, const char* name) {
  Gates gates = config.feature_gates;
  gates[name] = true;
  return write_gates(gates);
}

/// Returns the most similar known value of a field, else what is known. A value that turns the
/// manager off is meant only if it is written out.
StartAdvice correct(std::string_view field, const std::string& value, KnownNames known) {
  const std::string_view meant = nearest(value, known);
  const bool is_off = words_of_name(meant) == std::vector<std::string>{"none"};
  if (meant.empty() || (is_off && words_of_name(value) != words_of_name(meant))) {
    return {
        fmt::format("{} '{}': expected one of {}", field, printable(value), fmt::join(known, ", ")),
        ""};
  }
  return {fmt::format("{} '{}': did you mean '{}'?", field, printable(value), meant),
          fmt::format("{}: {}", field, meant)};
}

StartAdvice correct_cpu_policy(const FailedStart& start) {
  return start.error.stage == StartStage::kCpuManager
             ? correct("cpuManagerPolicy", start.config.cpu_manager_policy, kCpuPolicies)
             : correct("memoryManagerPolicy", start.config.memory_manager_policy, kMemoryPolicies);
}

StartAdvice correct_topology_policy(const FailedStart& start) {
  return correct("topologyManagerPolicy", start.config.topology_manager_policy,
                 kTopologyPolicyNames);
}

StartAdvice correct_scope(const FailedStart& start) {
  return correct("topologyManagerScope", start.config.topology_manager_scope, kTopologyScopeNames);
}

/// Corrects the first unknown option, or leaves it out if it resembles no known one.
StartAdvice correct_option(std::string_view field, const Texts& options, KnownNames known) {
  const auto unknown = std::find_if(options.begin(), options.end(), [&](const auto& one) {
    return std::find(known.begin(), known.end(), one.first) == known.end();
  });
  if (unknown == options.end()) return {"this kubelet has no such option", ""};
  StartAdvice advice = correct(field, unknown->first, known);
  Texts corrected = without_member(options, unknown->first);
  if (const std::string_view meant = nearest(unknown->first, known); !meant.empty()) {
    corrected.emplace(meant, unknown->second);
  }
  advice.write = write_map(field, corrected);
  return advice;
}

StartAdvice correct_cpu_option(const FailedStart& start) {
  return correct_option("cpuManagerPolicyOptions", start.config.cpu_manager_policy_options,
                        cpu_policy_option_names());
}

StartAdvice correct_memory_option(const FailedStart& start) {
  return correct_option("memoryManagerPolicyOptions", start.config.memory_manager_policy_options,
                        kMemoryOptionNames);
}

/// Returns the first option of the topology manager that only other profiles know; "" if there is
/// none.
std::string option_of_others(const Config& config) {
  for (const auto& entry : config.topology_manager_policy_options) {
    const std::string& option = entry.first;
    const auto knows = [&](Profile profile) { return knows_topology_option(profile, option); };
    if (!knows(config.profile) && std::any_of(kProfiles.begin(), kProfiles.end(), knows)) {
      return option;
    }
  }
  return "";
}

StartAdvice correct_topology_option(const FailedStart& start) {
  constexpr const char* kField = "topologyManagerPolicyOptions";
  const Texts& options = start.config.topology_manager_policy_options;
  const std::string option = option_of_others(start.config);
  if (option.empty()) return correct_option(kField, options, kTopologyOptionNames);
  std::vector<std::string_view> knowing;
  for (const Profile profile : kProfiles) {
    if (knows_topology_option(profile, option)) knowing.push_back(to_string(profile));
  }
  return {fmt::format("{} '{}': known with the profile{} {}, not with {}", kField, option,
                      knowing.size() == 1 ? "" : "s", fmt::join(knowing, " and "),
                      to_string(start.config.profile)),
          write_map(kField, without_member(options, option))};
}

/// A value that an option can have.
struct OptionValue {
  std::string_view option;
  const char* expected;
  const char* value;
};
constexpr std::array kOptionValues = {
    OptionValue{"memory-drift-tolerance", "auto, off or an amount", "auto"},
    OptionValue{"numa-allocation-strategy", "least-allocated, most-allocated or none", "none"},
    OptionValue{"numa-score-weights", "RESOURCE=0 to 100, ...", "cpu=2,memory=1"},
};

OptionValue value_for(std::string_view option) {
  const auto* const found =
      std::find_if(kOptionValues.begin(), kOptionValues.end(),
                   [&](const OptionValue& one) { return one.option == option; });
  return found == kOptionValues.end() ? OptionValue{option, "true or false", "true"} : *found;
}

/// Returns the weights that are right, and the nearest for those out of range; "" if none is left.
std::string right_weights(std::string_view written) {
  constexpr std::int64_t kMost = 100;
  std::vector<std::string> right;
  while (!written.empty()) {
    const std::string_view entry = written.substr(0, written.find(','));
    written.remove_prefix(std::min(entry.size() + 1, written.size()));
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = trimmed(entry.substr(0, equals));
    const auto weight = go::atoi(trimmed(entry.substr(std::min(equals + 1, entry.size()))));
    if (name.empty() || !weight) continue;
    right.push_back(fmt::format("{}={}", name, std::clamp<std::int64_t>(*weight, 0, kMost)));
  }
  return fmt::format("{}", fmt::join(right, ","));
}

/// Adds the options that a value contains after its own: of "true,b=false" the option b. A kubelet
/// splits no value of its flag.
void add_joined_options(std::string_view value, Texts& options) {
  for (std::size_t comma = value.find(','); comma != std::string_view::npos;
       comma = value.find(',')) {
    value.remove_prefix(comma + 1);
    const std::string_view entry = trimmed(value.substr(0, value.find(',')));
    const std::size_t equals = std::min(entry.find('='), entry.size());
    if (equals == entry.size()) continue;
    options.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
}

StartAdvice correct_option_value(const FailedStart& start) {
  const std::pair<const char*, const Texts&> fields[] = {
      {"cpuManagerPolicyOptions", start.config.cpu_manager_policy_options},
      {"memoryManagerPolicyOptions", start.config.memory_manager_policy_options},
      {"topologyManagerPolicyOptions", start.config.topology_manager_policy_options}};
  for (const auto& [field, options] : fields) {
    for (const auto& [option, value] : options) {
      if (!mentions(start.error, "option " + go::quote(option))) continue;
      const OptionValue right = value_for(option);
      Texts corrected = options;
      corrected[option] = right.value;
      if (option != "numa-score-weights") add_joined_options(value, corrected);
      if (const std::string weights = right_weights(value);
          option == "numa-score-weights" && !weights.empty()) {
        corrected[option] = weights;
      }
      if (const std::string_view meant = nearest(trimmed(value), kNumaAllocationStrategyNames);
          option == "numa-allocation-strategy" && !meant.empty()) {
        corrected[option] = meant;
      }
      return {fmt::format("{} '{}': expected {}", option, printable(value), right.expected),
              write_map(field, corrected)};
    }
  }
  return {"an option has a wrong value", ""};
}

/// Leaves out the feature gates that the error names.
StartAdvice drop_gates(const FailedStart& start) {
  Gates gates = start.config.feature_gates;
  std::erase_if(gates, [&](const auto& one) {
    return mentions(start.error, "unrecognized feature gate: " + one.first) ||
           mentions(start.error, "cannot set feature gate " + one.first + " to");
  });
  const std::string unknown = describe_unknown_gates(start.config);
  return {unknown.empty() ? "a feature gate is locked to its other value in this kubelet" : unknown,
          write_gates(gates)};
}

StartAdvice disable_dependents(const FailedStart& start) {
  Gates gates = start.config.feature_gates;
  for (const char* const gate :
       {"InPlacePodLevelResourcesVerticalScaling", "PodLevelResourceManagers"}) {
    if (mentions(start.error, gate)) gates[gate] = false;
  }
  return {"PodLevelResources is off, and other feature gates need it", write_gates(gates)};
}

/// Leaves out one of the options of the CPU manager that exclude each other.
StartAdvice drop_option(const FailedStart& start) {
  const auto without = [&](std::string_view option) {
    return write_map("cpuManagerPolicyOptions",
                     without_member(start.config.cpu_manager_policy_options, option));
  };
  for (const std::string_view option :
       {"distribute-cpus-across-cores", "prefer-align-cpus-by-uncorecache"}) {
    if (mentions(start.error, option))
      return {"the two options exclude each other", without(option)};
  }
  return {
      "align-by-socket fits neither single-numa-node nor a machine with more sockets than NUMA "
      "nodes",
      without("align-by-socket")};
}

StartAdvice drop_most_allocated(const FailedStart& start) {
  return {"both options choose between NUMA nodes",
          write_map("topologyManagerPolicyOptions",
                    without_member(start.config.topology_manager_policy_options,
                                   "prefer-most-allocated-numa-node"))};
}

StartAdvice drop_closest(const FailedStart& start) {
  return {"the machine does not show all NUMA distances",
          write_map("topologyManagerPolicyOptions",
                    without_member(start.config.topology_manager_policy_options,
                                   "prefer-closest-numa-nodes"))};
}

StartAdvice allow_numa_nodes(const FailedStart& start) {
  constexpr int kFewest = 8;
  const int nodes = start.machine.numa_count();
  Texts options = start.config.topology_manager_policy_options;
  const std::string written =
      std::exchange(options["max-allowable-numa-nodes"], std::to_string(std::max(kFewest, nodes)));
  if (!written.empty() && !go::atoi(written)) {
    return {fmt::format("max-allowable-numa-nodes '{}': expected a whole number of {} or more",
                        printable(written), options["max-allowable-numa-nodes"]),
            write_map("topologyManagerPolicyOptions", options)};
  }
  return {
      fmt::format("this machine has {} NUMA node{}, and max-allowable-numa-nodes is at least {}",
                  nodes, nodes == 1 ? "" : "s", kFewest),
      write_map("topologyManagerPolicyOptions", options)};
}

/// Writes a grace period for each soft threshold: its own if it is one, else a usual one.
StartAdvice add_grace_periods(const FailedStart& start) {
  Texts periods = start.config.eviction_soft_grace_period;
  std::erase_if(periods, [](const auto& one) {
    const auto period = go::parse_duration(one.second);
    return !period || *period < 0;
  });
  for (const auto& [signal, text] : start.config.eviction_soft) periods.emplace(signal, "1m30s");
  return {"each signal of evictionSoft needs an evictionSoftGracePeriod, such as 1m30s",
          write_map("evictionSoftGracePeriod", periods)};
}

StartAdvice correct_durations(const FailedStart& start) {
  if (go::parse_duration(start.config.cpu_cfs_quota_period)) return add_grace_periods(start);
  return {fmt::format("cpuCFSQuotaPeriod '{}': expected a duration such as 100ms",
                      printable(start.config.cpu_cfs_quota_period)),
          "cpuCFSQuotaPeriod: 100ms"};
}

/// Keeps the first of each value, with and without "-compressible".
StartAdvice enforce_once(const FailedStart& start) {
  std::set<std::string> seen;
  std::vector<std::string> values;
  for (const std::string& value : start.config.enforce_node_allocatable) {
    const std::string enforced = value.substr(0, value.find("-compressible"));
    if (seen.insert(enforced).second) values.push_back(written_name(value));
  }
  return {
      "enforceNodeAllocatable takes each value once, and a reservation as a whole or only what "
      "is compressible",
      fmt::format("enforceNodeAllocatable: [{}]", fmt::join(values, ", "))};
}

/// The list stays: these CPUs were chosen, and containers may have the others.
StartAdvice keep_cpu_list(const FailedStart& start) {
  std::vector<std::string> enforced;
  for (const std::string& value : start.config.enforce_node_allocatable) {
    if (value.find("-reserved") == std::string::npos) enforced.push_back(written_name(value));
  }
  if (enforced.empty()) enforced.emplace_back("none");
  return {
      "systemReservedCgroup and kubeReservedCgroup work only with CPUs that are reserved by count",
      fmt::format("systemReservedCgroup: \"\", kubeReservedCgroup: \"\", enforceNodeAllocatable: "
                  "[{}]",
                  fmt::join(enforced, ", "))};
}

/// A part of the kubelet's error, and its advice.
struct StartRemedy {
  std::string_view part;
  StartAdvice (*advise)(const FailedStart& start);
  bool adds_reservation = false;  ///< does what a reservation would, which may be set elsewhere
};
/// The first entry whose part a text has counts.
constexpr std::array kRemedies = {
    StartRemedy{"unrecognized feature gate", drop_gates},
    StartRemedy{"feature is locked to", drop_gates},
    StartRemedy{"depends on features that are disabled", disable_dependents},
    StartRemedy{"topologyManagerPolicy (", correct_topology_policy},
    StartRemedy{"topologyManagerScope (", correct_scope},
    StartRemedy{"duplicated enforcements", enforce_once},
    StartRemedy{"cannot be specified together", enforce_once},
    StartRemedy{"can't use reservedSystemCPUs", keep_cpu_list},
    StartRemedy{"unable to parse reservedSystemCPUs", correct_cpu_list},
    StartRemedy{"is accepted", correct_reservation},
    StartRemedy{"the reserved memory has a duplicate value", correct_reservation},
    StartRemedy{"reserved memory may not be zero", correct_reservation},
    StartRemedy{"is not a subset of online-cpus", limit_cpus},
    StartRemedy{"cannot reserve", reserve_known_resources},
    StartRemedy{"unknown policy", correct_cpu_policy},
    StartRemedy{"unknown CPU Manager Policy option", correct_cpu_option},
    StartRemedy{"unknown Memory Manager Policy option", correct_memory_option},
    StartRemedy{"unknown Topology Manager Policy option", correct_topology_option},
    StartRemedy{"bad value for option", correct_option_value},
    StartRemedy{"unable to convert policy option to integer", allow_numa_nodes},
    StartRemedy{"the minimum value of \"max-allowable-numa-nodes\"", allow_numa_nodes},
    StartRemedy{"unsupported on machines with more than", allow_numa_nodes},
    StartRemedy{"contradict each other", drop_most_allocated},
    StartRemedy{"error getting NUMA distances", drop_closest},
    StartRemedy{"can not be used at the same time", drop_option},
    StartRemedy{"incompatible with CPUManager align-by-socket", drop_option},
    StartRemedy{"Align by socket is not compatible", drop_option},
    StartRemedy{"unable to determine reserved CPU resources", reserve_cpus, true},
    StartRemedy{"unable to reserve the required amount", limit_reservation},
    StartRemedy{"has a reservation of", limit_reservation},
    StartRemedy{"references a NUMA node", name_numa_nodes},
    StartRemedy{"huge pages not counted", name_numa_nodes},
    StartRemedy{"of type \"hugepages-", drop_huge_pages},
    StartRemedy{"determined by Node Allocatable", balance_memory, true},
    StartRemedy{"you should specify the system reserved memory", balance_memory, true},
    StartRemedy{"reservedMemory: ", correct_reservation},
    StartRemedy{"Quantity to int64", correct_reservation},
    StartRemedy{"grace period must be specified", add_grace_periods},
    StartRemedy{"invalid eviction grace period", add_grace_periods},
    StartRemedy{"time: ", correct_durations},
    StartRemedy{"quantities must match", correct_amount},
    StartRemedy{"unable to parse quantity", correct_amount},
};

/// A feature gate that is off, by the part of the error that asks for it.
struct GateRemedy {
  std::string_view part;
  const char* cause;
  const char* gate;
};
constexpr const char* kAlphaOption = "the option is alpha: its feature gate is off by default";
constexpr const char* kBetaOption = "the option is beta: its feature gate is off";
constexpr std::array kGateRemedies = {
    GateRemedy{"CPU Manager Policy Alpha-level", kAlphaOption, "CPUManagerPolicyAlphaOptions"},
    GateRemedy{"CPU Manager Policy Beta-level", kBetaOption, "CPUManagerPolicyBetaOptions"},
    GateRemedy{"topology manager policy alpha-level", kAlphaOption,
               "TopologyManagerPolicyAlphaOptions"},
    GateRemedy{"requires the MemoryManagerDriftTolerance", kAlphaOption,
               "MemoryManagerDriftTolerance"},
    GateRemedy{"requires MemoryQoS", "memoryReservationPolicy needs its feature gate", "MemoryQoS"},
};

/// Returns the advice on an error whose remedy follows from the machine and the configuration;
/// nullopt for any other error.
std::optional<StartAdvice> remedy_of(const FailedStart& start) {
  for (const StartRemedy& remedy : kRemedies) {
    if (!mentions(start.error, remedy.part)) continue;
    StartAdvice advice = remedy.advise(start);
    const std::string complete = start.config.sources.value().complete.advice;
    if (remedy.adds_reservation && !complete.empty()) {
      return StartAdvice{fmt::format("{}; {}", advice.cause, complete), ""};
    }
    return advice;
  }
  for (const GateRemedy& remedy : kGateRemedies) {
    if (!mentions(start.error, remedy.part)) continue;
    return StartAdvice{remedy.cause, enable_gate(start.config, remedy.gate)};
  }
  return std::nullopt;
}

/// Turns off the manager of a stage, whose error is known. Returns false for other stages.
bool turn_off(StartStage stage, Config& config) {
  const Config off;
  if (stage == StartStage::kTopologyManager) {
    config.topology_manager_policy = off.topology_manager_policy;
    config.topology_manager_policy_options.clear();
  } else if (stage == StartStage::kCpuManager) {
    config.cpu_manager_policy = off.cpu_manager_policy;
    config.cpu_manager_policy_options.clear();
  } else if (stage == StartStage::kMemoryManager) {
    config.memory_manager_policy = off.memory_manager_policy;
    config.memory_manager_policy_options.clear();
    config.reserved_memory.clear();
  } else {
    return false;
  }
  return true;
}

/// Returns an error and those of the managers after it, which a kubelet shows one at a time.
std::vector<StartError> all_errors(const Machine& machine, Config config, const StartError& error) {
  std::vector<StartError> errors = {error};
  while (turn_off(errors.back().stage, config)) {
    const auto node = Node::make(machine, config);
    if (node || node.error().stage == errors.back().stage) break;
    errors.push_back(node.error());
  }
  return errors;
}

/// Returns the problems that a kubelet shows together, "[invalid configuration: a, invalid
/// configuration: b]", as one error each.
std::vector<StartError> problems_of(const StartError& error) {
  constexpr std::string_view kFirst = "[invalid configuration: ";
  constexpr std::string_view kNext = ", invalid configuration: ";
  std::string_view rest = error.error;
  if (!rest.starts_with(kFirst) || !rest.ends_with(']')) return {error};
  rest = rest.substr(kFirst.size(), rest.size() - kFirst.size() - 1);
  std::vector<StartError> problems;
  while (true) {
    const std::size_t end = rest.find(kNext);
    problems.push_back({error.stage, std::string(rest.substr(0, end))});
    if (end == std::string_view::npos) return problems;
    rest.remove_prefix(end + kNext.size());
  }
}

}  // namespace

bool mentions(const StartError& error, std::string_view text) {
  return error.error.find(text) != std::string::npos;
}

Texts without_member(Texts texts, std::string_view name) {
  texts.erase(std::string(name));
  return texts;
}

std::string write_map(std::string_view field, const Texts& texts) {
  std::vector<std::string> members;
  members.reserve(texts.size());
  for (const auto& [name, value] : texts) {
    members.push_back(fmt::format("{}: {}", written_name(name), go::quote(value)));
  }
  return fmt::format("{}: {{{}}}", field, fmt::join(members, ", "));
}

std::optional<StartAdvice> advise_start(const Machine& machine, const Config& config,
                                        const StartError& error) {
  auto advice = remedy_of({machine, config, error});
  if (!advice) {
    const KnownStartError* const known = find_known_start_error(error.error);
    if (known == nullptr) return std::nullopt;
    advice = StartAdvice{known->cause, known->write};
  }
  advice->steps = start_steps(advice->write, config.sources.value());
  return advice;
}

std::string to_string(const StartAdvice& advice) {
  std::string text = advice.cause;
  for (const AdviceStep& step : advice.steps) text += "; " + to_string(step);
  return text;
}

std::string describe(const StartError& error, const std::optional<StartAdvice>& advice) {
  if (!advice) return in_plain_words(error.error);
  StartAdvice with_original = *advice;
  with_original.cause += fmt::format(" (kubelet: {})", error.error);
  return to_string(with_original);
}

std::string describe_start_error(const Machine& machine, const Config& config,
                                 const StartError& error) {
  std::vector<std::string> texts;
  std::set<std::string> known;
  for (const StartError& one : all_errors(machine, config, error)) {
    std::vector<std::string> causes;
    for (const StartError& problem : problems_of(one)) {
      const auto advice = advise_start(machine, config, problem);
      if (!advice || known.insert(to_string(*advice)).second) {
        causes.push_back(describe(problem, advice));
      }
    }
    if (causes.empty()) causes.push_back(fmt::format("the same (kubelet: {})", one.error));
    texts.push_back(fmt::format("start: {}: {}", to_string(one.stage), fmt::join(causes, "; ")));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace pinfold
