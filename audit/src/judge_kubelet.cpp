#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "expectations.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/decide/config_effects.hpp"
#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/decide/start_advice.hpp"
#include "settings_places.hpp"

namespace pinfold::audit {
namespace {

Subject kubelet_subject() { return {"kubelet", "kubelet"}; }

checkpoint::ContainerIds runtime_ids(const Case& given) {
  checkpoint::ContainerIds ids;
  for (const Placed& placed : given.containers) {
    const AuditedContainer& container = placed.audited;
    if (!container.runtime_id.empty() && !container.id.name.empty()) {
      ids[container.runtime_id] = container.id;
    }
  }
  return ids;
}

/// Returns the command that shows the kubelet's settings in these places (see settings_places).
std::string show_config(const Observed& observed, const std::vector<std::string>& places) {
  std::string files;
  std::string unit;
  for (const std::string& place : places) {
    if (place.empty()) {
      unit = "systemctl cat " + observed.kubelet.unit;
    } else {
      files += fmt::format(" '{}{}'", observed.root, place);
    }
  }
  const bool has_both = !files.empty() && !unit.empty();
  return (files.empty() ? "" : "cat" + files) + (has_both ? "; " : "") + unit;
}

/// Why a kubelet would not start.
struct StartRefusal {
  std::string error;   ///< "": it would start
  std::string see;     ///< see Finding
  std::string remedy;  ///< see Finding
  friend auto operator<=>(const StartRefusal&, const StartRefusal&) = default;
};

/// Asks a kubelet with these decisions.
StartRefusal try_start(const Case& given, Profile profile) {
  const Observed& observed = given.observed;
  Config config = *observed.kubelet.config;
  config.profile = profile;
  config = with_judged_gates(std::move(config));
  const auto node = Node::make(*observed.machine, config);
  const auto answer =
      node ? checkpoint::would_start(*node, observed.kubelet.files, runtime_ids(given))
           : tl::expected<void, StartError>(tl::unexpected(node.error()));
  if (answer) return {};
  const auto advice = advise_start(*observed.machine, config, answer.error());
  const std::vector<AdviceStep> no_steps;
  const bool is_of_state = node && answer.error().stage != StartStage::kNodeAllocatable;
  const checkpoint::KubeletFiles files =
      is_of_state ? observed.kubelet.files : checkpoint::KubeletFiles();
  return {advice ? fmt::format("{}: {}", to_string(answer.error().stage),
                               describe(answer.error(), advice))
                 : checkpoint::cause_of(answer.error(), files),
          is_of_state ? fmt::format("pinfold checkpoint verify '{}{}'", observed.root,
                                    observed.kubelet.root_dir)
                      : show_config(observed, settings_places(observed.kubelet,
                                                              advice ? advice->steps : no_steps)),
          is_of_state ? repair_command(observed.kubelet) : ""};
}

/// Judges the next start. The running version is unknown without asking the kubelet, so all known
/// versions are tried.
void judge_start(const Case& given, std::vector<Finding>& findings) {
  const ObservedKubelet& kubelet = given.observed.kubelet;
  if (!kubelet.config || !given.observed.machine) return;
  std::map<StartRefusal, std::vector<std::string_view>> refusals;
  std::size_t asked = 0;
  std::size_t refusing = 0;
  for (const Profile profile : kProfiles) {
    if (profile == Profile::kFixed) continue;
    ++asked;
    StartRefusal refusal = try_start(given, profile);
    if (refusal.error.empty()) continue;
    ++refusing;
    refusals[std::move(refusal)].push_back(to_string(profile));
  }
  for (const auto& [refusal, profiles] : refusals) {
    const bool is_all = refusing == asked;
    findings.push_back({"start-refused", is_all ? Severity::kError : Severity::kWarning,
                        kubelet_subject(), refusal.error, "",
                        fmt::format("would not start again with these files ({}): {}",
                                    fmt::join(profiles, ", "), refusal.error),
                        refusal.see, refusal.remedy});
  }
}

/// Judges unknown settings in the configuration, and settings without effect.
void judge_config(const Case& given, std::vector<Finding>& findings) {
  const ObservedKubelet& kubelet = given.observed.kubelet;
  if (!kubelet.config) return;
  const auto add = [&](const char* name, Severity severity, const std::string& sentence,
                       const std::vector<std::string>& places) {
    const std::string& place = places.front();
    const Subject subject =
        place.empty() ? kubelet_subject() : Subject{"file", given.observed.root + place};
    findings.push_back(
        {name, severity, subject, "", "", sentence, show_config(given.observed, places)});
  };
  for (const auto& [warning, file] : kubelet.config_warnings) {
    add("config-warning", Severity::kWarning, warning, {place_of(kubelet, file)});
  }
  for (const std::string& sentence : settings_without_effect(*kubelet.config)) {
    add("config-effect", Severity::kNote, sentence, settings_places(kubelet, {}));
  }
}

void judge_files(const Case& given, std::vector<Finding>& findings) {
  const ObservedKubelet& kubelet = given.observed.kubelet;
  if (!kubelet.config) return;
  const auto judge = [&](bool is_static, bool exists, std::string_view name, const char* what) {
    if (!is_static || exists) return;
    const std::string path = fmt::format("{}/{}", kubelet.root_dir, name);
    findings.push_back({"state-missing",
                        Severity::kWarning,
                        {"file", given.observed.root + path},
                        "",
                        "",
                        fmt::format("is missing, although the policy is static: {}", what),
                        fmt::format("ls -l '{}{}'", given.observed.root, path)});
  };
  judge(kubelet.config->cpu_manager_policy == "static", kubelet.files.cpu.has_value(),
        checkpoint::kCpuFileName,
        "exclusive CPUs cannot be compared, and the kubelet forgets them at its next start");
  judge(kubelet.config->memory_manager_policy == "Static", kubelet.files.memory.has_value(),
        checkpoint::kMemoryFileName,
        "memory assignments cannot be compared, and the kubelet forgets them at its next start");
  const auto judge_read = [&](const auto& contents, const auto& decisions, std::string_view name,
                              const auto& inspect) {
    if (!contents || decisions) return;
    const std::string path = fmt::format("{}/{}", kubelet.root_dir, name);
    findings.push_back({"state-unreadable",
                        Severity::kError,
                        {"file", given.observed.root + path},
                        "",
                        "",
                        fmt::format("no kubelet reads it: {}", inspect(*contents).error().message),
                        fmt::format("pinfold checkpoint verify '{}{}'", given.observed.root, path),
                        repair_command(kubelet)});
  };
  judge_read(kubelet.files.cpu, given.decisions.cpu, checkpoint::kCpuFileName,
             checkpoint::inspect_cpu);
  judge_read(kubelet.files.memory, given.decisions.memory, checkpoint::kMemoryFileName,
             checkpoint::inspect_memory);
}

void judge_groups(const Case& given, std::vector<Finding>& findings) {
  const ObservedGroups& cgroups = given.observed.cgroups;
  const Subject node{"node", "cgroups"};
  if (!cgroups.version) {
    findings.push_back({"cgroups-missing", Severity::kError, node, "", "",
                        "no hierarchy with cpusets is mounted at /sys/fs/cgroup",
                        fmt::format("ls '{}/sys/fs/cgroup'", given.observed.root)});
    return;
  }
  if (cgroups.roots.empty()) {
    findings.push_back({"cgroups-missing", Severity::kNote, node, "", "",
                        "no group of a kubelet ('kubepods', 'kubepods.slice') exists",
                        fmt::format("ls '{}{}'", given.observed.root, cgroups.mount)});
  }
  const auto configured = given.observed.kubelet.driver;
  for (const std::string& root : cgroups.roots) {
    const auto driver = driver_of_root(root.substr(root.rfind('/') + 1));
    if (!configured || !driver || configured == driver) continue;
    findings.push_back(
        {"driver-differs",
         Severity::kWarning,
         {"group", root},
         std::string(to_string(*driver)),
         std::string(to_string(*configured)),
         fmt::format("belongs to the cgroup driver {}, but the kubelet is configured for {}: "
                     "perhaps left over from before a change",
                     to_string(*driver), to_string(*configured)),
         fmt::format("ls '{}{}/{}'", given.observed.root, cgroups.mount, root)});
  }
}

}  // namespace

void judge_kubelet(const Case& given, std::vector<Finding>& findings) {
  const ObservedKubelet& kubelet = given.observed.kubelet;
  if (!kubelet.pid) {
    findings.push_back({"kubelet-stopped", Severity::kWarning, kubelet_subject(), "", "",
                        "does not run: there is no process of this name, and none of k3s or "
                        "MicroK8s, which contain it",
                        "", fmt::format("systemctl start {}", kubelet.unit)});
  }
  if (!kubelet.config) {
    findings.push_back({"config-unreadable", Severity::kWarning, kubelet_subject(), "", "",
                        fmt::format("its configuration cannot be used, so its next start cannot be "
                                    "judged: {}",
                                    kubelet.config_error),
                        ""});
  }
  judge_config(given, findings);
  judge_groups(given, findings);
  judge_files(given, findings);
  judge_start(given, findings);
  for (const auto& [kind, problem] : given.observed.problems) {
    findings.push_back({"unreadable",
                        Severity::kWarning,
                        {"node", kind.substr(0, kind.find(": "))},
                        std::to_string(problem.count),
                        "",
                        problem.count == 1 ? problem.message
                                           : fmt::format("{} (and {} more like it)",
                                                         problem.message, problem.count - 1),
                        ""});
  }
}

}  // namespace pinfold::audit
