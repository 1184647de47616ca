#include "reservations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "request_change.hpp"
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

CpuSet last_cpus(CpuSet from, std::size_t count) {
  CpuSet taken;
  while (!from.empty() && taken.size() < count) {
    taken.insert(from.last());
    from.erase(from.last());
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

using NamedAmounts = std::map<std::string, std::string>;

/// Returns one of the named amounts; nullopt if it is absent or a percentage.
std::optional<Quantity> amount_in(const NamedAmounts& amounts, const char* name) {
  const auto found = amounts.find(name);
  if (found == amounts.end()) return std::nullopt;
  const auto parsed = Quantity::parse(found->second);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

std::string text_of(const char* field, const char* name, const Quantity& from, const Quantity& to) {
  return fmt::format("{}: {} {} -> {}", field, name, from.to_string(), to.to_string());
}

/// Rounds missing memory up to whole Mi, so that the new values are as people write them: a value
/// of digits only would need quotes in YAML.
Quantity rounded_up(const Quantity& lack) {
  constexpr std::int64_t kMi = std::int64_t{1} << 20U;
  const std::int64_t rest = lack.value() % kMi;
  const bool is_largest = lack.value() > std::numeric_limits<std::int64_t>::max() - kMi;
  return rest == 0 || is_largest ? lack : Quantity::bytes(lack.value() - rest + kMi);
}

/// Reserves less in a field whose amounts are added up with others; nullopt if it reserves less
/// than that.
std::optional<Setting> lowered(const Config& config, const char* field,
                               NamedAmounts Config::*amounts, const char* name,
                               const Quantity& lack) {
  const auto now = amount_in(config.*amounts, name);
  if (!now || *now < lack) return std::nullopt;
  Setting setting{text_of(field, name, *now, *now - lack), config};
  (setting.config.*amounts)[name] = (*now - lack).to_string();
  return setting;
}

/// Other values of reservedSystemCPUs, and smaller ones of what else determines how many there are.
class CpuReservations {
 public:
  explicit CpuReservations(const Failure& failure)
      : failure_(failure), reserved_(failure.node.cpu().reserved()) {}

  void add_to(std::vector<Setting>& all) const {
    const std::vector<Missing> places = find_missing(failure_);
    if (failure_.node.cpu().is_static()) {
      add_whole_cores(all);  // it leaves the system as many CPUs, and no half of a core unused
      for (const Missing& place : places) add_moved(place, all);
      for (const Missing& place : places) add_smaller(place, all);
    }
    for (const Missing& place : places) add_counts(lack_of(place, "cpu"), all);
  }

 private:
  /// Returns how many CPUs a place lacks.
  [[nodiscard]] static std::size_t count_of(const Missing& place) {
    return static_cast<std::size_t>(std::max<std::int64_t>(lack_of(place, "cpu").value(), 0));
  }

  [[nodiscard]] CpuSet reserved_at(const Missing& place) const {
    return reserved_ & cpus_of(place);
  }

  /// Reserves as many CPUs elsewhere.
  void add_moved(const Missing& place, std::vector<Setting>& all) const {
    const CpuSet gone = last_cores(machine(), reserved_at(place), count_of(place));
    if (place.numa_nodes.empty() || gone.empty()) return;
    const CpuSet free = failure_.state.cpu.default_set - reserved_ - cpus_of(place);
    CpuSet instead = last_cores(machine(), free, gone.size());
    if (instead.size() < gone.size()) return;
    instead = last_cpus(std::move(instead), gone.size());
    add((reserved_ - gone) | instead,
        fmt::format("{} fewer on {}", gone.size(), numa_nodes(place.numa_nodes)), all);
  }

  /// Whole cores first: the system disturbs a pod that has the other half of a core.
  void add_smaller(const Missing& place, std::vector<Setting>& all) const {
    const CpuSet here = reserved_at(place);
    for (const CpuSet& gone :
         {last_cores(machine(), here, count_of(place)), last_cpus(here, count_of(place))}) {
      if (gone.empty() || gone == reserved_) continue;
      add(reserved_ - gone, fmt::format("{} fewer reserved", gone.size()), all);
    }
  }

  /// Reserves as many CPUs in whole cores: full-pcpus-only gives no container the other half of a
  /// core.
  void add_whole_cores(std::vector<Setting>& all) const {
    if (!failure_.node.cpu().options().full_pcpus_only) return;
    CpuSet instead;
    for (const Machine::Group& core : machine().cores()) {
      const bool is_needed = instead.size() < reserved_.size() && core.cpus.intersects(reserved_);
      if (is_needed) instead |= core.cpus;
    }
    if (instead.size() != reserved_.size() || instead == reserved_) return;
    add(instead, "as many, in whole cores", all);
  }

  /// Without reservedSystemCPUs the sum of these is the number of reserved CPUs; under the CPU
  /// manager none it is what pods may not request.
  void add_counts(const Quantity& lack, std::vector<Setting>& all) const {
    if (lack.sign() <= 0) return;
    const Config& config = failure_.node.config();
    for (const auto& setting :
         {lowered(config, "kubeReserved", &Config::kube_reserved, "cpu", lack),
          lowered(config, "systemReserved", &Config::system_reserved, "cpu", lack)}) {
      if (setting) all.push_back(*setting);
    }
  }

  void add(const CpuSet& cpus, const std::string& what, std::vector<Setting>& all) const {
    const Config& config = failure_.node.config();
    const bool is_set = !config.reserved_system_cpus.empty();
    const std::string now = is_set ? reserved_.to_string()
                                   : fmt::format("not set ({} by count)", reserved_.to_string());
    Setting& setting = all.emplace_back(Setting{
        fmt::format("reservedSystemCPUs: {} -> {} ({})", now, cpus.to_string(), what), config});
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
      const Quantity lack = rounded_up(lack_of(place, kMemory));
      if (lack.sign() <= 0) continue;
      if (place.numa_nodes.size() == 1) add_moved(place.numa_nodes.front(), lack, all);
      add_smaller(place, lack, all);
    }
  }

 private:
  static constexpr const char* kMemory = "memory";

  /// Returns the memory reserved on a NUMA node.
  [[nodiscard]] Quantity reserved_on(std::int32_t numa_node) const {
    for (const MemoryReservation& one : config_.reserved_memory) {
      if (one.numa_node == numa_node) return amount_in(one.limits, kMemory).value_or(Quantity{});
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
  void add_smaller(const Missing& place, const Quantity& lack, std::vector<Setting>& all) const {
    add_following(lowered(config_, "kubeReserved", &Config::kube_reserved, kMemory, lack), place,
                  lack, all);
    add_following(lowered(config_, "systemReserved", &Config::system_reserved, kMemory, lack),
                  place, lack, all);
    const Quantity now = eviction_threshold();
    const Quantity to = rounded_down(kMemory, now - lack);
    add_following(evicted_later(now, to), place, now - to, all);
  }

  void add_following(std::optional<Setting> setting, const Missing& place, const Quantity& less,
                     std::vector<Setting>& all) const {
    if (setting && follow(*setting, place, less)) all.push_back(*std::move(setting));
  }

  /// Returns what evictionHard reserves, in bytes: a percentage depends on the machine.
  [[nodiscard]] Quantity eviction_threshold() const {
    Quantity rest = amount_of(failure_.node.reservation().amounts, kMemory);
    for (const NamedAmounts* const others : {&config_.kube_reserved, &config_.system_reserved}) {
      rest -= amount_in(*others, kMemory).value_or(Quantity{});
    }
    return Quantity::bytes(rest.value());
  }

  /// A kubelet accepts no threshold of zero.
  [[nodiscard]] std::optional<Setting> evicted_later(const Quantity& now,
                                                     const Quantity& to) const {
    if (!config_.eviction_hard || to.sign() <= 0) return std::nullopt;
    const auto written = config_.eviction_hard->find(kAvailable);
    if (written == config_.eviction_hard->end()) return std::nullopt;
    std::string from = readable(now, AmountRounding::kUp);
    if (written->second.ends_with('%')) from = fmt::format("{} ({})", written->second, from);
    Setting setting{fmt::format("evictionHard: {} {} -> {}", kAvailable, from, to.to_string()),
                    config_};
    (*setting.config.eviction_hard)[kAvailable] = to.to_string();
    return setting;
  }

  /// Makes reservedMemory add up again; false if no NUMA node of the place reserves that much.
  [[nodiscard]] bool follow(Setting& setting, const Missing& place, const Quantity& lack) const {
    if (config_.reserved_memory.empty()) return true;
    const auto& ids = place.numa_nodes;
    for (const MemoryReservation& one : config_.reserved_memory) {
      const bool is_here =
          ids.empty() || std::find(ids.begin(), ids.end(), one.numa_node) != ids.end();
      const Quantity reserved = reserved_on(one.numa_node);
      if (!is_here || reserved < lack) continue;
      reserve(setting.config, one.numa_node, reserved - lack);
      setting.text +=
          fmt::format(", reservedMemory: memory of NUMA node {} {} -> {}", one.numa_node,
                      reserved.to_string(), (reserved - lack).to_string());
      return true;
    }
    return false;
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
