#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/api/kubelet_flags.hpp"
#include "pinfold/audit/boot_parameters.hpp"
#include "pinfold/audit/container_names.hpp"
#include "pinfold/audit/group_names.hpp"
#include "pinfold/audit/pod_resources.hpp"
#include "pinfold/audit/problems.hpp"
#include "pinfold/audit/proc_files.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/mounts.hpp"
#include "pinfold/enforce/page_placement.hpp"
#include "pinfold/machine/machine.hpp"

/// Data read from a node. Read in observe.hpp, judged in findings.hpp.
namespace pinfold::audit {

/// Where the kubelet's files are.
struct ObserveOptions {
  std::string kubelet_dir = {};     ///< "": --root-dir of the running kubelet, or its default
  std::string kubelet_config = {};  ///< "": --config of the running kubelet, or its default
};

/// A warning from reading the kubelet's configuration.
struct ConfigWarning {
  std::string text;
  std::string file = {};  ///< the file that it is about; "": flags

  friend bool operator==(const ConfigWarning&, const ConfigWarning&) = default;
};

/// The kubelet: its process, and the files that it would read when it starts.
struct ObservedKubelet {
  std::optional<pid_t> pid;  ///< nullopt: no kubelet process
  std::string host = {};     ///< the program it is part of: "k3s server"; "": none
  KubeletFlags flags = {};   ///< of its process or, if it does not run, of its unit
  bool has_command = false;  ///< no kubelet runs, and its unit has the whole command line
  /// No kubelet runs and no unit for one was found, so an unknown program may start it with flags.
  bool may_have_flags = false;
  std::string root_dir;                ///< "/var/lib/kubelet"
  std::string config_path = {};        ///< "": no file
  std::string settings_path = {};      ///< the file that an administrator edits; "": `config_path`
  std::string unit = "kubelet";        ///< the systemd service that starts it
  std::string config_error = {};       ///< why the configuration is missing; "": it is not
  std::string config_error_file = {};  ///< the file with that error; "": the flags
  std::string unit_error = {};  ///< why `flags` may not be those of the next start; "": they are
  std::optional<Config> config = {};
  std::string config_text = {};  ///< the file, its drop-ins and the flags, as JSON
  std::vector<ConfigWarning> config_warnings = {};  ///< from reading them
  std::optional<Driver> driver = {};                ///< the configured one
  checkpoint::KubeletFiles files = {};
};

/// A group's CPU limit and how often it throttled.
struct ObservedLimit {
  enforce::CpuQuota quota = {};
  Throttled throttled = {};

  friend bool operator==(const ObservedLimit&, const ObservedLimit&) = default;
};

/// The group of a pod or a container, or one directly below a pod's group.
struct ObservedGroup {
  std::string path;       ///< relative to the mount
  std::string directory;  ///< absolute on the node
  KubeletGroup name;
  std::optional<ContainerName> container = {};  ///< its container, if a file names it
  CpuSet cpus = {};                             ///< where its processes may run
  enforce::NodeSet mems = {};
  bool has_sets = false;  ///< both sets could be read
  ObservedLimit limit = {};
  std::vector<pid_t> processes = {};  ///< for a container including the groups below
  std::optional<pid_t> init = {};     ///< the first process, from the runtime's own file
};

struct ObservedThread {
  pid_t tid = 0;
  CpuSet cpus;

  friend bool operator==(const ObservedThread&, const ObservedThread&) = default;
};

struct ObservedProcess {
  pid_t pid = 0;
  ProcStat stat;
  CpuSet cpus = {};                          ///< the CPUs it may run on
  std::vector<ObservedThread> threads = {};  ///< those with other CPUs than the process
  std::string group = {};                    ///< path in the cpuset hierarchy
  std::string pid_namespace = {};            ///< "" if unknown
  enforce::PagesByNode pages = {};           ///< only of processes in containers
};

/// An interrupt and the CPUs that handle it.
struct ObservedIrq {
  int number = 0;
  std::string name;
  CpuSet cpus;

  friend bool operator==(const ObservedIrq&, const ObservedIrq&) = default;
};

/// The control groups of a node.
struct ObservedGroups {
  std::optional<enforce::CgroupVersion> version;  ///< of the cpusets; nullopt: not mounted
  std::string mount;                              ///< of the cpuset hierarchy
  std::string cpu_mount = {};                     ///< of the hierarchy with CPU limits; "": none
  std::vector<std::string> roots = {};            ///< groups with all pods of a kubelet, relative
  std::vector<ObservedGroup> groups = {};         ///< by path
  /// CPU limits of the groups above pods, by path.
  std::map<std::string, ObservedLimit> limits = {};
};

struct Observed {
  std::string root;  ///< see Tree::root
  std::optional<Machine> machine = {};
  ObservedKubelet kubelet = {};
  ObservedGroups cgroups = {};
  /// The containers that have directories of the kubelet, by pod.
  std::map<PodUid, std::vector<std::string>> pod_directories = {};
  std::map<pid_t, ObservedProcess> processes = {};
  std::vector<ObservedIrq> irqs = {};
  Isolcpus isolcpus = {};
  /// nullopt: /proc/interrupts could not be read
  std::optional<Interrupts> interrupts = {};
  std::optional<PodResources> pod_resources = {};  ///< nullopt: not asked, or no answer
  std::map<std::string, Problem> problems = {};
};

}  // namespace pinfold::audit
