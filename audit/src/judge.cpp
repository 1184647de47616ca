#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "expectations.hpp"
#include "pinfold/audit/findings.hpp"

namespace pinfold::audit {
namespace {

Report report_of(const Case& given) {
  Report report;
  for (const Placed& placed : given.containers) report.containers.push_back(placed.audited);
  report.overlaps = find_overlaps(given);
  report.exclusive = given.exclusive;
  if (given.decisions.cpu) report.cpu_policy = given.decisions.cpu->policy;
  return report;
}

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      break;
  }
  return "note";
}

std::size_t Report::count(Severity severity) const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const Finding& finding) { return finding.severity == severity; }));
}

Report judge_containers(const Observed& observed) { return report_of(make_case(observed)); }

Report judge(const Observed& observed) {
  const Case given = make_case(observed);
  Report report = report_of(given);
  std::vector<Finding>& findings = report.findings;
  judge_sets(given, findings);
  judge_overlaps(given, report.overlaps, findings);
  judge_pod_resources(given, findings);
  judge_processes(given, findings);
  judge_affinity(given, findings);
  judge_quotas(given, findings);
  judge_irqs(given, findings);
  judge_kubelet(given, findings);
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.severity, a.kind) < std::tie(b.severity, b.kind);
  });
  return report;
}

}  // namespace pinfold::audit
