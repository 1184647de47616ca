#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/api/profile.hpp"
#include "pinfold/base/result.hpp"

namespace pinfold {

/// Whether the kernel keeps other processes off exclusive CPUs; see docs/cgroups.md.
enum class Partition {
  kNone,      ///< "none"
  kRoot,      ///< "root": cpuset.cpus.partition "root"; cgroup v1: cpu_exclusive
  kIsolated,  ///< "isolated": "isolated"; cgroup v1: cpu_exclusive, and no load balancing
};
[[nodiscard]] std::string_view to_string(Partition partition);
[[nodiscard]] Result<Partition> parse_partition(std::string_view text);

/// Feature gates with their defaults in kubelet 1.36.
struct FeatureGates {
  bool pod_level_resources = true;                     // PodLevelResources
  bool pod_level_resource_managers = false;            // PodLevelResourceManagers
  bool cpu_manager_policy_alpha_options = false;       // CPUManagerPolicyAlphaOptions
  bool cpu_manager_policy_beta_options = true;         // CPUManagerPolicyBetaOptions
  bool topology_manager_policy_alpha_options = false;  // TopologyManagerPolicyAlphaOptions
  bool disable_cpu_quota_with_exclusive_cpus = true;   // DisableCPUQuotaWithExclusiveCPUs
  bool custom_cpu_cfs_quota_period = true;             // CustomCPUCFSQuotaPeriod
  bool in_place_pod_level_resources_vertical_scaling =
      true;  // InPlacePodLevelResourcesVerticalScaling
  bool in_place_pod_vertical_scaling_exclusive_cpus =
      false;  // InPlacePodVerticalScalingExclusiveCPUs
  /// PodLevelResourcesFixKubeletQOSClass, set by the profile: pod-level resources determine the QoS
  /// class only if they name an amount.
  bool pod_level_resources_fix_kubelet_qos_class = true;

  friend bool operator==(const FeatureGates&, const FeatureGates&) = default;
};

struct MemoryReservation {
  std::int32_t numa_node = 0;                 ///< OS id
  std::map<std::string, std::string> limits;  ///< resource name to quantity, as written

  friend bool operator==(const MemoryReservation&, const MemoryReservation&) = default;
};

/// The running kernel, on which the value of an option can depend. It is not part of the value of a
/// configuration: any two are equal.
struct KernelImage {
  std::optional<std::uint64_t> bytes;  ///< in memory; nullopt if unknown

  friend bool operator==(const KernelImage&, const KernelImage&) { return true; }
};

/// A systemReserved that a distribution sets if its file names none.
struct AddedReservation {
  std::string where;  ///< "a worker of Talos 1.8 or later"
  std::map<std::string, std::string> amounts;
};

/// The known facts about the complete configuration, if a distribution adds its own settings to
/// this one.
struct CompleteConfig {
  /// Where it is: "GKE adds its own settings, kubeReserved among them; ..."; "" if unknown.
  std::string advice = {};
  /// The candidates for an assumed reservation; none if nothing was assumed.
  std::vector<AddedReservation> reservations = {};
};

/// Where a configuration came from, for advice on it.
struct ConfigSources {
  CompleteConfig complete = {};
  /// The sources of each field, the decisive one last: files, and flags such as "--reserved-cpus".
  /// A field without an entry is set in the only file, or nowhere.
  std::map<std::string, std::vector<std::string>> of_field = {};
  bool is_of_flags = false;  ///< the kubelet has no file that an administrator could edit
};

/// The sources of a configuration and its copies. Not part of its value: any two are equal.
class SharedSources {
 public:
  SharedSources() = default;
  explicit SharedSources(ConfigSources sources)
      : sources_(std::make_shared<const ConfigSources>(std::move(sources))) {}
  [[nodiscard]] ConfigSources value() const { return sources_ ? *sources_ : ConfigSources(); }

  friend bool operator==(const SharedSources&, const SharedSources&) { return true; }

 private:
  std::shared_ptr<const ConfigSources> sources_;
};

/// The fields of KubeletConfiguration v1beta1 that affect placement, with their values as written.
/// Node::make checks them against the machine and reports the kubelet's own errors.
struct Config {
  std::string cpu_manager_policy = "none";
  std::map<std::string, std::string> cpu_manager_policy_options;
  std::string reserved_system_cpus;
  std::map<std::string, std::string> kube_reserved;
  std::map<std::string, std::string> system_reserved;
  /// Absent: the kubelet's default, memory.available 100Mi. Present: only the listed signals count.
  std::optional<std::map<std::string, std::string>> eviction_hard;
  std::string memory_manager_policy = "None";
  std::map<std::string, std::string> memory_manager_policy_options;  ///< proposed for 1.38
  KernelImage kernel_image;
  SharedSources sources;
  std::vector<MemoryReservation> reserved_memory;
  /// Of MemoryQoS; "": not set.
  std::string memory_reservation_policy;
  std::optional<double> memory_throttling_factor;
  std::string topology_manager_policy = "none";
  std::string topology_manager_scope = "container";
  std::map<std::string, std::string> topology_manager_policy_options;
  bool cpu_cfs_quota = true;
  std::string cpu_cfs_quota_period = "100ms";  ///< a Go duration
  /// The maximum number of pods on the node. DIFFERENCE: absent means no limit instead of 110,
  /// because a node without a kubelet has none.
  std::optional<std::int32_t> max_pods;
  std::int32_t pods_per_core = 0;  ///< 0: no limit
  /// As written; gates() returns the effective values of the known ones.
  std::map<std::string, bool> feature_gates;
  Profile profile = Profile::kFixed;
  Partition partition = Partition::kNone;
  // Fields that are only checked at start.
  std::string kube_reserved_cgroup;
  std::string system_reserved_cgroup;
  bool cgroups_per_qos = true;
  std::optional<bool> fail_cgroup_v1;  ///< failCgroupV1; its default depends on the version
  std::vector<std::string> enforce_node_allocatable = {"pods"};
  std::map<std::string, std::string> eviction_soft;
  std::map<std::string, std::string> eviction_soft_grace_period;
  std::map<std::string, std::string> eviction_minimum_reclaim;
  std::string cgroup_root;
  std::string system_cgroups;
  std::string swap_behavior;                  ///< memorySwap.swapBehavior
  std::int32_t image_gc_high_threshold = 85;  ///< imageGCHighThresholdPercent
  std::int32_t image_gc_low_threshold = 80;   ///< imageGCLowThresholdPercent
  /// For replays against a draft: accepts the options of closed drafts, which otherwise only the
  /// profile fixed knows.
  bool knows_draft_options = false;
  /// For explanations: decide without this quirk of the profile. Borrowed from quirk_table().
  const Quirk* without_quirk = nullptr;

  /// Returns the effective gates: the defaults, overridden by feature_gates. Ignores unknown names.
  [[nodiscard]] FeatureGates gates() const;
  /// Returns the setting of a gate in feature_gates: by its name or, for all gates of its stage
  /// that are not named, by AllBeta or AllAlpha. nullopt: nothing. Source:
  /// component-base/featuregate.
  [[nodiscard]] std::optional<bool> set_gate(std::string_view name, bool is_beta) const;
  /// Returns the quirks of the profile, except without_quirk.
  [[nodiscard]] Quirks quirks() const;

  friend bool operator==(const Config&, const Config&) = default;
};

/// A configuration with the warnings from reading it.
struct ParsedConfig {
  Config config;
  bool names_profile = false;  ///< the document names a profile
  /// "unknown field 'cpuManagerPolcy', did you mean 'cpuManagerPolicy'?"
  std::vector<std::string> warnings;
  /// The fields of the managers' policies whose values are unknown, because the document is only a
  /// part of a kubelet's configuration and leaves them out: "cpuManagerPolicy".
  std::vector<std::string> open_policies = {};
  /// The same for any document: a flag of the kubelet may set them.
  std::vector<std::string> unset_policies = {};
};

/// Reads a KubeletConfiguration. `apiVersion` and `kind` may be absent; if present they must match.
/// An unknown field is a warning, because a kubelet logs it and starts: it decodes strictly, then
/// again leniently. A value of a type that the kubelet rejects is an error, even in fields that
/// have no effect here. Pinfold's own settings, `profile` and `partition`, are members of the
/// top-level object `pinfold`. Errors: kInvalidArgument, "featureGates.X: 'yes': expected true or
/// false".
[[nodiscard]] Result<ParsedConfig> config_from_json(const nlohmann::json& document);
[[nodiscard]] Result<ParsedConfig> parse_config(std::string_view yaml_or_json);
/// Checks that a configuration which leaves policies `open` does not change those of `before`.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<void> check_policies(const std::vector<std::string>& open,
                                          const Config& before);
[[nodiscard]] nlohmann::json to_json(const Config& config);

}  // namespace pinfold
