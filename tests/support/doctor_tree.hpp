#pragma once

#include <string>

#include "kubelet_tree.hpp"

namespace pinfold::test {

/// A KubeletTree on cgroup v2 with the additional files that `pinfold doctor` reads, including
/// Pinfold's unit, settings and state directory, of a machine where every check is ok.
class DoctorTree {
 public:
  DoctorTree() {
    write("proc/1/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
    write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb\n");
    write("sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu memory hugetlb\n");
    write("proc/sys/kernel/osrelease", "6.12.9-amd64\n");
    write("proc/sys/kernel/numa_balancing", "0\n");
    write("proc/cmdline", "root=/dev/sda1 quiet\n");
    write("sys/devices/system/cpu/present", "0-7\n");
    write("sys/devices/system/cpu/offline", "8-63\n");  // possible, but not present
    write("sys/devices/system/cpu/smt/control", "notsupported\n");
    write("sys/devices/system/cpu/isolated", "\n");
    write("sys/devices/system/cpu/nohz_full", "  (null)\n");
    write("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n");
    write("sys/fs/cgroup/cpuset.mems.effective", "0-1\n");
    write("usr/lib/systemd/system/pinfold.service", "[Service]\nDelegate=cpuset cpu memory\n");
    write("usr/lib/systemd/system/system.slice", "[Slice]\nAllowedCPUs=0-1\n");
    write("etc/pinfold/agent.yaml", "stateDir: /srv/pinfold\n");
    write("srv/pinfold/config.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n");
  }

  void write(const std::string& name, const std::string& content) const {
    tree_.dir().write(name, content);
  }
  /// Writes the kubelet's configuration; `fields` omits its first lines.
  void write_config(const std::string& fields) const {
    write("var/lib/kubelet/config.yaml",
          "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + fields);
  }
  [[nodiscard]] const KubeletTree& tree() const { return tree_; }
  [[nodiscard]] const std::string& path() const { return tree_.path(); }

 private:
  KubeletTree tree_;
};

}  // namespace pinfold::test
