#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "irqbalance.hpp"
#include "knob_file.hpp"
#include "open_files.hpp"
#include "partition_file.hpp"
#include "pinfold/quiet/knob_store.hpp"
#include "systemd_units.hpp"

namespace pinfold::quiet {
namespace {

constexpr const char* kInterrupts = "/proc/irq";
constexpr const char* kAffinity = "smp_affinity_list";
constexpr const char* kWorkqueues = "/sys/devices/virtual/workqueue";
constexpr const char* kNetwork = "/sys/class/net";
constexpr const char* kEveryWorkqueue = "*";
constexpr std::string_view kAllowed = "Cpus_allowed_list:\t";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Splits "eth0/rx-0" at its slash.
std::pair<std::string_view, std::string_view> split_queue(std::string_view name) {
  const std::size_t slash = name.find('/');
  return {name.substr(0, slash), slash == std::string_view::npos ? "" : name.substr(slash + 1)};
}

std::string_view process_of(std::string_view thread) { return thread.substr(0, thread.find(' ')); }

/// Returns the value of a line of /proc/PID/status; "" if it has none.
std::string line_after(const std::string& status, std::string_view key) {
  const std::size_t at = status.find(key);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + key.size();
  return status.substr(begin, status.find('\n', begin) - begin);
}

/// Returns whether the kernel lets a thread have other CPUs: flags without PF_NO_SETAFFINITY.
bool may_move(const std::string& stat) {
  constexpr std::uint64_t kFixed = 0x04000000;
  constexpr int kFlags = 7;  // after the name
  std::size_t at = stat.rfind(')');
  for (int i = 0; i < kFlags && at != std::string::npos; ++i) at = stat.find(' ', at + 1);
  if (at == std::string::npos) return false;
  std::uint64_t flags = kFixed;
  (void)std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), flags);
  return (flags & kFixed) == 0;
}

/// Returns whether a thread with this /proc/PID/cgroup works for one group, as vhost does for its
/// virtual machine: the thread is part of the group, and can have no CPUs but the group's. The root
/// is "/", and "/.." in a cgroup namespace.
bool works_for_group(std::string_view groups) {
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
    const std::size_t path = line.find('/');
    if (path != std::string_view::npos &&
        line.find_first_not_of("/.", path) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

/// Returns whether a machine can have hundreds of files of this kind.
bool stays_open(KnobKind kind) {
  return kind == KnobKind::kInterrupt || kind == KnobKind::kReceive || kind == KnobKind::kTransmit;
}

class KernelKnobs final : public KnobStore {
 public:
  explicit KernelKnobs(std::string root)
      : root_(std::move(root)), partitions_(root_), irqbalance_(root_) {}

  void prepare() const override;
  [[nodiscard]] Result<void> read(KnobKind kind, KnobValues& values) const override;
  [[nodiscard]] Result<std::string> read_one(const Knob& knob) const override;
  [[nodiscard]] Result<std::string> read_effective(const Knob& knob) const override;
  [[nodiscard]] Result<void> write(const Knob& knob, const std::string& value) override;

 private:
  [[nodiscard]] std::vector<std::string> names_of(KnobKind kind) const;
  [[nodiscard]] std::vector<std::string> queues(std::string_view prefix) const;
  [[nodiscard]] std::vector<std::string> kernel_threads() const;
  [[nodiscard]] std::optional<std::string> movable_thread(const std::string& id) const;
  [[nodiscard]] std::string path_of(const Knob& knob) const;
  [[nodiscard]] Result<std::string> read_file_of(const Knob& knob) const;
  [[nodiscard]] Result<std::string> read_irqbalance() const;
  [[nodiscard]] Result<void> move_thread(const Knob& knob, const CpuSet& cpus) const;
  [[nodiscard]] Result<void> write_file(const Knob& knob, const std::string& value);
  [[nodiscard]] Result<void> write_unit(const std::string& unit, const CpuSet& cpus);

  std::string root_;
  /// The unit that systemd has not answered for since the units were last read; "": none. Each
  /// question to a silent systemd makes a container wait.
  mutable std::string unanswered_;
  PartitionWriter partitions_;
  mutable OpenFiles files_;
  mutable Irqbalance irqbalance_;
};

/// Returns the queues of network devices that are hardware, or look like it to this machine.
std::vector<std::string> KernelKnobs::queues(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const std::string& device : names_in(root_ + kNetwork)) {
    const std::string directory = fmt::format("{}{}/{}", root_, kNetwork, device);
    if (names_in(directory + "/device").empty()) continue;
    for (const std::string& queue : names_in(directory + "/queues")) {
      if (queue.starts_with(prefix)) found.push_back(fmt::format("{}/{}", device, queue));
    }
  }
  return found;
}

/// Returns "12 kswapd0" for a thread that may move; nullopt for any other.
std::optional<std::string> KernelKnobs::movable_thread(const std::string& id) const {
  const auto stat = read_value(fmt::format("{}/proc/{}/stat", root_, id));
  if (!stat || !may_move(*stat)) return std::nullopt;
  const auto groups = read_value(fmt::format("{}/proc/{}/cgroup", root_, id));
  if (groups && works_for_group(*groups)) return std::nullopt;
  const auto name = read_value(fmt::format("{}/proc/{}/comm", root_, id));
  return name ? std::optional(fmt::format("{} {}", id, *name)) : std::nullopt;
}

/// Returns the children of kthreadd that may move: "12 kswapd0". Those that begin later have the
/// CPUs that the kernel gives them, and are moved by the next reconciliation.
std::vector<std::string> KernelKnobs::kernel_threads() const {
  const std::string children = read_value(root_ + "/proc/2/task/2/children").value_or("");
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin < children.size();) {
    const std::size_t end = std::min(children.find(' ', begin), children.size());
    const std::string id = children.substr(begin, end - begin);
    begin = end + 1;
    if (!is_number(id)) continue;
    if (auto thread = movable_thread(id)) found.push_back(*std::move(thread));
  }
  return found;
}

std::vector<std::string> KernelKnobs::names_of(KnobKind kind) const {
  switch (kind) {
    case KnobKind::kIrqbalance:
    case KnobKind::kNewInterrupts:
      return {""};
    case KnobKind::kInterrupt: {
      auto names = names_in(root_ + kInterrupts);
      std::erase_if(names, [](const std::string& name) { return !is_number(name); });
      return names;
    }
    case KnobKind::kReceive:
      return queues("rx-");
    case KnobKind::kTransmit:
      return queues("tx-");
    case KnobKind::kWorkqueue: {
      auto names = names_in(root_ + kWorkqueues);
      names.insert(names.begin(), kEveryWorkqueue);
      return names;
    }
    case KnobKind::kKernelThread:
      return kernel_threads();
    case KnobKind::kUnit:
      return system_units(root_);
    case KnobKind::kExclusive:
    case KnobKind::kPartition:
      break;
  }
  return {};  // those of any cgroup
}

/// Returns the text of the knob. Since Linux 6.8 the mask of all workqueues lacks the CPUs of
/// isolated partitions, which the kernel restores; the requested mask has a separate file.
Result<std::string> KernelKnobs::read_file_of(const Knob& knob) const {
  if (knob == Knob{KnobKind::kWorkqueue, kEveryWorkqueue}) {
    auto requested = read_value(fmt::format("{}{}/cpumask_requested", root_, kWorkqueues));
    if (requested) return requested;
  }
  return stays_open(knob.kind) ? files_.read(path_of(knob)) : read_value(path_of(knob));
}

std::string KernelKnobs::path_of(const Knob& knob) const {
  const auto [device, queue] = split_queue(knob.name);
  switch (knob.kind) {
    case KnobKind::kInterrupt:
      return fmt::format("{}{}/{}/{}", root_, kInterrupts, knob.name, kAffinity);
    case KnobKind::kNewInterrupts:
      return fmt::format("{}{}/default_smp_affinity", root_, kInterrupts);
    case KnobKind::kReceive:
      return fmt::format("{}{}/{}/queues/{}/rps_cpus", root_, kNetwork, device, queue);
    case KnobKind::kTransmit:
      return fmt::format("{}{}/{}/queues/{}/xps_cpus", root_, kNetwork, device, queue);
    case KnobKind::kWorkqueue:
      return knob.name == kEveryWorkqueue
                 ? fmt::format("{}{}/cpumask", root_, kWorkqueues)
                 : fmt::format("{}{}/{}/cpumask", root_, kWorkqueues, knob.name);
    case KnobKind::kKernelThread:
      return fmt::format("{}/proc/{}/status", root_, process_of(knob.name));
    case KnobKind::kExclusive:
      return fmt::format("{}{}/cpuset.cpus.exclusive", root_, knob.name);
    case KnobKind::kPartition:
    case KnobKind::kUnit:
    case KnobKind::kIrqbalance:
      break;
  }
  return "";
}

Result<std::string> KernelKnobs::read_irqbalance() const {
  PINFOLD_LET(const auto banned, irqbalance_.read_banned());
  return banned.to_string();
}

void KernelKnobs::prepare() const {
  KnobValues values;
  for (const KnobKind kind : enumerators(KnobKind())) {
    if (stays_open(kind)) (void)read(kind, values);
  }
}

Result<void> KernelKnobs::read(KnobKind kind, KnobValues& values) const {
  if (kind == KnobKind::kUnit) unanswered_.clear();
  for (std::string& name : names_of(kind)) {
    Knob knob{kind, std::move(name)};
    auto value = read_one(knob);
    if (value) {
      values[std::move(knob)] = *std::move(value);
    } else if (kind == KnobKind::kIrqbalance && value.error().code != ErrorCode::kNotFound) {
      return fail(std::move(value).error());
    }  // else a queue without a mask, or an interrupt that ended: no knob
  }
  return {};
}

Result<std::string> KernelKnobs::read_one(const Knob& knob) const {
  if (knob.kind == KnobKind::kIrqbalance) return read_irqbalance();
  if (knob.kind == KnobKind::kUnit) return read_unit_cpus(root_, knob.name);
  if (knob.kind == KnobKind::kPartition) return read_partition(root_ + knob.name);
  PINFOLD_LET(auto value, read_file_of(knob));
  return knob.kind == KnobKind::kKernelThread ? line_after(value, kAllowed) : value;
}

Result<std::string> KernelKnobs::read_effective(const Knob& knob) const {
  if (knob.kind != KnobKind::kInterrupt) return read_one(knob);
  const auto file = fmt::format("{}{}/{}/effective_affinity_list", root_, kInterrupts, knob.name);
  auto value = read_value(file);
  return value ? value : read_one(knob);  // some architectures have no such file
}

Result<void> KernelKnobs::move_thread(const Knob& knob, const CpuSet& cpus) const {
  const std::string_view id = process_of(knob.name);
  pid_t thread = 0;
  (void)std::from_chars(id.data(), id.data() + id.size(), thread);
  const auto name = read_value(fmt::format("{}/proc/{}/comm", root_, thread));
  if (!name || knob.name != fmt::format("{} {}", thread, *name)) {
    return fail(ErrorCode::kNotFound, fmt::format("{} has ended", to_string(knob)));
  }
  std::array<std::uint64_t, CpuSet::kMaxCpus / 64> words{};
  cpus.copy_words(words);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the system call wants it
  const auto* const mask = reinterpret_cast<const cpu_set_t*>(words.data());
  if (::sched_setaffinity(thread, sizeof words, mask) == 0) return {};
  return fail_errno(errno,
                    fmt::format("{}: set its CPUs to '{}'", to_string(knob), cpus.to_string()));
}

Result<void> KernelKnobs::write_file(const Knob& knob, const std::string& value) {
  if (!stays_open(knob.kind)) return write_value(path_of(knob), value);
  auto written = files_.write(path_of(knob), value);
  if (written || knob.kind != KnobKind::kInterrupt) return written;
  const int error = written.error().sys_errno;
  if (error != EIO && error != EPERM) return written;  // EPERM: seen with Linux 6.12
  return fail(Error{ErrorCode::kUnsupported, error,
                    fmt::format("{}: its driver manages it, or it belongs to one CPU: boot with "
                                "'isolcpus=managed_irq,CPUS'",
                                to_string(knob))});
}

Result<void> KernelKnobs::write_unit(const std::string& unit, const CpuSet& cpus) {
  if (!unanswered_.empty()) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("systemd: AllowedCPUs={} of '{}' is not set, because systemd has not "
                            "answered for '{}': the next reconciliation asks again",
                            cpus.to_string(), unit, unanswered_));
  }
  auto written = write_unit_cpus(root_, unit, cpus);
  if (!written && written.error().sys_errno == EAGAIN) unanswered_ = unit;
  return written;
}

Result<void> KernelKnobs::write(const Knob& knob, const std::string& value) {
  const bool is_list = knob.kind == KnobKind::kIrqbalance || knob.kind == KnobKind::kUnit ||
                       knob.kind == KnobKind::kKernelThread;
  if (knob.kind == KnobKind::kPartition) {
    PINFOLD_TRY_WRAP(partitions_.write(knob.name, value), to_string(knob));
    return {};
  }
  if (!is_list) return write_file(knob, value);
  PINFOLD_LET(const auto cpus, cpus_of(knob, value, {}));
  if (knob.kind == KnobKind::kUnit) return write_unit(knob.name, cpus);
  if (knob.kind == KnobKind::kKernelThread) return move_thread(knob, cpus);
  return irqbalance_.write_banned(cpus);
}

}  // namespace

std::unique_ptr<KnobStore> kernel_knobs(std::string root) {
  return std::make_unique<KernelKnobs>(std::move(root));
}

}  // namespace pinfold::quiet
