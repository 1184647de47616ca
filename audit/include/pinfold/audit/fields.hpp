#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "pinfold/audit/doctor.hpp"
#include "pinfold/audit/findings.hpp"
#include "pinfold/audit/memory_binding.hpp"
#include "pinfold/audit/overlap_watch.hpp"
#include "pinfold/fields/types.hpp"

/// The documents of `pinfold audit` and `pinfold doctor`, and a part of `pinfold explain --memory`:
/// docs/json.md.
namespace pinfold::audit {

[[nodiscard]] std::span<const Severity> enumerators(Severity type);
[[nodiscard]] std::span<const CheckStatus> enumerators(CheckStatus type);
[[nodiscard]] std::span<const WatchEvent::Kind> enumerators(WatchEvent::Kind type);
[[nodiscard]] std::span<const BindingReason> enumerators(BindingReason type);

/// `pinfold audit -o json`: docs/audit.md.
struct AuditDocument {
  std::string root;
  Report report;
  ObservedKubelet kubelet;
  ObservedGroups cgroups;
};
[[nodiscard]] AuditDocument audit_document(const Report& report, const Observed& observed);

/// A line of `pinfold audit --watch -o json`.
struct WatchLine {
  WatchEvent::Kind kind = WatchEvent::Kind::kStarted;
  ContainerRef container;
  std::optional<ContainerRef> other;
  CpuSet cpus;
  std::optional<ContainerRef> after;
  std::optional<std::chrono::milliseconds> lasted;
  std::chrono::milliseconds at{0};
};
/// Containers by their label.
using LabelledContainers = std::map<std::string, ContainerRef>;
/// Adds the containers of a report.
void add_labels(const Report& report, LabelledContainers& containers);
[[nodiscard]] WatchLine watch_line(const WatchEvent& event, const LabelledContainers& containers,
                                   std::chrono::milliseconds at);

/// `pinfold doctor -o json`: docs/doctor.md.
struct DoctorDocument {
  std::string root;
  Checks checks;
};

void describe(fields::Fields& fields, AuditDocument& document);
void describe(fields::Fields& fields, Subject& subject);
void describe(fields::Fields& fields, Finding& finding);
void describe(fields::Fields& fields, AuditedContainer& container);
void describe(fields::Fields& fields, WatchLine& line);
void describe(fields::Fields& fields, Check& check);
void describe(fields::Fields& fields, BindingLimit& limit);
/// The members "mems" and "limits", which other types include.
void describe(fields::Fields& fields, MemoryBinding& binding);
void describe(fields::Fields& fields, DoctorDocument& document);

}  // namespace pinfold::audit
