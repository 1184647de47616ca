#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "eviction.hpp"
#include "failed_start.hpp"
#include "node_config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/types/amount_text.hpp"

namespace pinfold {
namespace {

constexpr const char* kAvailableMemory = "memory.available";

/// Returns "1638.4Mi".
std::string in_mebibytes(const Quantity& amount) {
  return fmt::format("{:.1f}Mi", static_cast<double>(amount.value()) / (1U << 20U));
}

/// Returns "993Mi", "2791728768 bytes (2662.4Mi)".
std::string exactly(const Quantity& amount) {
  std::string text = amount.to_string();
  const bool has_unit = text.find_first_not_of("0123456789") != std::string::npos;
  if (has_unit || amount < Quantity::bytes(1U << 20U)) return text;
  return fmt::format("{} bytes ({})", text, in_mebibytes(amount));
}

/// Returns "evictionHard 100Mi", "evictionHard 5% = 1638.4Mi".
std::string eviction_term(const Machine& machine, const Config& config, const std::string& text) {
  const auto amount = hard_memory_threshold(machine, config);
  if (!text.ends_with('%') || !amount || !*amount) return "evictionHard " + text;
  return fmt::format("evictionHard {} = {}", text, in_mebibytes(**amount));
}

/// Returns "kubeReserved 893Mi + evictionHard 100Mi (its default)".
std::string reserved_sum(const FailedStart& start, const std::string& resource) {
  const Config& config = start.config;
  std::vector<std::string> terms;
  const auto add = [&](const char* field, const Texts& amounts, const std::string& name) {
    const auto found = amounts.find(name);
    if (found != amounts.end()) terms.push_back(fmt::format("{} {}", field, found->second));
  };
  add("kubeReserved", config.kube_reserved, resource);
  add("systemReserved", config.system_reserved, resource);
  if (resource == "memory" && config.eviction_hard) {
    const auto found = config.eviction_hard->find(kAvailableMemory);
    if (found != config.eviction_hard->end()) {
      terms.push_back(eviction_term(start.machine, config, found->second));
    }
  } else if (resource == "memory") {
    terms.emplace_back("evictionHard 100Mi (its default)");
  }
  return fmt::format("{}", fmt::join(terms, " + "));
}

/// The memory to reserve on each NUMA node, by OS id.
using MemoryByNode = std::map<std::int32_t, Quantity>;

/// Returns the memory of a NUMA node without its huge pages.
Quantity ordinary_memory(const NumaNode& numa) {
  std::uint64_t bytes = numa.memory;
  for (const auto& [name, pages] : numa.hugepages) bytes -= std::min(bytes, pages);
  return Quantity::bytes(static_cast<std::int64_t>(bytes));
}

bool can_reserve(const Machine& machine, std::int32_t node, const Quantity& amount) {
  const auto& nodes = machine.numa_nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const NumaNode& numa) {
    return numa.id.value == node && amount <= ordinary_memory(numa);
  });
}

/// Returns the reserved memory of those NUMA nodes that have as much.
MemoryByNode possible_reservation(const Machine& machine, const Config& config) {
  MemoryByNode by_node;
  for (const MemoryReservation& entry : config.reserved_memory) {
    const auto written = entry.limits.find("memory");
    if (written == entry.limits.end()) continue;
    const auto amount = Quantity::parse(written->second);
    if (amount && amount->sign() > 0 && amount->milli_value() % 1000 == 0 &&
        can_reserve(machine, entry.numa_node, *amount)) {
      by_node.emplace(entry.numa_node, *amount);
    }
  }
  return by_node;
}

/// Reserves more memory on the first NUMA node that has room for all of it, else on as many as it
/// takes. Returns what has no room.
Quantity reserve_rest(const Machine& machine, Quantity rest, MemoryByNode& by_node) {
  for (const bool is_split : {false, true}) {
    for (const NumaNode& numa : machine.numa_nodes()) {
      Quantity& own = by_node[numa.id.value];
      const Quantity room = ordinary_memory(numa) - own;
      if (room < rest && !is_split) continue;
      const Quantity part = std::min(room, rest);
      own = part + own;
      rest -= part;
    }
  }
  return rest;
}

std::string write_reservation(const MemoryByNode& by_node) {
  std::vector<std::string> entries;
  for (const auto& [node, amount] : by_node) {
    if (amount.is_zero()) continue;
    entries.push_back(
        fmt::format("{{numaNode: {}, limits: {{memory: {}}}}}", node, amount.to_string()));
  }
  return fmt::format("reservedMemory: [{}]", fmt::join(entries, ", "));
}

/// Returns how much of a resource is reserved in total.
Quantity needed_amount(const FailedStart& start, const char* resource) {
  Config config = start.config;
  config.reserved_memory.clear();  // its own errors do not change the sum
  const auto checked = check_config(start.machine, config);
  return checked ? amount_of(checked->reservation.amounts, resource) : Quantity{};
}

/// Returns "; it is 612Mi on a control plane of Talos" for the reservations that a distribution may
/// have set instead; "" without any, or if the configuration names its own.
std::string other_sums(const FailedStart& start) {
  const auto possible = start.config.sources.value().complete.reservations;
  const auto is_used = [&](const AddedReservation& one) {
    return one.amounts == start.config.system_reserved;
  };
  if (std::none_of(possible.begin(), possible.end(), is_used)) return "";
  std::vector<std::string> sums;
  for (const AddedReservation& one : possible) {
    if (is_used(one)) continue;
    Config config = start.config;
    config.system_reserved = one.amounts;
    const Quantity sum = needed_amount({start.machine, config, start.error}, "memory");
    sums.push_back(fmt::format("{} on {}", sum.to_string(), one.where));
  }
  return sums.empty() ? "" : fmt::format("; it is {}", fmt::join(sums, ", "));
}

/// Returns " (with evictionHard memory.available 100Mi the 1124Mi of reservedMemory are right)" if
/// it is a percentage and an amount in its place makes the present sum right; else "".
std::string eviction_that_fits(const FailedStart& start, const Quantity& needed) {
  const Config& config = start.config;
  if (!config.eviction_hard) return "";
  const auto written = config.eviction_hard->find(kAvailableMemory);
  if (written == config.eviction_hard->end() || !written->second.ends_with('%')) return "";
  const auto threshold = hard_memory_threshold(start.machine, config);
  if (!threshold || !*threshold) return "";
  Quantity sum = Quantity::bytes(0);
  for (const MemoryReservation& entry : config.reserved_memory) {
    const auto limit = entry.limits.find("memory");
    if (limit == entry.limits.end()) continue;
    const auto amount = Quantity::parse(limit->second);
    if (!amount || !amount->is_whole()) return "";
    sum += *amount;
  }
  const std::int64_t rest = sum.value() - needed.value() + (*threshold)->value();
  if (rest <= 0) return "";
  return fmt::format(" (with evictionHard memory.available {} the {} of reservedMemory are right)",
                     Quantity::bytes(rest).to_string(), exactly(sum));
}

/// Returns a reservedMemory that adds up and fits the NUMA nodes: the written one, with what is
/// missing where there is room; "" if the nodes have too little.
std::string matching_reservation(const FailedStart& start) {
  const Quantity needed = needed_amount(start, "memory");
  MemoryByNode by_node = possible_reservation(start.machine, start.config);
  Quantity rest = needed;
  for (const auto& [node, amount] : by_node) rest -= amount;
  if (rest.sign() < 0) {
    by_node.clear();
    rest = needed;
  }
  return reserve_rest(start.machine, rest, by_node).sign() > 0 ? "" : write_reservation(by_node);
}

/// Returns the first core for the system; no CPUs if no other would be left.
CpuSet first_core(const Machine& machine) {
  return machine.cores().size() < 2 ? CpuSet() : machine.cores().front().cpus;
}

std::string write_cpus(const CpuSet& cpus) {
  return cpus.empty() ? "" : fmt::format("reservedSystemCPUs: \"{}\"", cpus.to_string());
}

/// Returns the CPUs of reservedSystemCPUs that this machine has, else the first core; no CPUs if
/// no other would be left.
CpuSet possible_cpus(const FailedStart& start) {
  const CpuSet all = start.machine.all_cpus();
  const auto reserved = CpuSet::parse(start.config.reserved_system_cpus);
  const CpuSet some = reserved ? *reserved & all : CpuSet();
  return some.empty() || some == all ? first_core(start.machine) : some;
}

/// Names the first amount in reservedMemory that cannot be read, and writes what adds up. nullopt
/// if all can be read.
std::optional<StartAdvice> wrong_reservation(const FailedStart& start) {
  for (const MemoryReservation& entry : start.config.reserved_memory) {
    for (const auto& [name, text] : entry.limits) {
      if (Quantity::parse(text)) continue;
      return StartAdvice{fmt::format("reservedMemory: NUMA node {}: {} '{}': {}", entry.numa_node,
                                     printable(name), printable(text), expected_amount(name, text)),
                         matching_reservation(start)};
    }
  }
  return std::nullopt;
}

}  // namespace

StartAdvice balance_memory(const FailedStart& start) {
  const Quantity needed = needed_amount(start, "memory");
  if (needed.is_zero()) {
    Texts eviction = start.config.eviction_hard.value_or(Texts());
    eviction[kAvailableMemory] = "100Mi";
    return {
        "memoryManagerPolicy Static needs reserved memory: kubeReserved, systemReserved or "
        "evictionHard",
        write_map("evictionHard", eviction)};
  }
  return {fmt::format("the memory in reservedMemory must add up to {}: {}{}{}", exactly(needed),
                      reserved_sum(start, "memory"), eviction_that_fits(start, needed),
                      other_sums(start)),
          matching_reservation(start)};
}

StartAdvice drop_huge_pages(const FailedStart& start) {
  return {
      "reservedMemory has huge pages, which neither kubeReserved nor systemReserved can reserve",
      matching_reservation(start)};
}

StartAdvice name_numa_nodes(const FailedStart& start) {
  std::vector<std::string> nodes;
  for (const NumaNode& numa : start.machine.numa_nodes()) {
    nodes.push_back(fmt::format("{} ({})", numa.id.value, ordinary_memory(numa).to_string()));
  }
  return {fmt::format("reservedMemory: this machine has the NUMA node{} {}",
                      nodes.size() == 1 ? "" : "s", fmt::join(nodes, ", ")),
          matching_reservation(start)};
}

StartAdvice correct_reservation(const FailedStart& start) {
  if (auto wrong = wrong_reservation(start)) return *std::move(wrong);
  return {
      "reservedMemory takes for each NUMA node one amount of memory, in whole bytes such as 1Gi",
      matching_reservation(start)};
}

StartAdvice correct_amount(const FailedStart& start) {
  const Config& config = start.config;
  const Texts hard = config.eviction_hard.value_or(Texts());
  const std::array<std::pair<const char*, const Texts*>, 5> settings = {{
      {"kubeReserved", &config.kube_reserved},
      {"systemReserved", &config.system_reserved},
      {"evictionHard", &hard},
      {"evictionSoft", &config.eviction_soft},
      {"evictionMinimumReclaim", &config.eviction_minimum_reclaim},
  }};
  for (const auto& [field, amounts] : settings) {
    for (const auto& [name, text] : *amounts) {
      if (text.ends_with('%') || Quantity::parse(text)) continue;
      return {fmt::format("{}: {} '{}': {}", field, printable(name), printable(text),
                          expected_amount(name, text)),
              ""};
    }
  }
  return wrong_reservation(start).value_or(StartAdvice{
      "expected an amount such as 500m or 1Gi in each reservation and eviction setting", ""});
}

StartAdvice limit_cpus(const FailedStart& start) {
  return {fmt::format("reservedSystemCPUs '{}': this machine has CPUs {}",
                      printable(start.config.reserved_system_cpus),
                      start.machine.all_cpus().to_string()),
          write_cpus(possible_cpus(start))};
}

/// There is no advice for memory, because it is unknown how little the system needs.
StartAdvice limit_reservation(const FailedStart& start) {
  const auto describe = [&](const char* resource, const Quantity& has) {
    return fmt::format("{} of {} is reserved ({}), and this machine has {}",
                       needed_amount(start, resource).to_string(), resource,
                       reserved_sum(start, resource), has.to_string());
  };
  const auto memory = Quantity::bytes(static_cast<std::int64_t>(start.machine.memory()));
  if (needed_amount(start, "memory") > memory) return {describe("memory", memory), ""};
  const auto cpus = Quantity::of(std::ssize(start.machine.cpus()), Quantity::Format::kDecimalSi);
  return {describe("cpu", cpus), write_cpus(first_core(start.machine))};
}

StartAdvice reserve_cpus(const FailedStart& start) {
  return {
      "cpuManagerPolicy static needs reserved CPUs: reservedSystemCPUs, or a cpu in kubeReserved "
      "or systemReserved",
      write_cpus(first_core(start.machine))};
}

StartAdvice correct_cpu_list(const FailedStart& start) {
  return {fmt::format("reservedSystemCPUs '{}': expected a list of CPUs and ascending ranges, such "
                      "as \"0-1,4\"",
                      printable(start.config.reserved_system_cpus)),
          write_cpus(first_core(start.machine))};
}

StartAdvice reserve_known_resources(const FailedStart& start) {
  constexpr std::array<std::string_view, 4> kKnown = {"cpu", "memory", "ephemeral-storage", "pid"};
  const auto write_known = [&](std::string_view field, Texts amounts) {
    std::erase_if(amounts, [&](const auto& one) {
      return std::find(kKnown.begin(), kKnown.end(), one.first) == kKnown.end();
    });
    return write_map(field, amounts);
  };
  return {fmt::format("kubeReserved and systemReserved take {}", fmt::join(kKnown, ", ")),
          write_known("kubeReserved", start.config.kube_reserved) + ", " +
              write_known("systemReserved", start.config.system_reserved)};
}

}  // namespace pinfold
