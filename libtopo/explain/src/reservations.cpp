#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "settings.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

/// Returns CPUs of a set, core by core from the last one, until there are `count` or no more.
CpuSet last_cores(const Machine& machine, const CpuSet& from, std::size_t count) {
  CpuSet taken;
  const auto& cores = machine.cores();
  for (auto core = cores.rbegin(); core != cores.rend() && taken.size() < count; ++core) {
    taken |= core->cpus & from;
  }
  return taken;
}

/// Returns the amount of a resource that a place lacks; zero if it has enough.
Quantity lack_of(const Missing& missing, const std::string& resource) {
  for (const Amounts& amounts : missing.amounts) {
    if (amounts.resource == resource) return amounts.needed;
  }
  return {};
}

/// Other values of reservedSystemCPUs.
class CpuReservations {
 public:
  explicit CpuReservations(const Failure& failure)
      : failure_(failure), reserved_(failure.node.cpu().reserved()) {}

  void add_to(std::vector<Setting>& all) const {
    if (!failure_.node.cpu().is_static()) return;
    const std::vector<Missing> places = find_missing(failure_);
    for (const Missing& place : places) add_moved(place, all);
    for (const Missing& place : places) add_smaller(place, all);
  }

 private:
  /// Returns the reserved CPUs to give to pods at a place.
  [[nodiscard]] CpuSet given_up(const Missing& place) const {
    const auto count =
        static_cast<std::size_t>(std::max<std::int64_t>(lack_of(place, "cpu").value(), 0));
    if (count == 0) return {};
    return last_cores(machine(), reserved_ & cpus_of(place), count);
  }

  /// Reserves as many CPUs elsewhere.
  void add_moved(const Missing& place, std::vector<Setting>& all) const {
    const CpuSet gone = given_up(place);
    if (place.numa_nodes.empty() || gone.empty()) return;
    const CpuSet free = failure_.state.cpu.default_set - reserved_ - cpus_of(place);
    const CpuSet instead = last_cores(machine(), free, gone.size());
    if (instead.size() < gone.size()) return;
    add((reserved_ - gone) | instead,
        fmt::format("{} fewer on {}", gone.size(), numa_nodes(place.numa_nodes)), all);
  }

  void add_smaller(const Missing& place, std::vector<Setting>& all) const {
    const CpuSet gone = given_up(place);
    if (gone.empty() || gone == reserved_) return;
    add(reserved_ - gone, fmt::format("{} fewer for the system", gone.size()), all);
  }

  void add(const CpuSet& cpus, const std::string& what, std::vector<Setting>& all) const {
    Setting& setting =
        all.emplace_back(Setting{fmt::format("reservedSystemCPUs: {} -> {} ({})",
                                             reserved_.to_string(), cpus.to_string(), what),
                                 failure_.node.config()});
    setting.config.reserved_system_cpus = cpus.to_string();
  }

  [[nodiscard]] CpuSet cpus_of(const Missing& place) const {
    if (place.numa_nodes.empty()) return machine().all_cpus();
    CpuSet cpus;
    for (const std::int32_t id : place.numa_nodes) {
      if (const auto at = machine().numa_position(NumaId{id})) cpus |= machine().cpus_of_numa(*at);
    }
    return cpus;
  }

  [[nodiscard]] const Machine& machine() const { return failure_.node.machine(); }

  const Failure& failure_;
  CpuSet reserved_;
};

/// Other values of reservedMemory, and smaller ones of what it has to add up to.
class MemoryReservations {
 public:
  explicit MemoryReservations(const Failure& failure)
      : failure_(failure), config_(failure.node.config()) {}

  void add_to(std::vector<Setting>& all) const {
    for (const Missing& place : find_missing(failure_)) {
      const Quantity lack = lack_of(place, kMemory);
      if (lack.sign() <= 0) continue;
      if (place.numa_nodes.size() == 1) add_moved(place.numa_nodes.front(), lack, all);
      if (failure_.why.reason == "OutOfmemory") add_smaller(lack, all);
    }
  }

 private:
  static constexpr const char* kMemory = "memory";

  /// Returns the amount of memory in a list of amounts; nullopt if it is absent or a percentage.
  static std::optional<Quantity> memory_in(const std::map<std::string, std::string>& amounts,
                                           const char* name) {
    const auto found = amounts.find(name);
    if (found == amounts.end()) return std::nullopt;
    const auto parsed = Quantity::parse(found->second);
    return parsed ? std::optional(*parsed) : std::nullopt;
  }

  /// Returns the memory reserved on a NUMA node.
  [[nodiscard]] Quantity reserved_on(std::int32_t numa_node) const {
    for (const MemoryReservation& one : config_.reserved_memory) {
      if (one.numa_node == numa_node) return memory_in(one.limits, kMemory).value_or(Quantity{});
    }
    return {};
  }

  /// A kubelet accepts no entry of zero.
  static void reserve(Config& config, std::int32_t numa_node, const Quantity& amount) {
    auto& all = config.reserved_memory;
    auto one = std::find_if(all.begin(), all.end(), [&](const MemoryReservation& reservation) {
      return reservation.numa_node == numa_node;
    });
    if (one == all.end()) one = all.insert(all.end(), MemoryReservation{numa_node, {}});
    one->limits[kMemory] = amount.to_string();
    if (amount.is_zero()) one->limits.erase(kMemory);
    if (one->limits.empty()) all.erase(one);
  }

  /// Reserves as much on the NUMA node that has the most free.
  void add_moved(std::int32_t from, const Quantity& lack, std::vector<Setting>& all) const {
    const Quantity here = reserved_on(from);
    const auto to = most_free(from);
    if (here < lack || !to) return;
    const Quantity there = reserved_on(*to);
    Setting& setting = all.emplace_back(Setting{
        fmt::format("reservedMemory: memory of NUMA node {} {} -> {}, of NUMA node {} {} -> {}",
                    from, here.to_string(), (here - lack).to_string(), *to, there.to_string(),
                    (there + lack).to_string()),
        config_});
    reserve(setting.config, from, here - lack);
    reserve(setting.config, *to, there + lack);
  }

  [[nodiscard]] std::optional<std::int32_t> most_free(std::int32_t except) const {
    std::optional<std::int32_t> best;
    Quantity most;
    for (const Amounts& amounts : failure_.amounts) {
      if (amounts.resource != kMemory) continue;
      for (const std::int32_t id : numa_ids({amounts})) {
        if (id == except || free_at(amounts, id) <= most) continue;
        best = id;
        most = free_at(amounts, id);
      }
    }
    return best;
  }

  /// Reserves less in one of the fields that are added up.
  void add_smaller(const Quantity& lack, std::vector<Setting>& all) const {
    add_smaller("kubeReserved", &Config::kube_reserved, lack, all);
    add_smaller("systemReserved", &Config::system_reserved, lack, all);
    if (!config_.eviction_hard) return;
    const auto now = memory_in(*config_.eviction_hard, kAvailable);
    if (!now || *now < lack) return;
    Setting setting{text("evictionHard", kAvailable, *now, *now - lack), config_};
    (*setting.config.eviction_hard)[kAvailable] = (*now - lack).to_string();
    if (follow(setting, lack)) all.push_back(std::move(setting));
  }

  void add_smaller(const char* field, std::map<std::string, std::string> Config::*amounts,
                   const Quantity& lack, std::vector<Setting>& all) const {
    const auto now = memory_in(config_.*amounts, kMemory);
    if (!now || *now < lack) return;
    Setting setting{text(field, kMemory, *now, *now - lack), config_};
    (setting.config.*amounts)[kMemory] = (*now - lack).to_string();
    if (follow(setting, lack)) all.push_back(std::move(setting));
  }

  /// Makes reservedMemory add up again; false if no NUMA node reserves that much.
  [[nodiscard]] bool follow(Setting& setting, const Quantity& lack) const {
    if (config_.reserved_memory.empty()) return true;
    for (const MemoryReservation& one : config_.reserved_memory) {
      const Quantity here = reserved_on(one.numa_node);
      if (here < lack) continue;
      reserve(setting.config, one.numa_node, here - lack);
      setting.text += fmt::format(", reservedMemory: memory of NUMA node {} {} -> {}",
                                  one.numa_node, here.to_string(), (here - lack).to_string());
      return true;
    }
    return false;
  }

  static std::string text(const char* field, const char* name, const Quantity& from,
                          const Quantity& to) {
    return fmt::format("{}: {} {} -> {}", field, name, from.to_string(), to.to_string());
  }

  static constexpr const char* kAvailable = "memory.available";

  const Failure& failure_;
  const Config& config_;
};

}  // namespace

std::vector<Setting> other_reservations(const Failure& failure) {
  std::vector<Setting> all;
  CpuReservations(failure).add_to(all);
  MemoryReservations(failure).add_to(all);
  return all;
}

}  // namespace pinfold::explain_detail
