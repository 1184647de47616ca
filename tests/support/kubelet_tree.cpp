#include "kubelet_tree.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/machine/machine.hpp"
#include "tree_builder.hpp"

namespace pinfold::test {
namespace {

using audit::Driver;
using enforce::CgroupVersion;

std::string cpuset_mount(CgroupVersion version) {
  return version == CgroupVersion::kV2 ? "sys/fs/cgroup" : "sys/fs/cgroup/cpuset";
}

/// Returns the prefix of a container's group; that of a monitor is not included.
std::string prefix_of(const TreeKind& kind) {
  switch (kind.runtime) {
    case Runtime::kContainerd:
      return kind.driver == Driver::kSystemd ? "cri-containerd-" : "";
    case Runtime::kDocker:
      return kind.driver == Driver::kSystemd ? "docker-" : "";
    case Runtime::kCrio:
      break;
  }
  return "crio-";
}

}  // namespace

KubeletTree::KubeletTree(TreeKind kind) : kind_(kind) {
  write_machine();
  write_kubelet();
  write_cpu_state(cpu_state());
  write_process(1, 0, "systemd", "0-1", "init.scope");
  write_process(50, 1, "sshd", "0-1", "system.slice/sshd.service");
  write_process(60, 2, "kworker/3:0", "3", "", 1, 0x04200000);  // bound to its CPU
  write_pod("web", kWebUid, "", "app", web_id(), "2-3", 1001);
  write_pod("db", kDbUid, "", "postgres", db_id(), "4-5", 1002);
  write_pod("log", kLogUid, "burstable", "agent", log_id(), "0-1,6-7", 1003);
}

std::string KubeletTree::pod_group(const std::string& uid, const std::string& qos) const {
  if (kind_.driver == Driver::kCgroupfs) {
    return fmt::format("kubepods{}{}/pod{}", qos.empty() ? "" : "/", qos, uid);
  }
  std::string name = uid;
  std::replace(name.begin(), name.end(), '-', '_');
  const std::string parent = qos.empty() ? "" : fmt::format("/kubepods-{}.slice", qos);
  return fmt::format("kubepods.slice{}/kubepods{}{}-pod{}.slice", parent, qos.empty() ? "" : "-",
                     qos, name);
}

std::string KubeletTree::container_group(const std::string& pod_group,
                                         const std::string& id) const {
  return fmt::format("{}/{}{}{}", pod_group, prefix_of(kind_), id,
                     kind_.driver == Driver::kSystemd ? ".scope" : "");
}

void KubeletTree::write_group(const std::string& group, const std::string& cpus,
                              const std::string& mems, const std::vector<pid_t>& processes) const {
  const bool is_v2 = kind_.version == CgroupVersion::kV2;
  const std::string directory = fmt::format("{}/{}", cpuset_mount(kind_.version), group);
  dir_.write(directory + "/cpuset.cpus", cpus + "\n");
  dir_.write(directory + "/cpuset.mems", mems + "\n");
  dir_.write(directory + (is_v2 ? "/cpuset.cpus.effective" : "/cpuset.effective_cpus"),
             cpus + "\n");
  dir_.write(directory + (is_v2 ? "/cpuset.mems.effective" : "/cpuset.effective_mems"),
             mems + "\n");
  dir_.write(directory + "/cgroup.procs",
             processes.empty() ? "" : fmt::format("{}\n", fmt::join(processes, "\n")));
}

void KubeletTree::write_quota(const std::string& group, int quota_us, int throttled) const {
  const bool is_v2 = kind_.version == CgroupVersion::kV2;
  const std::string directory =
      fmt::format("sys/fs/cgroup/{}{}", is_v2 ? "" : "cpu,cpuacct/", group);
  if (is_v2) {
    dir_.write(directory + "/cpu.max", fmt::format("{} 100000\n", quota_us));
  } else {
    dir_.write(directory + "/cpu.cfs_quota_us", fmt::format("{}\n", quota_us));
    dir_.write(directory + "/cpu.cfs_period_us", "100000\n");
  }
  dir_.write(directory + "/cpu.stat",
             fmt::format("nr_periods 1000\nnr_throttled {}\nthrottled_usec 5\n", throttled));
}

void KubeletTree::write_process(pid_t pid, pid_t parent, const std::string& name,
                                const std::string& cpus, const std::string& group, int space,
                                unsigned flags) const {
  const std::string directory = fmt::format("proc/{}", pid);
  dir_.write(directory + "/stat",
             fmt::format("{} ({}) S {} 0 0 0 -1 {} 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n", pid, name,
                         parent, flags));
  dir_.write(directory + "/status", fmt::format("Name:\t{}\nCpus_allowed_list:\t{}\n", name, cpus));
  dir_.write(directory + "/comm", name + "\n");
  dir_.write(directory + "/cmdline", name + std::string(1, '\0'));
  const bool is_v2 = kind_.version == CgroupVersion::kV2;
  dir_.write(directory + "/cgroup",
             is_v2 ? fmt::format("0::/{}\n", group)
                   : fmt::format("4:cpuset:/{0}\n3:cpu,cpuacct:/{0}\n0::/\n", group));
  dir_.write(directory + "/numa_maps", "");
  dir_.remove(directory + "/ns");
  std::filesystem::create_directories(dir_ / directory + "/ns");
  std::filesystem::create_symlink(fmt::format("pid:[{}]", 4026531835 + space),
                                  dir_ / directory + "/ns/pid");
  write_thread(pid, pid, cpus);
}

void KubeletTree::write_thread(pid_t pid, pid_t tid, const std::string& cpus) const {
  dir_.write(fmt::format("proc/{}/task/{}/status", pid, tid),
             fmt::format("Name:\tthread\nCpus_allowed_list:\t{}\n", cpus));
}

void KubeletTree::write_name(const std::string& id, const std::string& pod, const std::string& uid,
                             const std::string& container) const {
  const bool is_sandbox = container.empty();
  const auto write = [&](const std::string& path, const std::string& before, const char* name,
                         const char* of_pod, const char* kind, const char* value,
                         const std::string& after) {
    dir_.write(path, fmt::format(R"({0}{{"{1}":"{2}","{3}name":"{4}","{3}namespace":"shop",)"
                                 R"("{3}uid":"{5}","{6}":"{7}"}}{8})",
                                 before, name, container, of_pod, pod, uid, kind, value, after));
  };
  if (kind_.runtime == Runtime::kContainerd) {
    write(fmt::format("run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json", id),
          R"({"ociVersion":"1.1.0","annotations":)", "io.kubernetes.cri.container-name",
          "io.kubernetes.cri.sandbox-", "io.kubernetes.cri.container-type",
          is_sandbox ? "sandbox" : "container", "}");
  } else if (kind_.runtime == Runtime::kCrio) {
    write(fmt::format("run/containers/storage/overlay-containers/{}/userdata/config.json", id),
          R"({"ociVersion":"1.1.0","annotations":)", "io.kubernetes.container.name",
          "io.kubernetes.pod.", "io.kubernetes.cri-o.ContainerType",
          is_sandbox ? "sandbox" : "container", "}");
  } else {
    write(fmt::format("var/lib/docker/containers/{}/config.v2.json", id),
          R"({"ID":"x","Config":{"Labels":)", "io.kubernetes.container.name", "io.kubernetes.pod.",
          "io.kubernetes.docker.type", is_sandbox ? "podsandbox" : "container", "}}");
  }
}

void KubeletTree::remove_names() const {
  dir_.remove("run");
  dir_.remove("var/lib/docker");
}

void KubeletTree::write_cpu_state(const CpuCheckpoint& state) const {
  dir_.write("var/lib/kubelet/cpu_manager_state", checkpoint::encode_cpu(state, "static", false));
}

CpuCheckpoint KubeletTree::cpu_state() {
  CpuCheckpoint state;
  state.default_set = CpuSet{0, 1, 6, 7};
  state.assignments[{PodUid(kWebUid), "app"}] = CpuSet{2, 3};
  state.assignments[{PodUid(kDbUid), "postgres"}] = CpuSet{4, 5};
  return state;
}

void KubeletTree::write_machine() const {
  constexpr int kCpus = 8;
  MachineDescription machine;
  for (std::int32_t cpu = 0; cpu < kCpus; ++cpu) {
    const std::int32_t numa = cpu / 4;
    machine.cpus.push_back({CpuId{cpu}, CoreId{cpu}, SocketId{numa}, NumaId{numa}, CacheId{numa}});
  }
  for (const std::int32_t numa : {0, 1}) {
    machine.numa_nodes.push_back({NumaId{numa}, std::uint64_t{8} << 30U, {}, {}});
  }
  write_tree(dir_, machine, {});
  const bool is_v2 = kind_.version == CgroupVersion::kV2;
  if (is_v2) dir_.write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n");
  dir_.write("proc/irq/24/effective_affinity_list", "0\n");
  dir_.write("proc/irq/24/smp_affinity_list", "0-7\n");
  dir_.write("proc/interrupts",
             "           CPU0       CPU1       CPU2       CPU3\n"
             " 24:      77000          0          0          0   PCI-MSI 1-edge      eth0-rx-0\n"
             "NMI:          0          0          0          0   Non-maskable interrupts\n");
}

void KubeletTree::write_kubelet() const {
  write_process(100, 1, "kubelet", "0-1", "system.slice/kubelet.service");
  std::string command = "/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml -v 2";
  std::replace(command.begin(), command.end(), ' ', '\0');
  dir_.write("proc/100/cmdline", command + '\0');
  dir_.write("var/lib/kubelet/config.yaml",
             fmt::format("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                         "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\ncgroupDriver: {}\n",
                         to_string(kind_.driver)));
}

void KubeletTree::write_pod(const std::string& pod, const std::string& uid, const std::string& qos,
                            const std::string& container, const std::string& id,
                            const std::string& cpus, pid_t process) const {
  const std::string group = pod_group(uid, qos);
  write_group(group, "0-7", "0-1", {});
  const int space = process;
  const std::string sandbox(64, static_cast<char>(id.front() - 'a' + '1'));
  const pid_t pause = process + 1000;
  write_group(container_group(group, sandbox), "0-7", "0-1", {pause});
  write_process(pause, 1, "pause", "0-7", container_group(group, sandbox), space + 1000);
  write_name(sandbox, pod, uid, "");
  write_group(container_group(group, id), cpus, "0-1", {process});
  write_process(process, 1, container, cpus, container_group(group, id), space);
  write_name(id, pod, uid, container);
  dir_.write(fmt::format("var/lib/kubelet/pods/{}/containers/{}/0123abcd", uid, container), "");
}

}  // namespace pinfold::test
