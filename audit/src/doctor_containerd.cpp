#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "doctor_parts.hpp"

namespace pinfold::audit {
namespace {

constexpr std::string_view kSetting = "disable_hugetlb_controller";
constexpr const char* kFile = "/etc/containerd/config.toml";

std::string_view stripped(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// Returns true for the TOML line "disable_hugetlb_controller = false", with or without a comment.
bool passes_limits(std::string_view line) {
  line = stripped(line.substr(0, line.find('#')));
  if (!line.starts_with(kSetting)) return false;
  line = stripped(line.substr(kSetting.size()));
  return line.starts_with('=') && stripped(line.substr(1)) == "false";
}

bool passes_limits_of_huge_pages(std::string_view config) {
  while (!config.empty()) {
    const auto end = std::min(config.find('\n'), config.size());
    if (passes_limits(config.substr(0, end))) return true;
    config.remove_prefix(std::min(end + 1, config.size()));
  }
  return false;
}

bool has_huge_pages(const ObservedSystem& system) {
  if (!system.machine) return false;
  const auto& nodes = system.machine->numa_nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const NumaNode& node) {
    return std::any_of(node.hugepages.begin(), node.hugepages.end(),
                       [](const auto& pages) { return pages.second > 0; });
  });
}

}  // namespace

/// Checks that containerd passes the limits of huge pages on to plugins, which it does not do by
/// default. The memory policy Static needs them.
void check_containerd(const ObservedSystem& system, Checks& checks) {
  const ObservedService& service = system.service;
  const bool counts = service.has_nri && service.config &&
                      service.config->memory_manager_policy == "Static" && has_huge_pages(system);
  if (!counts || !service.containerd) return;
  if (passes_limits_of_huge_pages(*service.containerd)) {
    checks.push_back(
        {"containerd-huge-pages", CheckStatus::kOk, fmt::format("{} = false", kSetting)});
    return;
  }
  checks.push_back(
      {"containerd-huge-pages", CheckStatus::kWarning,
       fmt::format("'{}' leaves {} on, the default: pods with huge pages get no exclusive CPUs",
                   kFile, kSetting),
       "containerd passes on the limits of huge pages, because the memory policy is Static",
       fmt::format(
           "set '{} = false' in the CRI section of '{}', then: systemctl restart containerd",
           kSetting, kFile)});
}

}  // namespace pinfold::audit
