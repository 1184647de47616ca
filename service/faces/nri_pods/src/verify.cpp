#include "verify.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "inverse.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "pinfold/decide/linux_resources.hpp"
#include "pinfold/nri_pods/qos_of_cgroup.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::nri {
namespace {

/// The announced resources of a container or of the pod as a whole.
struct Announced {
  const ResourceList& requests;
  const ResourceList& limits;
};

tl::unexpected<Error> differs(std::string_view path, const Quantity& value, std::string_view what,
                              std::int64_t gives, std::int64_t shown) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: '{}': gives {} {}, but the kubelet has set {}", path,
                          value.to_string(), what, gives, shown));
}

Result<void> verify_cpu(const Announced& announced, const api::LinuxCPU& shown,
                        std::string_view path) {
  const Quantity limit = amount_of(announced.limits, "cpu");
  const auto request = announced.requests.find("cpu");
  const Quantity shared = request == announced.requests.end() ? limit : request->second;
  const std::uint64_t shares = cpu_shares(shared.milli_value());
  if (shares != shown.shares().value()) {
    return differs(fmt::format("{}: requests.cpu", path), shared, "CPU shares of",
                   static_cast<std::int64_t>(shares),
                   static_cast<std::int64_t>(shown.shares().value()));
  }
  // Without a period the kubelet enforces no quota; a negative quota means that CPUs are exclusive.
  const std::uint64_t period = shown.period().value();
  if (period == 0 || shown.quota().value() < 0) return {};
  const bool is_period = period >= kMinPeriodUs && period <= kMaxPeriodUs;
  const std::int64_t quota = is_period ? cpu_quota(limit.milli_value(), period) : -1;
  if (quota == shown.quota().value()) return {};
  return differs(fmt::format("{}: limits.cpu", path), limit, "a CFS quota in us of", quota,
                 shown.quota().value());
}

Result<void> verify_memory(const Announced& announced, const api::LinuxMemory& shown,
                           std::string_view path) {
  const Quantity limit = amount_of(announced.limits, "memory");
  if (limit.value() == shown.limit().value()) return {};
  return differs(fmt::format("{}: limits.memory", path), limit, "a limit in bytes of",
                 limit.value(), shown.limit().value());
}

/// Runtimes can leave out all limits of huge pages.
Result<void> verify_huge_pages(const Announced& announced, const api::LinuxResources& shown,
                               std::string_view path) {
  if (shown.hugepage_limits().empty()) return {};
  std::map<std::string, std::uint64_t, std::less<>> limits;
  for (const api::HugepageLimit& page : shown.hugepage_limits()) {
    if (const auto name = huge_page_resource(page.page_size())) limits[*name] = page.limit();
  }
  for (const auto& [name, quantity] : announced.limits) {
    if (is_huge_page_resource(name)) limits.try_emplace(name, 0);
  }
  for (const auto& [name, limit] : limits) {
    const Quantity announced_limit = amount_of(announced.limits, name);
    if (static_cast<std::uint64_t>(announced_limit.value()) == limit) continue;
    return differs(fmt::format("{}: limits.{}", path, name), announced_limit, "a limit in bytes of",
                   announced_limit.value(), static_cast<std::int64_t>(limit));
  }
  return {};
}

}  // namespace

Result<void> verify_pod(const PodSpec& announced, const api::PodSandbox& sandbox,
                        const Premises& premises) {
  const auto qos = qos_of_cgroup(sandbox.linux().cgroup_parent(), announced.uid);
  if (!qos) {
    return fail_field("cgroup parent", sandbox.linux().cgroup_parent(),
                      "expected the cgroup that the kubelet makes for this pod");
  }
  const QosClass announced_qos = qos_class(announced, premises.gates);
  if (*qos != announced_qos) {
    return fail_field("QoS class", std::string(to_string(announced_qos)),
                      fmt::format("expected {}, the class of its cgroup", to_string(*qos)));
  }
  if (!sandbox.linux().has_pod_resources()) {
    return fail(ErrorCode::kInvalidArgument, "the runtime shows no pod_resources to compare with");
  }
  const ResourceList requests = total_requests(premises.gates, announced, Overhead::kLeaveOut);
  const ResourceList limits = total_limits(premises.gates, announced);
  const Announced total{requests, limits};
  const api::LinuxResources& shown = sandbox.linux().pod_resources();
  constexpr std::string_view kPath = "the whole pod";
  PINFOLD_TRY(verify_cpu(total, shown.cpu(), kPath));
  return verify_memory(total, shown.memory(), kPath);
}

Result<void> verify_container(const Container& announced, const Resources* of_pod,
                              const api::Container& shown, std::string_view path) {
  ResourceList limits = announced.resources.limits;
  if (of_pod != nullptr) {
    for (const auto& [name, quantity] : of_pod->limits) {
      if (is_native_resource(name) && amount_of(limits, name).is_zero()) limits[name] = quantity;
    }
  }
  const Announced effective{announced.resources.requests, limits};
  const api::LinuxResources& resources = shown.linux().resources();
  PINFOLD_TRY(verify_cpu(effective, resources.cpu(), path));
  PINFOLD_TRY(verify_memory(effective, resources.memory(), path));
  return verify_huge_pages(effective, resources, path);
}

}  // namespace pinfold::nri
