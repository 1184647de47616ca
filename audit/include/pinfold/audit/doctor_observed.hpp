#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/audit/observed.hpp"
#include "pinfold/audit/tree.hpp"

/// The input of the checks in doctor.hpp, and how it is read.
namespace pinfold::audit {

struct DoctorOptions {
  std::string kubelet_dir = {};     ///< as in ObserveOptions
  std::string kubelet_config = {};  ///< as in ObserveOptions
  std::string state_dir = {};       ///< "": from the service's configuration, or its default
  std::string cgroup_root = {};     ///< "": from the service's configuration, or its default
};

/// A directory between a cgroup v2 mount and Pinfold's root, which is the last one.
struct ObservedDirectory {
  std::string path;
  std::optional<std::string> controllers = {};  ///< cgroup.controllers
  std::optional<std::string> subtree = {};      ///< cgroup.subtree_control
  bool is_writable = false;
};

struct ObservedCgroupSetup {
  std::vector<enforce::Mount> mounts = {};  ///< only of control groups
  std::string mounts_error = {};            ///< why they are unknown; "": they are known
  std::string root;                         ///< Pinfold's root; "": no cpusets
  /// The hierarchies of `root`, or the reason why it has none.
  std::vector<enforce::HierarchyRoot> hierarchies = {};
  std::string hierarchies_error = {};
  /// The existing directories from the mount of the cpusets to `root`; never empty if `root` is
  /// known.
  std::vector<ObservedDirectory> directories = {};
};

/// A group whose own values can withhold CPUs or memory from containers.
struct ObservedCpuset {
  enum class Role {
    kAbovePods,  ///< contains all pods of a kubelet, or Pinfold's root
    kOfClass,    ///< contains the pods of a QoS class without exclusive CPUs
    kOther,      ///< contains no pods
  };
  std::string directory;
  Role role = Role::kOther;
  /// Its own sets; nullopt: the same as its parent. On cgroup v1 a group always has its own.
  std::optional<CpuSet> cpus = {};
  std::optional<CpuSet> mems = {};
  std::string partition = {};  ///< "root", "isolated", "exclusive" (cgroup v1); "": none
  CpuSet held = {};            ///< of a partition: CPUs that other groups cannot use
};
struct ObservedCpusets {
  bool is_searched = false;  ///< false: no cpuset hierarchy was found
  enforce::CgroupVersion version = enforce::CgroupVersion::kV2;
  std::string mount = {};  ///< of the cpuset hierarchy
  CpuSet all_cpus = {};    ///< of its root
  CpuSet all_mems = {};
  std::vector<ObservedCpuset> groups = {};
};

/// Processes that may use only some of the machine's CPUs.
struct ObservedPinned {
  std::size_t count = 0;
  std::string example = {};  ///< "process 812 (db) on CPUs 0-1"
};

/// Whether the kernel has a feature, judged by its files; nullopt: they do not show it.
struct KernelFeatures {
  std::optional<bool> v2_cpusets = {};
  std::optional<bool> pidfd = {};
  std::optional<bool> openat2 = {};
  std::optional<bool> cgroup_kill = {};
  std::optional<bool> remote_partitions = {};  ///< partitions below groups that are not partitions

  friend bool operator==(const KernelFeatures&, const KernelFeatures&) = default;
};

/// The kernel's files without white space at the end; nullopt: missing or unreadable.
struct ObservedKernel {
  std::optional<std::string> release = {};         ///< "6.1.0-18-amd64"
  std::optional<std::string> command_line = {};    ///< /proc/cmdline
  std::optional<std::string> smt_control = {};     ///< "on", "off", "forceoff", "notsupported"
  std::optional<std::string> present = {};         ///< CPUs
  std::optional<std::string> offline = {};         ///< CPUs, including those that are not present
  std::optional<std::string> numa_balancing = {};  ///< "0" is off
  std::optional<std::string> isolated = {};        ///< CPUs, as the kernel parsed isolcpus=
  std::optional<std::string> nohz_full = {};       ///< CPUs, as the kernel parsed nohz_full=
  std::optional<std::string> irq_affinity = {};    ///< /proc/irq/default_smp_affinity, a mask
  CpuId last_cpu = {};                             ///< the last possible one; 0: unknown
  KernelFeatures features = {};
};

/// A systemd setting that decides where processes run: "AllowedCPUs" of "shop.slice".
struct SystemdSetting {
  std::string file;
  std::string unit;  ///< "system.conf" for systemd's own setting
  std::string key;
  std::string value;

  friend bool operator==(const SystemdSetting&, const SystemdSetting&) = default;
};

struct ObservedSystemd {
  std::vector<SystemdSetting> settings = {};
  bool has_service = false;  ///< pinfold.service is installed
  bool is_running = false;   ///< the machine was booted with systemd
  /// Delegate= by unit, its lists joined.
  std::map<std::string, std::string> delegates = {};
  /// CapabilityBoundingSet= by unit, its lists joined; a unit without it has every capability.
  std::map<std::string, std::string> capabilities = {};
};

/// Other programs that decide what runs where.
struct ObservedQuiet {
  std::set<std::string> programs = {};  ///< of irqbalance, tuned and chronyd, those that run
  bool irqbalance_listens = false;      ///< it has a socket
  std::string scheduler = {};           ///< of sched_ext; "": none
  bool has_crio = false;                ///< CRI-O is configured on the machine
  bool crio_limits_exec = false;        ///< and keeps executed commands on a container's first CPU
};

/// The barrier behind NRI: what `pinfold barrier install` writes.
struct ObservedBarrier {
  std::vector<std::string> places = {};  ///< "containerd", or files of hooks.d
  std::string fault = {};                ///< what is missing; "": nothing
};

/// Pinfold's own files.
struct ObservedService {
  std::string settings_error = {};                       ///< of agent.yaml; "": none
  bool has_nri = false;                                  ///< it pins the pods of a runtime
  std::string quiet = {};                                ///< the setting; "": not set
  std::optional<std::string> pod_resources_socket = {};  ///< nullopt: not set
  std::optional<std::string> containerd = {};  ///< config.toml; "" if only its directory exists
  uid_t user = 0;                              ///< the user who runs the check
  std::string state_dir;
  std::optional<FileStatus> state_status = {};  ///< nullopt: does not exist, or see `state_error`
  std::string state_error = {};
  std::map<std::string, FileStatus> state_files = {};  ///< by name
  std::map<std::string, std::string> unreadable = {};  ///< state files, with the error
  checkpoint::KubeletFiles files = {};
  bool has_journal = false;  ///< it is not empty
  std::string config_error = {};
  std::optional<Config> config = {};  ///< config.yaml in the state directory
  std::string socket;
  std::optional<FileStatus> socket_status = {};
  std::optional<pid_t> pid = {};  ///< the process of pinfold-serve
};

struct ObservedSystem {
  std::string root;  ///< see Tree::root
  std::optional<Machine> machine = {};
  std::string machine_error = {};
  std::optional<Machine> hwloc = {};  ///< the machine as hwloc sees it; only for this machine
  std::string hwloc_error = {};
  ObservedKernel kernel = {};
  ObservedCgroupSetup cgroups = {};
  ObservedCpusets cpusets = {};
  ObservedPinned pinned = {};
  ObservedQuiet quiet = {};
  ObservedBarrier barrier = {};
  std::string kubevirt = {};  ///< evidence of it: "process 77 (virt-handler)"; "": none
  ObservedSystemd systemd = {};
  ObservedKubelet kubelet = {};
  bool has_kubelet_config = false;  ///< its file exists, or the user names one
  ObservedService service = {};
  std::map<std::string, Problem> problems = {};
};

/// Reads all input of check_system. Writes nothing and runs no program.
[[nodiscard]] ObservedSystem observe_system(const Tree& tree, const DoctorOptions& options);

}  // namespace pinfold::audit
