#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "pinfold/audit/findings.hpp"

namespace pinfold::audit {
namespace {

using nlohmann::json;

json or_null(const std::optional<CpuSet>& set) { return set ? json(set->to_string()) : json(); }

json kubelet_json(const ObservedKubelet& kubelet) {
  json out = {{"pid", kubelet.pid ? json(*kubelet.pid) : json()},
              {"inside", kubelet.host.empty() ? json() : json(kubelet.host)},
              {"rootDir", kubelet.root_dir},
              {"config", kubelet.config_path},
              {"cgroupDriver", kubelet.driver ? json(to_string(*kubelet.driver)) : json()}};
  if (!kubelet.config) return out;
  out["cpuManagerPolicy"] = kubelet.config->cpu_manager_policy;
  out["memoryManagerPolicy"] = kubelet.config->memory_manager_policy;
  out["topologyManagerPolicy"] = kubelet.config->topology_manager_policy;
  return out;
}

json cgroups_json(const ObservedGroups& cgroups) {
  json version;
  if (cgroups.version) version = cgroups.version == enforce::CgroupVersion::kV2 ? "v2" : "v1";
  return {{"mode", std::move(version)}, {"mount", cgroups.mount}, {"roots", cgroups.roots}};
}

json to_json(const AuditedContainer& container) {
  return {{"name", container.label},
          {"uid", container.id.pod.value},
          {"container", container.id.name},
          {"containerId", container.runtime_id},
          {"sandbox", container.is_sandbox},
          {"running", container.is_running},
          {"exclusive", container.is_exclusive},
          {"cpus", container.observed.to_string()},
          {"expectedCpus", or_null(container.expected)},
          {"mems", container.observed_mems.to_string()},
          {"expectedMems", or_null(container.expected_mems)}};
}

}  // namespace

json to_json(const Finding& finding) {
  json subject = {{"kind", finding.subject.kind}, {"name", finding.subject.name}};
  if (!finding.subject.pod_uid.empty()) subject["uid"] = finding.subject.pod_uid;
  if (!finding.subject.container_id.empty()) subject["containerId"] = finding.subject.container_id;
  if (finding.subject.pid) subject["pid"] = *finding.subject.pid;
  return {{"kind", finding.kind},          {"severity", to_string(finding.severity)},
          {"subject", std::move(subject)}, {"observed", finding.observed},
          {"expected", finding.expected},  {"message", finding.text},
          {"command", finding.command},    {"mend", finding.mend}};
}

json to_json(const Report& report, const Observed& observed) {
  json findings = json::array();
  for (const Finding& finding : report.findings) findings.push_back(to_json(finding));
  json containers = json::array();
  for (const AuditedContainer& container : report.containers) {
    containers.push_back(to_json(container));
  }
  const std::size_t errors = report.count(Severity::kError);
  const std::size_t warnings = report.count(Severity::kWarning);
  return {{"root", observed.root.empty() ? "/" : observed.root},
          {"ok", errors + warnings == 0},
          {"errors", errors},
          {"warnings", warnings},
          {"notes", report.count(Severity::kNote)},
          {"kubelet", kubelet_json(observed.kubelet)},
          {"cgroups", cgroups_json(observed.cgroups)},
          {"exclusiveCpus", report.exclusive.to_string()},
          {"containers", std::move(containers)},
          {"findings", std::move(findings)}};
}

}  // namespace pinfold::audit
