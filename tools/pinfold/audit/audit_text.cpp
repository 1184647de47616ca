#include "audit/audit_text.hpp"

#include <fmt/format.h>

#include "pinfold/text/message.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::tools {
namespace {

using audit::Severity;

Paint colour_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return Paint::kRed;
    case Severity::kWarning:
      return Paint::kYellow;
    case Severity::kNote:
      break;
  }
  return Paint::kDim;
}

std::string summary_line(const audit::Report& report, const audit::Observed& observed,
                         const Style& style) {
  const std::size_t errors = report.count(Severity::kError);
  const std::size_t warnings = report.count(Severity::kWarning);
  const std::size_t notes = report.count(Severity::kNote);
  const Paint colour = errors > 0 ? Paint::kRed : warnings > 0 ? Paint::kYellow : Paint::kGreen;
  const std::string counts = fmt::format("{}, {}, {}", counted(errors, "error"),
                                         counted(warnings, "warning"), counted(notes, "note"));
  return fmt::format("{}  {}\n", paint(style, colour, errors + warnings == 0 ? "OK" : counts),
                     errors + warnings == 0 ? fmt::format("{} ({})", escaped(observed.root + "/"),
                                                          counted(notes, "note"))
                                            : escaped(observed.root + "/"));
}

/// Returns "2, 1 with exclusive CPUs"; sandboxes do not count as containers.
std::string running_containers(const audit::Report& report) {
  std::size_t running = 0;
  std::size_t exclusive = 0;
  for (const audit::AuditedContainer& one : report.containers) {
    if (!one.is_running || one.is_sandbox) continue;
    ++running;
    if (one.is_exclusive) ++exclusive;
  }
  return fmt::format("{}, of which {} {} exclusive CPUs", running, exclusive,
                     exclusive == 1 ? "has" : "have");
}

std::string kubelet_process(const audit::ObservedKubelet& kubelet) {
  if (!kubelet.pid) return "not running";
  if (kubelet.host.empty()) return fmt::format("process {}", *kubelet.pid);
  return fmt::format("inside '{}' (process {})", escaped(kubelet.host), *kubelet.pid);
}

std::string context_lines(const audit::Report& report, const audit::Observed& observed) {
  const audit::ObservedKubelet& kubelet = observed.kubelet;
  const audit::ObservedGroups& groups = observed.cgroups;
  const char* const mode = !groups.version                                 ? "none"
                           : groups.version == enforce::CgroupVersion::kV2 ? "v2"
                                                                           : "v1";
  std::string out =
      fmt::format("kubelet: {}   CPU manager: {}   state: {}\n", kubelet_process(kubelet),
                  kubelet.config ? escaped(kubelet.config->cpu_manager_policy) : "unknown",
                  escaped(observed.root + kubelet.root_dir));
  out += fmt::format(
      "cgroups: {}   pods: {}\n", mode,
      groups.roots.empty() ? "none" : escaped(fmt::format("{}", fmt::join(groups.roots, ", "))));
  out += fmt::format("running containers: {}{}\n", running_containers(report),
                     report.exclusive.empty()
                         ? ""
                         : fmt::format("   exclusive CPUs: {}", report.exclusive.to_string()));
  return out;
}

std::string heading(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "Errors: a decision of the kubelet is not in effect, or its next start fails";
    case Severity::kWarning:
      return "Warnings: something takes time from exclusive CPUs, or cannot be checked";
    case Severity::kNote:
      break;
  }
  return "Notes";
}

}  // namespace

std::string audit_text(const audit::Report& report, const audit::Observed& observed,
                       const Style& style) {
  std::string out = summary_line(report, observed, style) + context_lines(report, observed);
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    if (report.count(severity) == 0) continue;
    out += fmt::format("\n{}\n", paint(style, Paint::kBold, heading(severity)));
    for (const audit::Finding& finding : report.findings) {
      if (finding.severity != severity) continue;
      out += fmt::format("  {}  {}\n    {}\n", paint(style, colour_of(severity), finding.kind),
                         escaped(finding.subject.name), escaped(finding.text));
      if (!finding.command.empty()) {
        out +=
            fmt::format("    {} {}\n", paint(style, Paint::kDim, "see:"), escaped(finding.command));
      }
      if (!finding.remedy.empty()) {
        out += fmt::format("    {} {}\n", paint(style, Paint::kDim, "remedy:"),
                           escaped(finding.remedy));
      }
    }
  }
  return out;
}

std::string watched_text(const audit::Report& report, std::chrono::milliseconds interval) {
  return fmt::format("watching every {} ms   running containers: {}\n", interval.count(),
                     running_containers(report));
}

std::string event_text(const audit::WatchEvent& event) {
  using Kind = audit::WatchEvent::Kind;
  const std::string after = event.after.empty() ? "since before the watch began"
                                                : fmt::format("after '{}' started", event.after);
  switch (event.kind) {
    case Kind::kStarted:
      return escaped(fmt::format("started   {}", event.container));
    case Kind::kEnded:
      return escaped(fmt::format("ended     {}", event.container));
    case Kind::kOverlaps:
      return escaped(fmt::format("overlaps  {}: '{}' can run on its {}, {}", event.container,
                                 event.other, cpus_named(event.cpus), after));
    case Kind::kCleared:
      break;
  }
  return escaped(fmt::format("cleared   {}: '{}' was able to run on its {} for {:.1f} s, {}",
                             event.container, event.other, cpus_named(event.cpus),
                             std::chrono::duration<double>(event.lasted).count(), after));
}

}  // namespace pinfold::tools
