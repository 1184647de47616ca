#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "pinfold/audit/group_names.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/enforce/mounts.hpp"
#include "temp_dir.hpp"

namespace pinfold::test {

enum class Runtime { kContainerd, kCrio, kDocker };

/// The setup of a node.
struct TreeKind {
  audit::Driver driver = audit::Driver::kSystemd;
  enforce::CgroupVersion version = enforce::CgroupVersion::kV2;
  Runtime runtime = Runtime::kContainerd;
};

/// The files of a node with 8 CPUs on two NUMA nodes, a kubelet with the static policy, and these
/// containers, as written by a kernel, a kubelet and a runtime:
///   shop/web/app     Guaranteed, CPUs 2-3 exclusively, process 1001
///   shop/db/postgres Guaranteed, CPUs 4-5 exclusively, process 1002
///   shop/log/agent   Burstable, in the shared pool 0-1,6-7, process 1003
/// Each has a sandbox (processes 2001 to 2003); a service runs on the reserved CPUs 0-1.
class KubeletTree {
 public:
  static constexpr const char* kWebUid = "11111111-aaaa-4000-8000-000000000001";
  static constexpr const char* kDbUid = "11111111-aaaa-4000-8000-000000000002";
  static constexpr const char* kLogUid = "11111111-aaaa-4000-8000-000000000003";

  explicit KubeletTree(TreeKind kind = {});

  [[nodiscard]] const TempDir& dir() const { return dir_; }
  [[nodiscard]] const std::string& path() const { return dir_.path(); }

  /// Return the groups, relative to the mount of the cpusets.
  [[nodiscard]] std::string pod_group(const std::string& uid, const std::string& qos) const;
  [[nodiscard]] std::string container_group(const std::string& pod_group,
                                            const std::string& id) const;
  [[nodiscard]] std::string web() const {
    return container_group(pod_group(kWebUid, ""), web_id());
  }
  [[nodiscard]] std::string log() const {
    return container_group(pod_group(kLogUid, "burstable"), log_id());
  }
  static std::string web_id() { return std::string(64, 'a'); }
  static std::string db_id() { return std::string(64, 'b'); }
  static std::string log_id() { return std::string(64, 'c'); }

  /// Writes a group with its sets and processes.
  void write_group(const std::string& group, const std::string& cpus, const std::string& mems,
                   const std::vector<pid_t>& processes) const;
  /// Writes a CPU limit and how often it throttled.
  void write_quota(const std::string& group, int quota_us, int throttled) const;
  /// Writes a process in a group. `space`: the number of its pid namespace.
  void write_process(pid_t pid, pid_t parent, const std::string& name, const std::string& cpus,
                     const std::string& group, int space = 1, unsigned flags = 0) const;
  void write_thread(pid_t pid, pid_t tid, const std::string& cpus) const;
  /// Writes the file in which the runtime names a container; if the container's name is "", a
  /// sandbox.
  void write_name(const std::string& id, const std::string& pod, const std::string& uid,
                  const std::string& container) const;
  /// Writes the kubelet's CPU state.
  void write_cpu_state(const CpuCheckpoint& state) const;
  [[nodiscard]] static CpuCheckpoint cpu_state();
  /// Removes the runtime's files that name containers.
  void remove_names() const;

 private:
  void write_machine() const;
  void write_kubelet() const;
  void write_pod(const std::string& pod, const std::string& uid, const std::string& qos,
                 const std::string& container, const std::string& id, const std::string& cpus,
                 pid_t process) const;

  TreeKind kind_;
  TempDir dir_;
};

}  // namespace pinfold::test
