#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/audit/observed.hpp"

/// Judges the observed node. Pure.
namespace pinfold::audit {

enum class Severity {
  kError,    ///< the kubelet's decision is not in effect, or its next start fails
  kWarning,  ///< in effect, but something uses exclusive CPUs, or is unknown
  kNote,     ///< good to know
};
[[nodiscard]] std::string_view to_string(Severity severity);

/// The object of a finding. Members that do not apply are empty.
struct Subject {
  std::string kind;  ///< "node", "kubelet", "file", "container", "process", "group", "irq"
  std::string name;  ///< "shop/web/app", "process 4711 (stress)"; for a file its path on the node
  std::optional<PodRef> pod = {};
  std::string container = {};     ///< its name
  std::string container_id = {};  ///< the runtime's
  std::optional<pid_t> pid = {};

  friend bool operator==(const Subject&, const Subject&) = default;
};

struct Finding {
  std::string kind;  ///< a word of docs/audit.md: "cpuset-differs"
  Severity severity = Severity::kError;
  Subject subject;
  std::string observed = {};  ///< "0-7"
  std::string expected = {};  ///< "2-3"
  std::string text;           ///< one sentence without the subject's name
  std::string command = {};   ///< the command that shows it; "": none
  std::string remedy = {};    ///< the command that fixes it on the node; "": none is known

  friend bool operator==(const Finding&, const Finding&) = default;
};

/// A container or sandbox, desired and observed.
struct AuditedContainer {
  std::string label;       ///< "shop/web/app"; UID and runtime id where names are unknown
  ContainerId id;          ///< the name is "" if no file names the container
  std::string runtime_id;  ///< "" if only the kubelet's files name it
  bool is_sandbox = false;
  bool is_running = false;
  CpuSet observed;                 ///< CPUs
  std::optional<CpuSet> expected;  ///< nullopt: any
  bool is_exclusive = false;       ///< `expected` has exclusive CPUs
  enforce::NodeSet observed_mems;
  std::optional<enforce::NodeSet> expected_mems;  ///< nullopt: any
  PodRef pod = {};

  friend bool operator==(const AuditedContainer&, const AuditedContainer&) = default;
};

/// Two containers that can run on the same CPUs, which are exclusive to the first.
struct Overlap {
  std::string owner;     ///< label
  std::string intruder;  ///< label
  CpuSet cpus;

  friend auto operator==(const Overlap&, const Overlap&) -> bool = default;
};

struct Report {
  std::vector<Finding> findings;             ///< the worst first
  std::vector<AuditedContainer> containers;  ///< by label
  std::vector<Overlap> overlaps;             ///< between running containers
  CpuSet exclusive;                          ///< all exclusive CPUs
  std::string cpu_policy;                    ///< of the state file; "" if unknown

  [[nodiscard]] std::size_t count(Severity severity) const;
};

[[nodiscard]] Report judge(const Observed& observed);
/// Fills only `containers`, `overlaps` and `exclusive`.
[[nodiscard]] Report judge_containers(const Observed& observed);

/// Returns the object that `pinfold audit -o json` prints: docs/audit.md.
[[nodiscard]] nlohmann::json to_json(const Report& report, const Observed& observed);

}  // namespace pinfold::audit
