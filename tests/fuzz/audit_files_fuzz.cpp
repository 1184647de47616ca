#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/api/kubelet_flags.hpp"
#include "pinfold/api/kubelet_unit.hpp"
#include "pinfold/audit/boot_parameters.hpp"
#include "pinfold/audit/container_names.hpp"
#include "pinfold/audit/distributions.hpp"
#include "pinfold/audit/doctor_observed.hpp"
#include "pinfold/audit/group_names.hpp"
#include "pinfold/audit/pod_resources.hpp"
#include "pinfold/audit/proc_files.hpp"
#include "pinfold/text/unit_file.hpp"

/// The files that an audit reads. Each parser takes any bytes, and what it returns is in its
/// domain.
namespace pinfold::audit {
namespace {

void require(bool is_true) {
  if (!is_true) std::abort();
}

void read_names(std::string_view text) {
  if (const auto group = parse_group(text)) {
    require(!group->pod.value.empty());
    const bool has_id = group->role == GroupRole::kContainer || group->role == GroupRole::kMonitor;
    require(has_id == is_runtime_id(group->container));
  }
  if (const auto log = parse_log_name(text)) {
    require(is_runtime_id(log->id));
    require(!log->pod.empty() && !log->namespace_name.empty() && !log->container.empty());
  }
  for (const auto& name : {parse_bundle(text), parse_docker_config(text)}) {
    if (name) require(name->is_sandbox == name->container.empty());
  }
}

void read_kernel_files(std::string_view text) {
  if (const auto fields = split_proc_stat(text)) {
    require(fields->id.size() + fields->name.size() + fields->rest.size() < text.size());
    for (const std::size_t number : {3U, 4U, 9U, 39U, 1000U}) {
      require(fields->field(number).find(' ') == std::string_view::npos);
    }
  }
  const auto stat = parse_proc_stat(text);
  require(!stat || text.find(stat->name) != std::string_view::npos);
  require(status_value(text, "Tgid").find('\n') == std::string_view::npos);
  const auto cpus = parse_allowed_cpus(text);
  require(!cpus || !cpus->empty());
  (void)parse_throttled(text);
  const auto pids = parse_pids(text);
  for (std::size_t i = 0; i < pids.size(); ++i) {
    require(pids[i] > 0 && (i == 0 || pids[i - 1] < pids[i]));
  }
  const enforce::CpuQuota quota = parse_cpu_max(text);
  if (quota.quota_us) require(*quota.quota_us > 0 && quota.period_us > 0);
  const Interrupts interrupts = parse_interrupts(text);
  for (const auto& [irq, counts] : interrupts.counts) {
    require(irq >= 0 && counts.size() == interrupts.cpus.size());
  }
}

void read_command_line(std::string_view text) {
  const auto flags = kubelet_flags(parse_command_line(text));
  if (!flags) return;
  nlohmann::json config = nlohmann::json::object();
  for (const auto& [name, value] : *flags) require(name.starts_with("-"));
  (void)apply_flags(*flags, config);
  require(config.is_object());
  nlohmann::json merged = config;
  merge_config(merged, config);
  require(merged == config);
}

void require_flags(const KubeletFlags& flags) {
  for (const auto& [name, value] : flags) require(name.starts_with("--") && name.size() > 2);
}

/// The command lines with which k3s, RKE2, k0s and MicroK8s start a kubelet.
void read_distributions(std::string_view text) {
  const auto words = parse_command_line(text);
  if (const auto host = kubelet_host(words)) {
    require(host->distribution != nullptr && !host->title.empty());
    require(host->arguments.size() < words.size() + text.size());
  }
  const auto split = split_words(text);
  std::size_t size = 0;
  for (const std::string& word : split) size += word.size();
  require(size <= text.size());
  require(option_values(split, "--a").size() <= split.size());
  require_flags(flags_of_args(split));
  const auto from_file = flags_of_words(words_of_file(text, {{"SNAP_DATA", "/d"}}));
  for (const auto& [name, value] : from_file) require(name.starts_with("-"));
  RancherConfig config;
  merge_rancher(config, nlohmann::json::parse(text, nullptr, false));
  merge_rancher(config, split);
  require_flags(flags_of_args(config.kubelet_args));
}

void read_boot_files(std::string_view text) {
  for (const KernelParameter& one : parse_kernel_command_line(text)) {
    require(one.name.find_first_of("=\"") == std::string::npos);
    require(one.value.size() <= text.size());
  }
  constexpr CpuId kLast{255};
  const auto cpus = parse_boot_cpus(text, kLast);
  require(!cpus || cpus->empty() || cpus->last() <= kLast);
  const Isolcpus isolcpus = parse_isolcpus({std::string(text)}, kLast);
  require(isolcpus.is_accepted || (!isolcpus.domain && !isolcpus.managed_irq));
  const auto mask = parse_cpu_mask(text);
  require(!mask || !text.empty());
  const auto init = parse_init(text);
  require(!init || *init > 0);
}

bool is_trimmed(std::string_view text) { return trimmed(text) == text; }

void read_unit_file(std::string_view text) {
  for (const UnitSetting& one : parse_unit_file(text)) {
    require(!one.section.empty() && !one.key.empty());
    require(one.key.find_first_of("=\n") == std::string::npos);
    require(one.value.find('\n') == std::string::npos);
    require(is_trimmed(one.key) && is_trimmed(one.value));
  }
  std::size_t size = 0;
  for (const auto& [name, value] : parse_environment_file(text)) size += name.size() + value.size();
  require(size <= text.size());
}

/// Units with their environment file: the whole input is each of them.
void read_kubelet_unit(std::string_view text) {
  const std::string copy(text);
  const auto read = [&](const std::string& path) {
    require(path.starts_with('/'));
    return std::vector<std::string>{copy};
  };
  const FlagsText flags = flags_of_unit({copy, copy}, "kubelet.service", {read, true});
  require(flags.notes.empty());
  require(flags.hider.empty() || !flags.command.empty());
  for (const auto& [name, value] : flags.flags) require(name.starts_with("-"));
  (void)flags_of_environment(text);
}

}  // namespace
}  // namespace pinfold::audit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  pinfold::audit::read_names(text);
  pinfold::audit::read_kernel_files(text);
  pinfold::audit::read_command_line(text);
  pinfold::audit::read_unit_file(text);
  pinfold::audit::read_kubelet_unit(text);
  pinfold::audit::read_distributions(text);
  pinfold::audit::read_boot_files(text);
  (void)pinfold::audit::parse_pod_resources(text);
  return 0;
}
