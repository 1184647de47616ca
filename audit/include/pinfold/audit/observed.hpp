#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/api/kubelet_flags.hpp"
#include "pinfold/audit/container_names.hpp"
#include "pinfold/audit/group_names.hpp"
#include "pinfold/audit/pod_resources.hpp"
#include "pinfold/audit/proc_files.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/mounts.hpp"
#include "pinfold/enforce/page_placement.hpp"
#include "pinfold/machine/machine.hpp"

/// What was read from a node, as values. Reading is in observe.hpp, judging in findings.hpp.
namespace pinfold::audit {

/// Files of one kind that could not be read, or not be understood.
struct Problem {
  std::string message;    ///< of the first file, which it names
  std::size_t count = 0;  ///< of the files

  friend bool operator==(const Problem&, const Problem&) = default;
};
/// Problems by kind of file and error, so that one cause is one problem.
class Problems {
 public:
  /// `kind`: the path without its variable parts, "/proc/PID/numa_maps".
  void add(const std::string& kind, const Error& error);
  [[nodiscard]] const std::map<std::string, Problem>& all() const { return problems_; }

 private:
  std::map<std::string, Problem> problems_;
};

/// The kubelet: what runs, and what it would read when it starts.
struct ObservedKubelet {
  std::optional<pid_t> pid;  ///< nullopt: no process of a kubelet
  std::string host = {};     ///< whose process it is: "k3s server"; "": its own
  KubeletFlags flags = {};
  std::string root_dir;            ///< "/var/lib/kubelet"
  std::string config_path = {};    ///< "": no file
  std::string settings_path = {};  ///< the file that an administrator edits; "": `config_path`
  std::string unit = "kubelet";    ///< the service of systemd that starts it
  std::string config_error = {};   ///< why there is no configuration; "": there is one
  std::optional<Config> config = {};
  std::string config_text = {};                   ///< the file, its drop-ins and the flags, as JSON
  std::vector<std::string> config_warnings = {};  ///< of reading them
  std::optional<Driver> driver = {};              ///< the configured one
  checkpoint::KubeletFiles files = {};
};

/// The limit of CPU time of a group, and what it has cost.
struct ObservedLimit {
  std::optional<CpuQuota> quota = {};  ///< nullopt: none
  Throttled throttled = {};

  friend bool operator==(const ObservedLimit&, const ObservedLimit&) = default;
};

/// A group of a pod, of a container, or right below a pod's.
struct ObservedGroup {
  std::string path;       ///< relative to the mount
  std::string directory;  ///< absolute on the node
  KubeletGroup name;
  std::optional<ContainerName> container = {};  ///< who it is, if a file says so
  CpuSet cpus = {};                             ///< where its processes may run
  enforce::NodeSet mems = {};
  bool has_sets = false;  ///< the two sets could be read
  ObservedLimit limit = {};
  std::vector<pid_t> processes = {};  ///< of a container: those of groups below it, too
  std::optional<pid_t> init = {};     ///< the first process, by the runtime's own file
};

struct ObservedThread {
  pid_t tid = 0;
  CpuSet cpus;

  friend bool operator==(const ObservedThread&, const ObservedThread&) = default;
};

struct ObservedProcess {
  pid_t pid = 0;
  ProcStat stat;
  CpuSet cpus = {};                          ///< allowed ones
  std::vector<ObservedThread> threads = {};  ///< those with other CPUs than the process
  std::string group = {};                    ///< path in the hierarchy with the cpusets
  std::string pid_namespace = {};            ///< "" if unknown
  enforce::PagesByNode pages = {};           ///< of processes in containers only
};

/// An interrupt and the CPUs that it is sent to.
struct ObservedIrq {
  int number = 0;
  std::string name;
  CpuSet cpus;

  friend bool operator==(const ObservedIrq&, const ObservedIrq&) = default;
};

/// The control groups of a node.
struct ObservedGroups {
  std::optional<enforce::CgroupVersion> version;  ///< of the cpusets; nullopt: none is mounted
  std::string mount;                              ///< of the hierarchy with the cpusets
  std::string cpu_mount = {};                     ///< of that with the limits of CPU time; "": none
  std::vector<std::string> roots = {};            ///< with the pods of kubelets, relative
  std::vector<ObservedGroup> groups = {};         ///< by path
  /// The groups above pods that have a limit of CPU time, by path.
  std::map<std::string, ObservedLimit> limits = {};
};

struct Observed {
  std::string root;  ///< see Tree::root
  std::optional<Machine> machine = {};
  ObservedKubelet kubelet = {};
  ObservedGroups cgroups = {};
  /// The containers that the kubelet has directories for, by pod.
  std::map<PodUid, std::vector<std::string>> pod_directories = {};
  std::map<pid_t, ObservedProcess> processes = {};
  std::vector<ObservedIrq> irqs = {};
  /// nullopt: /proc/interrupts could not be read
  std::optional<Interrupts> interrupts = {};
  std::optional<PodResources> pod_resources = {};  ///< nullopt: not asked, or no answer
  std::map<std::string, Problem> problems = {};
};

}  // namespace pinfold::audit
