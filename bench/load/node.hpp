#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

/// A node under load: its files, its cgroups and its service.
namespace pinfold::load {

/// CPUs of the synthetic machine, on 4 NUMA nodes with 128 GiB each.
inline constexpr int kMachineCpus = 320;

/// A directory with the configuration of a node, and with the state and the sockets of its service.
struct LoadedNode {
  std::string programs;  ///< the directory of pinfold and pinfold-serve
  std::string directory;
  std::string cgroup_root;             ///< empty: nothing is enforced
  bool has_machine_of_its_own = true;  ///< otherwise the machine is discovered

  [[nodiscard]] std::string operator/(const std::string& file) const {
    return directory + "/" + file;
  }
  [[nodiscard]] std::string program() const { return programs + "/pinfold"; }
  /// Returns the options common to its service and the commands.
  [[nodiscard]] std::vector<std::string> options() const;
  /// Makes the directory and the configuration.
  void write_files() const;
};

/// Returns a directory below the root of the cpusets in which groups can be made. Throws Failure if
/// none can be made there, or no hierarchy has the cpuset controller.
[[nodiscard]] std::string writable_cgroup_root(const std::string& name);
/// Removes the groups of a root in every hierarchy.
void remove_groups(const std::string& cgroup_root);

/// Removes the groups of a node at the end.
class GroupsOf {
 public:
  explicit GroupsOf(const LoadedNode& node) : root_(node.cgroup_root) {}
  GroupsOf(const GroupsOf&) = delete;
  GroupsOf& operator=(const GroupsOf&) = delete;
  ~GroupsOf();

 private:
  std::string root_;
};

/// Resident memory in KiB, from /proc/PID/status.
struct Memory {
  double total = 0;  ///< VmRSS
  double anonymous = 0;
  double file = 0;  ///< programs, libraries
};

/// A `pinfold serve` with all its interfaces. It ends with this process.
class ServiceProcess {
 public:
  /// Returns when the service is ready.
  ServiceProcess(const LoadedNode& node, const std::string& metrics_address, int interval_s);
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;
  ~ServiceProcess();

  /// Stops the service. Throws Failure unless it exits normally.
  void stop();
  /// Returns the value of each sample that it serves over HTTP.
  [[nodiscard]] std::map<std::string, double> metrics() const;
  [[nodiscard]] Memory memory() const;
  /// Returns the CPU time of the service so far, in user and kernel mode; microseconds.
  [[nodiscard]] double cpu_us() const;

 private:
  [[nodiscard]] std::string log() const;
  void wait_until_ready() const;

  std::string log_file_;
  std::string metrics_host_;
  pid_t pid_ = -1;
};

}  // namespace pinfold::load
