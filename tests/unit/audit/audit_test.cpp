#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "kubelet_tree.hpp"
#include "pinfold/audit/findings.hpp"
#include "pinfold/audit/observe.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"

namespace pinfold::audit {
namespace {

using enforce::CgroupVersion;
using test::KubeletTree;
using test::Runtime;
using test::TreeKind;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Observed observe_tree(const KubeletTree& tree) {
  const auto opened = Tree::open(tree.path());
  EXPECT_TRUE(opened) << opened.error().message;
  return observe(*opened, {});
}

Report audit(const KubeletTree& tree) { return judge(observe_tree(tree)); }

/// "error overlap shop/log/agent" for each finding.
std::vector<std::string> lines_of(const Report& report) {
  std::vector<std::string> lines;
  for (const Finding& finding : report.findings) {
    lines.push_back(fmt::format("{} {} {}: {}", to_string(finding.severity), finding.kind,
                                finding.subject.name, finding.text));
  }
  return lines;
}

const char* const kSandboxes =
    "note sandboxes sandboxes: 3 of them can run on exclusive CPUs 2-5: kubelets do not pin "
    "sandboxes, and their program only sleeps";

class AuditedNode : public testing::TestWithParam<TreeKind> {};

INSTANTIATE_TEST_SUITE_P(
    Nodes, AuditedNode,
    testing::Values(TreeKind{Driver::kSystemd, CgroupVersion::kV2, Runtime::kContainerd},
                    TreeKind{Driver::kCgroupfs, CgroupVersion::kV2, Runtime::kContainerd},
                    TreeKind{Driver::kSystemd, CgroupVersion::kV1, Runtime::kContainerd},
                    TreeKind{Driver::kCgroupfs, CgroupVersion::kV1, Runtime::kDocker},
                    TreeKind{Driver::kSystemd, CgroupVersion::kV2, Runtime::kDocker},
                    TreeKind{Driver::kSystemd, CgroupVersion::kV2, Runtime::kCrio},
                    TreeKind{Driver::kCgroupfs, CgroupVersion::kV1, Runtime::kCrio}));

TEST_P(AuditedNode, IsAsTheKubeletDecided) {
  const Report report = audit(KubeletTree(GetParam()));
  EXPECT_THAT(lines_of(report), ElementsAre(kSandboxes));
  std::vector<std::string> containers;
  for (const AuditedContainer& container : report.containers) {
    if (container.is_sandbox) continue;
    containers.push_back(fmt::format("{} {} {}", container.label, container.observed.to_string(),
                                     container.is_exclusive));
  }
  EXPECT_THAT(containers, ElementsAre("shop/db/postgres 4-5 true", "shop/log/agent 0-1,6-7 false",
                                      "shop/web/app 2-3 true"));
  EXPECT_EQ(report.exclusive, (CpuSet{2, 3, 4, 5}));
}

TEST_P(AuditedNode, NamesAContainerWithOtherCpus) {
  const KubeletTree tree(GetParam());
  tree.write_group(tree.web(), "2", "0-1", {1001});
  const Report report = audit(tree);
  EXPECT_THAT(lines_of(report),
              ElementsAre("error cpuset-differs shop/web/app: runs on CPU 2, but the "
                          "kubelet gave it CPUs 2-3 exclusively",
                          kSandboxes));
  EXPECT_EQ(report.findings[0].observed, "2");
  EXPECT_EQ(report.findings[0].expected, "2-3");
  EXPECT_THAT(report.findings[0].command, AllOf(HasSubstr(tree.path()), HasSubstr(tree.web())));
}

TEST_P(AuditedNode, NamesWhoOverlaps) {
  const KubeletTree tree(GetParam());
  tree.write_group(tree.log(), "0-2,6-7", "0-1", {1003});
  tree.write_process(1003, 1, "agent", "0-2,6-7", tree.log(), 1003);
  EXPECT_THAT(
      lines_of(audit(tree)),
      ElementsAre("error overlap shop/log/agent: can run on CPU 2, which 'shop/web/app' has "
                  "exclusively",
                  "warning cpuset-differs shop/log/agent: runs on CPUs 0-2,6-7, but its shared "
                  "pool is 0-1,6-7",
                  kSandboxes));
}

TEST_P(AuditedNode, NamesAQuotaThatThrottles) {
  const KubeletTree tree(GetParam());
  tree.write_quota(tree.web(), 200000, 17);
  EXPECT_THAT(
      lines_of(audit(tree)),
      ElementsAre(HasSubstr("warning quota shop/web/app: has exclusive CPUs and a quota of 200000 "
                            "us in 100000 us, which has throttled it in 17 periods"),
                  kSandboxes));
}

TEST_P(AuditedNode, NamesAContainerThatCannotUseAllItsCpus) {
  const KubeletTree tree(GetParam());
  tree.write_process(1001, 1, "app", "2", tree.web(), 1001);
  tree.write_process(1003, 1, "agent", "0-1", tree.log(), 1003);
  const Report report = audit(tree);
  EXPECT_THAT(lines_of(report),
              ElementsAre("warning affinity shop/web/app: the CPU affinity of its process 1001 "
                          "permits only CPU 2",
                          "note affinity shop/log/agent: the CPU affinity of its process 1003 "
                          "permits only CPUs 0-1",
                          kSandboxes));
  EXPECT_EQ(report.findings[0].observed, "2");
  EXPECT_EQ(report.findings[0].expected, "2-3");
  EXPECT_THAT(report.findings[0].command, HasSubstr("/proc/1001/status"));
  EXPECT_EQ(report.findings[0].remedy, "taskset -apc 0-4095 1001");
}

constexpr const char* kKind =
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

TEST(Audit, ThreadsThatShareTheCpusOutAreNoFinding) {
  const KubeletTree tree;
  tree.write_process(1001, 1, "app", "2", tree.web(), 1001);
  tree.write_thread(1001, 1021, "3");
  EXPECT_THAT(lines_of(audit(tree)), ElementsAre(kSandboxes));
}

/// The child is pinned on purpose. crun runs all processes in a subgroup "container".
TEST(Audit, OnlyTheMainProcessOfAContainerIsAskedForItsAffinity) {
  const KubeletTree tree;
  tree.write_group(tree.web(), "2-3", "0-1", {1001, 1011});
  tree.write_process(1001, 1, "app", "2-3", tree.web(), 1001);
  tree.write_process(1011, 1001, "worker", "3", tree.web(), 1001);
  EXPECT_THAT(lines_of(audit(tree)), ElementsAre(kSandboxes));
  tree.write_process(1001, 1, "app", "2", tree.web() + "/container", 1001);
  EXPECT_THAT(lines_of(audit(tree)), Contains(HasSubstr("warning affinity shop/web/app")));
}

TEST_P(AuditedNode, NamesAQuotaOfEveryGroupAbove) {
  const KubeletTree tree(GetParam());
  const std::string pod = tree.pod_group(KubeletTree::kWebUid, "");
  const std::string root = pod.substr(0, pod.find('/'));
  tree.write_quota(pod, 100000, 34);
  tree.write_quota(root, 300000, 0);
  tree.write_quota(tree.pod_group(KubeletTree::kLogUid, "burstable"), 50000, 9);  // permitted
  const Report report = audit(tree);
  EXPECT_THAT(lines_of(report),
              ElementsAre(HasSubstr("warning quota " + pod +
                                    ": contains 'shop/web/app', which has exclusive CPUs, and has "
                                    "a quota of 100000 us in 100000 us, which has throttled it in "
                                    "34 periods"),
                          HasSubstr("note quota " + root +
                                    ": contains 'shop/db/postgres' and 'shop/web/app', which have "
                                    "exclusive CPUs, and has a quota of 300000 us"),
                          kSandboxes));
  EXPECT_THAT(report.findings[0].remedy, HasSubstr(pod + "/cpu."));
  EXPECT_EQ(report.findings[0].subject.pod.value().uid.value, KubeletTree::kWebUid);
}

TEST_P(AuditedNode, FindsTheFirstProcessInAnotherGroup) {
  const KubeletTree tree(GetParam());
  const std::string id = KubeletTree::web_id();
  const char* const place = GetParam().runtime == Runtime::kContainerd
                                ? "run/containerd/io.containerd.runtime.v2.task/k8s.io/"
                            : GetParam().runtime == Runtime::kCrio
                                ? "run/containers/storage/overlay-containers/"
                                : "run/containerd/io.containerd.runtime.v2.task/moby/";
  tree.dir().write(
      place + id + (GetParam().runtime == Runtime::kCrio ? "/userdata/pidfile" : "/init.pid"),
      "1001");
  EXPECT_THAT(lines_of(audit(tree)), ElementsAre(kSandboxes));
  tree.write_group(tree.web(), "2-3", "0-1", {});
  tree.write_process(1001, 1, "app", "0-7", "agent", 1001);
  tree.write_process(1011, 1001, "worker", "0-7", "agent", 1001);
  const Report report = audit(tree);
  EXPECT_THAT(
      lines_of(report),
      ElementsAre(HasSubstr("error process-outside process 1001 (app): belongs to container "
                            "'shop/web/app' but is in the group '/agent'"),
                  HasSubstr("error process-outside process 1011 (worker): belongs to "
                            "container 'shop/web/app'"),
                  kSandboxes));
  EXPECT_THAT(report.findings[0].remedy,
              AllOf(HasSubstr("echo 1001 > '/sys/fs/cgroup/"), HasSubstr(id)));
}

TEST(Audit, DoesNotTakeAnotherProcessForTheFirstOne) {
  const KubeletTree tree;
  tree.dir().write(
      "run/containerd/io.containerd.runtime.v2.task/k8s.io/" + KubeletTree::web_id() + "/init.pid",
      "1001");
  tree.write_group(tree.web(), "2-3", "0-1", {});
  tree.write_process(1001, 1, "cron", "0-1", "system.slice/cron.service");  // a reused PID
  EXPECT_THAT(lines_of(audit(tree)), ElementsAre(kSandboxes));
  tree.write_process(90, 1, "containerd-shim", "0-1", "system.slice/containerd.service");
  tree.write_process(1001, 90, "app", "0-1", "agent");  // in the machine's PID namespace
  EXPECT_THAT(lines_of(audit(tree)), Contains(HasSubstr("process-outside process 1001 (app)")));
}

TEST(Audit, NamesAnEmptyContainerWhoseProcessIsUnknown) {
  const KubeletTree tree;
  tree.write_group(tree.web(), "2-3", "0-1", {});
  EXPECT_THAT(lines_of(audit(tree)),
              Contains(HasSubstr("warning container-empty shop/web/app: has exclusive CPUs but no "
                                 "process in its group")));
}

TEST(Audit, FindsAKubeletInsideAnotherProgram) {
  struct Row {
    const char* command;
    const char* file;
    const char* content;
    const char* host;
  };
  using namespace std::string_literals;
  for (const Row& row :
       {Row{"/usr/local/bin/k3s server", "etc/rancher/k3s/config.yaml",
            "kubelet-arg:\n  - cpu-manager-policy=static\n  - reserved-cpus=0-1\n", "k3s server"},
        Row{"/usr/local/bin/k3s agent", "etc/rancher/k3s/config.yaml.d/10.yaml",
            "kubelet-arg+: ['cpu-manager-policy=static', 'reserved-cpus=0-1']\n", "k3s agent"},
        Row{"/usr/local/bin/k3s agent", "etc/systemd/system/k3s-agent.service",
            "[Service]\nExecStart=/usr/local/bin/k3s \\\n    agent \\\n"
            "  '--kubelet-arg=cpu-manager-policy=static' '--kubelet-arg=reserved-cpus=0-1'\n",
            "k3s agent"},
        Row{"/usr/local/bin/k3s agent", "run/systemd/system/k3s-agent.service",
            "[Service]\nEnvironment=POLICY=static\nExecStart=/usr/local/bin/k3s agent "
            "--kubelet-arg=cpu-manager-policy=${POLICY} --kubelet-arg=reserved-cpus=0-1\n",
            "k3s agent"},
        Row{"/snap/microk8s/1/kubelite", "var/snap/microk8s/current/args/kubelet",
            "# flags\n--cpu-manager-policy=static\n--reserved-cpus=\"0-1\"\n"
            "--root-dir=/var/lib/kubelet\n--cgroup-driver=systemd\n",
            "kubelite"}}) {
    const KubeletTree tree;
    tree.dir().remove("var/lib/kubelet/config.yaml");
    tree.dir().write("proc/100/cmdline", row.command + "\0\0"s);
    tree.dir().write(row.file, row.content);
    const Observed observed = observe_tree(tree);
    EXPECT_EQ(observed.kubelet.pid, 100) << row.command;
    EXPECT_EQ(observed.kubelet.host, row.host);
    ASSERT_TRUE(observed.kubelet.config) << row.command << ": " << observed.kubelet.config_error;
    EXPECT_EQ(observed.kubelet.config->cpu_manager_policy, "static") << row.command;
    EXPECT_EQ(observed.kubelet.config->reserved_system_cpus, "0-1") << row.command;
    EXPECT_THAT(lines_of(judge(observed)), ElementsAre(kSandboxes)) << row.command;
    EXPECT_EQ(to_json(judge(observed), observed)["kubelet"]["inside"], row.host);
  }
}

TEST(Audit, KnowsWhatAStoppedKubeletOfADistributionWouldRead) {
  struct Row {
    const char* file;
    const char* content;
    const char* start;
  };
  for (const Row& row :
       {Row{"etc/rancher/rke2/config.yaml", "kubelet-arg: ['cpu-manager-policy=static']\n",
            "systemctl start rke2-server"},
        Row{"etc/rancher/k3s/config.yaml", "kubelet-arg: 'cpu-manager-policy=static'\n",
            "systemctl start k3s"},
        Row{"var/lib/k0s/kubelet-config.yaml",
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
            "cpuManagerPolicy: static\n",
            "systemctl start k0sworker"}}) {
    const KubeletTree tree;
    tree.dir().remove("proc/100");
    tree.dir().remove("var/lib/kubelet/config.yaml");
    tree.dir().write(row.file, row.content);
    const Observed observed = observe_tree(tree);
    EXPECT_FALSE(observed.kubelet.pid);
    ASSERT_TRUE(observed.kubelet.config) << row.file << ": " << observed.kubelet.config_error;
    EXPECT_EQ(observed.kubelet.config->cpu_manager_policy, "static") << row.file;
    const Report report = judge(observed);
    EXPECT_THAT(report.findings, Contains(Field(&Finding::remedy, row.start))) << row.file;
  }
}

/// kubespray, Bottlerocket, OpenShift.
TEST(Audit, KnowsTheFilesOfAStoppedKubelet) {
  for (const char* const file : {"etc/kubernetes/kubelet-config.yaml",
                                 "etc/kubernetes/kubelet/config", "etc/kubernetes/kubelet.conf"}) {
    const KubeletTree tree;
    tree.dir().remove("proc/100");
    tree.dir().remove("var/lib/kubelet/config.yaml");
    tree.dir().write(file, std::string(kKind) + "cpuManagerPolicy: static\n");
    const Observed observed = observe_tree(tree);
    ASSERT_TRUE(observed.kubelet.config) << file << ": " << observed.kubelet.config_error;
    EXPECT_EQ(observed.kubelet.config->cpu_manager_policy, "static") << file;
  }
}

TEST(Audit, DoesNotTakeAKubeconfigForAConfiguration) {
  const KubeletTree tree;
  tree.dir().remove("proc/100");
  tree.dir().remove("var/lib/kubelet/config.yaml");
  tree.dir().write("etc/kubernetes/kubelet.conf", "apiVersion: v1\nkind: Config\n");
  EXPECT_THAT(observe_tree(tree).kubelet.config_error, HasSubstr("/var/lib/kubelet/config.yaml"));
}

/// Starting the other unit would turn a worker into a server.
TEST(Audit, NamesTheUnitOfADistributionThatIsEnabledOrExists) {
  constexpr const char* kUnit = "[Service]\nExecStart=/usr/local/bin/rke2 agent\n";
  for (const bool has_both : {false, true}) {
    const KubeletTree tree;
    tree.dir().remove("proc/100");
    tree.dir().remove("var/lib/kubelet/config.yaml");
    tree.dir().write("etc/rancher/rke2/config.yaml",
                     "kubelet-arg: ['cpu-manager-policy=static']\n");
    tree.dir().write("usr/lib/systemd/system/rke2-agent.service", kUnit);
    if (has_both) {
      tree.dir().write("usr/lib/systemd/system/rke2-server.service", kUnit);
      tree.dir().write("etc/systemd/system/multi-user.target.wants/rke2-agent.service", kUnit);
    }
    EXPECT_EQ(observe_tree(tree).kubelet.unit, "rke2-agent") << has_both;
  }
}

TEST(Audit, KnowsTheEvictionThatK3sPasses) {
  for (const bool has_drop_ins : {false, true}) {
    const KubeletTree tree;
    tree.dir().remove("proc/100");
    tree.dir().remove("var/lib/kubelet/config.yaml");
    tree.dir().write("etc/rancher/k3s/config.yaml", "kubelet-arg: 'kube-reserved=memory=1Gi'\n");
    if (has_drop_ins) {  // newer releases write it there
      tree.dir().write("var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-defaults.conf",
                       std::string(kKind) + "evictionHard: {nodefs.available: 5%}\n");
    }
    const Observed observed = observe_tree(tree);
    ASSERT_TRUE(observed.kubelet.config) << observed.kubelet.config_error;
    const auto& eviction = observed.kubelet.config->eviction_hard;
    ASSERT_TRUE(eviction) << has_drop_ins;
    EXPECT_FALSE(eviction->contains("memory.available")) << has_drop_ins;
    EXPECT_EQ(eviction->at("nodefs.available"), "5%") << has_drop_ins;
  }
}

TEST(Audit, NamesTheErrorInAFileOfADistribution) {
  const KubeletTree tree;
  tree.dir().write("proc/100/cmdline", "/usr/local/bin/k3s server");
  tree.dir().write("etc/rancher/k3s/config.yaml", "kubelet-arg: [\n");
  EXPECT_THAT(lines_of(audit(tree)), Contains(AllOf(HasSubstr("warning config-unreadable"),
                                                    HasSubstr("/etc/rancher/k3s/config.yaml"))));
}

TEST(Audit, SeesNoKubeletInAServerWithoutAgent) {
  const KubeletTree tree;
  tree.dir().write("proc/100/cmdline", "/usr/local/bin/k3s server");
  tree.dir().write("etc/rancher/k3s/config.yaml", "disable-agent: true\n");
  EXPECT_FALSE(observe_tree(tree).kubelet.pid);
}

TEST(Audit, PrintsTheRemedyOfAFinding) {
  const KubeletTree tree;
  tree.write_group(tree.log(), "0-2,6-7", "0-1", {1003});
  tree.write_process(70, 1, "cron", "0-7", "system.slice/cron.service");
  tree.write_process(71, 1, "bash", "0-7", "user.slice/user-0.slice/session-1.scope");
  tree.write_process(72, 1, "stress", "2", "somewhere");
  tree.write_process(73, 1, "old", "0-7", "somewhere/else");
  tree.write_thread(1001, 1021, "6");
  tree.dir().write("proc/irq/25/effective_affinity_list", "2\n");
  tree.dir().write("proc/interrupts", " CPU0 CPU1 CPU2 CPU3\n 25: 0 0 9 0 PCI nvme0q1\n");
  std::vector<std::string> remedies;
  for (const Finding& finding : audit(tree).findings) {
    remedies.push_back(fmt::format("{}: {}", finding.kind, finding.remedy));
  }
  const std::string set =
      fmt::format("systemctl set-property --runtime 'cri-containerd-{}.scope' AllowedCPUs=0-1,6-7",
                  KubeletTree::log_id());
  EXPECT_THAT(remedies,
              ElementsAre("overlap: " + set, "process-pinned: taskset -pc 0-1 72",
                          "thread-elsewhere: taskset -pc 2-3 1021", "cpuset-differs: " + set,
                          testing::StartsWith("irq: echo 0-1 > /proc/irq/25/smp_affinity_list"),
                          "service: ",  // a group that is not a unit
                          "service: systemctl set-property 'cron.service' AllowedCPUs=0-1",
                          "service: systemctl set-property 'user.slice' AllowedCPUs=0-1",
                          "affinity: taskset -apc 0-4095 1003", "sandboxes: "));
}

/// The remedies of all findings of a kind.
std::vector<std::string> remedies_of(const Report& report, std::string_view kind) {
  std::vector<std::string> remedies;
  for (const Finding& finding : report.findings) {
    if (finding.kind == kind) remedies.push_back(finding.remedy);
  }
  return remedies;
}

TEST(Audit, SaysWhatHoldsOnANodeBootedWithManagedIrq) {
  const KubeletTree tree;
  tree.dir().write("sys/devices/system/cpu/possible", "0-7\n");
  tree.dir().write("proc/irq/25/effective_affinity_list", "2\n");
  tree.dir().write("proc/interrupts", " CPU0 CPU1 CPU2 CPU3\n 25: 0 0 9 0 PCI nvme0q1\n");
  tree.dir().write("proc/cmdline", "isolcpus=managed_irq,domain,2-N\n");
  EXPECT_THAT(remedies_of(audit(tree), "irq"),
              ElementsAre("echo 0-1 > /proc/irq/25/smp_affinity_list  # EIO: managed by the "
                          "kernel, where 'isolcpus=managed_irq' leaves only I/O of these CPUs"));
  tree.dir().write("proc/cmdline", "isolcpus=managed_irq,3-N\n");  // not CPU 2
  EXPECT_THAT(remedies_of(audit(tree), "irq"),
              ElementsAre(HasSubstr("boot with 'isolcpus=managed_irq,CPUS'")));
}

TEST(Audit, ConfinesServicesToCpusThatStayReserved) {
  const KubeletTree tree;
  tree.write_process(70, 1, "cron", "0-7", "system.slice/cron.service");
  tree.dir().write("var/lib/kubelet/config.yaml",
                   "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                   "cpuManagerPolicy: static\nkubeReserved: {cpu: 1500m}\ncgroupDriver: systemd\n");
  // The shared pool is 0-1,6-7, and the next exclusive container may get 6-7.
  EXPECT_THAT(remedies_of(audit(tree), "service"),
              ElementsAre("systemctl set-property 'cron.service' AllowedCPUs=0-1"));
  tree.dir().write("var/lib/kubelet/config.yaml", "[");
  EXPECT_THAT(remedies_of(audit(tree), "service"),
              ElementsAre("systemctl set-property --runtime 'cron.service' AllowedCPUs=0-1,6-7  # "
                          "today's shared pool, which shrinks with the next exclusive CPUs; CPUs "
                          "of reservedSystemCPUs stay"));
}

TEST(Audit, StopsIrqbalanceFromMovingInterruptsBack) {
  const KubeletTree tree;
  tree.dir().write("proc/irq/25/effective_affinity_list", "2\n");
  tree.dir().write("proc/irq/26/effective_affinity_list", "3\n");
  tree.dir().write("proc/interrupts",
                   " CPU0 CPU1 CPU2 CPU3\n 25: 0 0 9 0 PCI a\n 26: 0 0 0 9 PCI b\n");
  tree.write_process(70, 1, "irqbalance", "0-1", "system.slice/irqbalance.service");
  EXPECT_THAT(audit(tree).findings[0].remedy,
              AllOf(HasSubstr("IRQBALANCE_BANNED_CPULIST=2-7"),
                    HasSubstr("for irq in 25 26; do echo 0-1 > /proc/irq/$irq/smp_affinity_list")));
}

TEST_P(AuditedNode, NamesAProcessThatLeftItsContainer) {
  const KubeletTree tree(GetParam());
  tree.write_process(1011, 1001, "worker", "0-7", "system.slice/escape.service", 1001);
  const Report report = audit(tree);
  ASSERT_THAT(lines_of(report), Contains(HasSubstr("error process-outside process 1011 (worker): "
                                                   "belongs to container 'shop/web/app'")));
  EXPECT_EQ(report.findings[0].subject.pod.value().uid.value, KubeletTree::kWebUid);
}

TEST(Audit, KnowsAnOrphanByItsPidNamespace) {
  const KubeletTree tree;
  tree.write_process(1011, 1, "worker", "0-1", "", 1001);
  EXPECT_THAT(lines_of(audit(tree)),
              Contains(HasSubstr(fmt::format("process-outside process 1011 (worker): belongs to "
                                             "pod {}",
                                             KubeletTree::kWebUid))));
}

TEST(Audit, NamesAThreadThatIsPinnedElsewhere) {
  const KubeletTree tree;
  tree.write_thread(1001, 1021, "6");
  tree.write_thread(1001, 1022, "3");  // the program's own choice
  EXPECT_THAT(lines_of(audit(tree)),
              ElementsAre("error thread-elsewhere shop/web/app: thread 1021 of process 1001 (app): "
                          "runs on CPU 6, but its container has CPUs 2-3",
                          kSandboxes));
}

TEST(Audit, NamesAProcessThatIsPinnedToExclusiveCpus) {
  const KubeletTree tree;
  tree.write_process(70, 1, "stress", "2", "user.slice");
  EXPECT_THAT(lines_of(audit(tree)), ElementsAre("error process-pinned process 70 (stress): in "
                                                 "group '/user.slice' is pinned to CPU 2, which "
                                                 "containers have exclusively",
                                                 kSandboxes));
}

TEST(Audit, CountsProcessesOfAService) {
  const KubeletTree tree;
  tree.write_process(70, 1, "cron", "0-7", "system.slice/cron.service");
  tree.write_process(71, 70, "backup", "0-4", "system.slice/cron.service");
  EXPECT_THAT(
      lines_of(audit(tree)),
      ElementsAre("warning service /system.slice/cron.service: 2 processes outside the pods "
                  "can run on exclusive CPUs 2-5",
                  kSandboxes));
}

TEST(Audit, ExcusesKernelThreadsThatCannotMove) {
  const KubeletTree tree;
  tree.write_process(61, 2, "kworker/u16:1", "0-7", "", 1, 0x00200000);
  EXPECT_THAT(lines_of(audit(tree)),
              Contains("note kernel-threads kernel threads: 1 that could be moved can run on "
                       "exclusive CPUs 2-5"));
}

TEST(Audit, NamesPagesOnAnotherNumaNode) {
  const KubeletTree tree;
  tree.dir().write("proc/1001/numa_maps",
                   "7f00 default anon=1000 N0=256 N1=1024 kernelpagesize_kB=4\n");
  EXPECT_THAT(
      lines_of(audit(tree)),
      Contains(HasSubstr("note pages-elsewhere shop/web/app: process 1001 (app): has 80% of "
                         "its memory (4096Ki) away from NUMA node 0")));
}

TEST(Audit, ComparesMemoryWithTheKubeletsFile) {
  const KubeletTree tree;
  MemoryCheckpoint state;
  state.assignments[{PodUid(KubeletTree::kWebUid), "app"}] = {
      {{0}, "memory", std::uint64_t{1} << 20U}};
  tree.dir().write("var/lib/kubelet/memory_manager_state",
                   checkpoint::encode_memory(state, "Static", false));
  const Report report = audit(tree);
  EXPECT_THAT(lines_of(report), Contains("error mems-differ shop/web/app: may use memory of NUMA "
                                         "nodes 0-1, but the kubelet gave it 0"));
}

TEST(Audit, NamesInterruptsThatComeOnExclusiveCpus) {
  const KubeletTree tree;
  tree.dir().write("proc/irq/25/effective_affinity_list", "2\n");
  tree.dir().write("proc/irq/26/effective_affinity_list", "3\n");
  tree.dir().write("proc/interrupts",
                   " CPU0 CPU1 CPU2 CPU3\n 24: 1 0 0 0 PCI eth0\n 25: 0 0 9 0 PCI nvme0q1\n"
                   " 26: 0 0 0 0 PCI nvme0q2\n");
  EXPECT_THAT(lines_of(audit(tree)),
              ElementsAre("warning irq shop/web/app: its CPU 2 handles 1 interrupt: 25 (first: PCI "
                          "nvme0q1)",
                          kSandboxes));
}

TEST(Audit, DoesNotCountInterruptsThatNeverCame) {
  const KubeletTree tree;
  tree.dir().write("proc/irq/2/effective_affinity_list", "\n");  // the PIC's cascade
  tree.dir().write("proc/irq/2/smp_affinity_list", "0-7\n");
  tree.dir().write("proc/irq/5/effective_affinity_list", "2\n");  // no line in /proc/interrupts
  tree.dir().write("proc/irq/6/smp_affinity_list", "2\n");        // an older kernel
  EXPECT_THAT(lines_of(audit(tree)), ElementsAre(kSandboxes));
  tree.dir().remove("proc/interrupts");  // now nothing shows which interrupts came
  EXPECT_THAT(lines_of(audit(tree)),
              Contains(HasSubstr("irq shop/web/app: its CPU 2 handles 2 interrupts: 5, 6")));
}

TEST(Audit, NamesFilesThatTheNextStartRefuses) {
  const KubeletTree tree;
  CpuCheckpoint state = KubeletTree::cpu_state();
  state.default_set = CpuSet{0, 1, 6};  // no set contains CPU 7
  tree.write_cpu_state(state);
  const auto lines = lines_of(audit(tree));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("error start-refused kubelet"),
                                    HasSubstr("kubelet-1.36, kubelet-1.37, kubelet-1.38"),
                                    HasSubstr("doesn't match with CPUs in state"))));
}

TEST(Audit, CorrectsAStateOfAnotherPolicyWithoutDraining) {
  const KubeletTree tree;
  tree.dir().write("var/lib/kubelet/config.yaml", kKind);
  const Report report = audit(tree);
  EXPECT_THAT(lines_of(report), Not(Contains(HasSubstr("drain"))));
  EXPECT_THAT(report.findings,
              Contains(AllOf(Field(&Finding::kind, "start-refused"),
                             Field(&Finding::remedy,
                                   "systemctl stop kubelet && pinfold checkpoint repair --config / "
                                   "'/var/lib/kubelet'; systemctl start kubelet"))));
}

TEST(Audit, NamesAStateFileThatNoKubeletReads) {
  const KubeletTree tree;
  tree.dir().write("var/lib/kubelet/cpu_manager_state", R"({"policyName":"static","checksum":1})");
  const Report report = audit(tree);
  EXPECT_THAT(lines_of(report), Contains(HasSubstr("error state-unreadable")));
  EXPECT_THAT(report.exclusive.to_string(), "");
}

TEST(Audit, NamesOneCpuOfTwoPods) {
  const KubeletTree tree;
  CpuCheckpoint state = KubeletTree::cpu_state();
  state.assignments[{PodUid(KubeletTree::kDbUid), "postgres"}] = CpuSet{3, 4, 5};
  tree.write_cpu_state(state);
  EXPECT_THAT(lines_of(audit(tree)),
              Contains(AllOf(HasSubstr("error state-overlap"), HasSubstr("gives CPU 3 to"))));
}

TEST(Audit, CorrectsAnOverlapOfTheStateFileThere) {
  const KubeletTree tree;
  CpuCheckpoint state = KubeletTree::cpu_state();
  state.assignments[{PodUid(KubeletTree::kDbUid), "postgres"}] = CpuSet{3, 4, 5};
  tree.write_cpu_state(state);
  const Report report = audit(tree);
  const auto is_repair = HasSubstr(
      "systemctl stop kubelet && pinfold checkpoint repair --accept-loss --config / "
      "'/var/lib/kubelet'; systemctl start kubelet  # one of the two loses its CPUs");
  EXPECT_THAT(remedies_of(report, "state-overlap"), ElementsAre(is_repair));
  EXPECT_THAT(remedies_of(report, "overlap"), ElementsAre(is_repair));  // postgres overlaps app
}

TEST(Audit, CorrectsAnOverlapOfPodsWithPodLevelCpus) {
  const KubeletTree tree;
  CpuCheckpoint state = KubeletTree::cpu_state();
  state.pods[PodUid(KubeletTree::kWebUid)] = CpuSet{2, 3, 4};
  tree.dir().write("var/lib/kubelet/cpu_manager_state",
                   checkpoint::encode_cpu(state, "static", true));
  const Report report = audit(tree);
  EXPECT_THAT(lines_of(report), Contains(HasSubstr("gives CPU 4 to")));
  EXPECT_THAT(remedies_of(report, "state-overlap"), ElementsAre(HasSubstr("repair --accept-loss")));
}

TEST(Audit, RepairsAnOverlapWithTheSharedPoolWithoutLoss) {
  const KubeletTree tree;
  CpuCheckpoint state = KubeletTree::cpu_state();
  state.default_set = CpuSet{0, 1, 3, 6, 7};
  tree.write_cpu_state(state);
  tree.write_group(tree.log(), "0-1,3,6-7", "0-1", {1003});
  const Report report = audit(tree);
  const auto is_repair = HasSubstr("pinfold checkpoint repair --config / '/var/lib/kubelet'");
  EXPECT_THAT(remedies_of(report, "state-overlap"), ElementsAre(is_repair));
  EXPECT_THAT(remedies_of(report, "overlap"), ElementsAre(is_repair));
}

TEST(Audit, NotesAnAssignmentWithoutAContainer) {
  const KubeletTree tree;
  CpuCheckpoint state = KubeletTree::cpu_state();
  state.default_set = CpuSet{0, 1, 7};
  state.assignments[{PodUid("gone"), "c"}] = CpuSet{6};
  tree.write_cpu_state(state);
  EXPECT_THAT(lines_of(audit(tree)),
              Contains(HasSubstr("note container-absent gone/c: has CPU 6")));
}

TEST(Audit, SeesAStoppedKubeletAndMissingFiles) {
  const KubeletTree tree;
  tree.dir().remove("proc/100");
  tree.dir().remove("var/lib/kubelet/cpu_manager_state");
  EXPECT_THAT(
      lines_of(audit(tree)),
      ElementsAre(HasSubstr("warning kubelet-stopped kubelet"),
                  HasSubstr("cpu_manager_state: is missing, although the policy is static")));
}

TEST(Audit, SeesGroupsOfAnotherDriver) {
  const KubeletTree tree({Driver::kCgroupfs, CgroupVersion::kV2, Runtime::kContainerd});
  tree.dir().write(
      "var/lib/kubelet/config.yaml",
      std::string(kKind) +
          "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\ncgroupDriver: systemd\n");
  EXPECT_THAT(lines_of(audit(tree)), Contains(HasSubstr("warning driver-differs kubepods: belongs "
                                                        "to the cgroup driver cgroupfs")));
}

TEST(Audit, TakesFlagsAndDropInsOverTheFile) {
  const KubeletTree tree;
  std::string command = "kubelet --config=/etc/k.yaml --config-dir /etc/k.d --reserved-cpus=0-1 ";
  std::replace(command.begin(), command.end(), ' ', '\0');
  tree.dir().write("proc/100/cmdline", command);
  tree.dir().write("etc/k.yaml",
                   std::string(kKind) + "cpuManagerPolicy: none\ncgroupDriver: systemd\n");
  tree.dir().write("etc/k.d/10.conf", std::string(kKind) + "cpuManagerPolicy: static\n");
  tree.dir().write("etc/k.d/README", "no configuration");
  tree.dir().write("etc/k.d/20.d/10.conf",
                   std::string(kKind) + "topologyManagerPolicy: restricted\n");
  tree.dir().write("etc/k.d/30.conf", std::string(kKind) + "cgroupDriver: systemd\n");
  std::filesystem::create_directory_symlink(".", tree.dir() / "etc/k.d/20.d/circle");
  const Observed observed = observe_tree(tree);
  ASSERT_TRUE(observed.kubelet.config) << observed.kubelet.config_error;
  EXPECT_EQ(observed.kubelet.config->cpu_manager_policy, "static");
  EXPECT_EQ(observed.kubelet.config->topology_manager_policy, "restricted");
  EXPECT_EQ(observed.kubelet.config->reserved_system_cpus, "0-1");
  EXPECT_THAT(lines_of(judge(observed)), ElementsAre(kSandboxes));
}

/// Returns evictionHard of a kubelet with these arguments.
std::map<std::string, std::string> eviction_of(const KubeletTree& tree, std::string command) {
  std::replace(command.begin(), command.end(), ' ', '\0');
  tree.dir().write("proc/100/cmdline", command);
  const Observed observed = observe_tree(tree);
  if (!observed.kubelet.config) return {{"error", observed.kubelet.config_error}};
  return observed.kubelet.config->eviction_hard.value_or(
      std::map<std::string, std::string>{{"error", "the default"}});
}

// A kubelet sets its default thresholds after it reads its file and before it merges drop-ins.
TEST(Audit, TakesTheDefaultThresholdsBeforeDropIns) {
  using Thresholds = std::map<std::string, std::string>;
  const KubeletTree tree;
  const std::string command = "kubelet --config=/etc/k.yaml --config-dir=/etc/k.d ";
  const auto write = [&](const char* name, const std::string& fields) {
    tree.dir().write(name, kKind + fields);
  };
  write("etc/k.yaml", "cgroupDriver: systemd\n");
  write("etc/k.d/10.conf", "evictionHard: {nodefs.available: 5%}\n");
  EXPECT_EQ(eviction_of(tree, command),
            (Thresholds{{"memory.available", "100Mi"}, {"nodefs.available", "5%"}}));
  write("etc/k.d/20.conf", "evictionHard: null\nmergeDefaultEvictionSettings: true\n");
  EXPECT_EQ(eviction_of(tree, command), Thresholds());
  write("etc/k.yaml", "evictionHard: {pid.available: 1%}\n");
  tree.dir().remove("etc/k.d/20.conf");
  EXPECT_EQ(eviction_of(tree, command),
            (Thresholds{{"nodefs.available", "5%"}, {"pid.available", "1%"}}));
}

TEST(Audit, KnowsNoDefaultThresholdsWithoutAFile) {
  const KubeletTree tree;
  EXPECT_TRUE(eviction_of(tree, "kubelet --kube-reserved=memory=1Gi ").empty());
  EXPECT_EQ(eviction_of(tree, "kubelet --eviction-hard=memory.available<1Gi "),
            (std::map<std::string, std::string>{{"memory.available", "1Gi"}}));
}

TEST(Audit, NamesAMisspeltFlagWithWhichAStoppedKubeletDoesNotStart) {
  const KubeletTree tree;
  tree.dir().write("etc/systemd/system/kubelet.service",
                   "[Service]\nExecStart=/usr/bin/kubelet --cpu-manager-polcy=static\n");
  EXPECT_EQ(observe_tree(tree).kubelet.config_error, "") << "the one that runs is another one";
  tree.dir().remove("proc/100");
  EXPECT_THAT(observe_tree(tree).kubelet.config_error,
              HasSubstr("unknown flag '--cpu-manager-polcy'"));
}

TEST(Audit, NamesAFileThatAKubeletDoesNotDecode) {
  const struct {
    const char* file;
    const char* text;
    const char* error;
  } cases[] = {
      {"var/lib/kubelet/config.yaml", "cpuManagerPolicy: static\n",
       "config.yaml': apiVersion: expected 'kubelet.config.k8s.io/v1beta1', without which"},
      {"etc/k.d/a.conf", "apiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 5\n",
       "a.conf': kind: expected 'KubeletConfiguration', without which"},
      {"etc/k.d/a.conf", "kind: ConfigMap\ndata: {kubelet: 'maxPods: 5'}\n", "a.conf': apiVersion"},
  };
  for (const auto& one : cases) {
    const KubeletTree tree;
    std::string command = "kubelet --config=/var/lib/kubelet/config.yaml --config-dir=/etc/k.d";
    std::replace(command.begin(), command.end(), ' ', '\0');
    tree.dir().write("proc/100/cmdline", command);
    tree.dir().write("etc/k.d/README", "");
    tree.dir().write(one.file, one.text);
    EXPECT_THAT(observe_tree(tree).kubelet.config_error, HasSubstr(one.error)) << one.text;
    EXPECT_THAT(lines_of(audit(tree)), Contains(HasSubstr("warning config-unreadable")));
  }
}

/// A stopped kubelet with a unit, drop-ins and other files.
using Files = std::map<std::string, std::string>;
ObservedKubelet observe_stopped(const Files& files) {
  const KubeletTree tree;
  tree.dir().remove("proc/100");
  tree.dir().remove("var/lib/kubelet/config.yaml");
  for (const auto& [path, text] : files) tree.dir().write(path, text);
  return observe_tree(tree).kubelet;
}

constexpr const char* kUnitOfA =
    "[Service]\nEnvironment=\"A=--v=1\"\nExecStart=/usr/bin/kubelet $A\n";

TEST(AuditedUnit, IsThatOfSystemd) {
  const std::string unit = "usr/lib/systemd/system/kubelet.service";
  const auto flags = [](const Files& files) { return observe_stopped(files).flags; };
  const KubeletFlags one = {{"--v", "1"}};
  const KubeletFlags two = {{"--v", "2"}};
  EXPECT_EQ(flags({{unit, kUnitOfA}}), one);
  EXPECT_EQ(flags({{unit, kUnitOfA},
                   {"run/systemd/transient/kubelet.service", kUnitOfA},
                   {"run/systemd/system/service.d/a.conf", "[Service]\nEnvironment=A=--v=2\n"}}),
            two);
  EXPECT_EQ(flags({{unit, kUnitOfA},
                   {"etc/systemd/system/kubelet.service.d/b.conf", "[Service]\nEnvironment=\n"}}),
            KubeletFlags());
  EXPECT_EQ(flags({{unit, kUnitOfA},
                   {"run/systemd/system/kubelet.service.d/b.conf", "[Service]\nEnvironment=\n"},
                   {"etc/systemd/system/kubelet.service.d/b.conf", ""}}),
            one)
      << "masked";
  EXPECT_EQ(flags({{unit, kUnitOfA}, {"etc/systemd/system/kubelet.service", ""}}), KubeletFlags());
  EXPECT_EQ(flags({{unit,
                    "[Service]\nEnvironmentFile=-/etc/env.d/*.env\n"
                    "ExecStart=/usr/bin/kubelet $A ${B}\n"},
                   {"etc/env.d/20.env", "A='--v 2\n--v 1'\n"},
                   {"etc/env.d/10.env", "A=--v=9\nB=--max-pods=5\n"},
                   {"etc/env.d/30.txt", "A=--v=8\n"}}),
            (KubeletFlags{{"--v", "1"}, {"--max-pods", "5"}}));
}

TEST(AuditedUnit, NamesWhatHidesTheFlags) {
  const std::string unit = "usr/lib/systemd/system/kubelet.service";
  const auto hidden =
      observe_stopped({{unit, "[Service]\nExecStart=/bin/sh -c 'exec kubelet --v=1'\n"},
                       {"var/lib/kubelet/config.yaml", kKind}});
  EXPECT_THAT(hidden.unit_error, HasSubstr("ExecStart 'sh' is not a kubelet and hides its flags"));
  EXPECT_THAT(hidden.config_warnings, ElementsAre(ConfigWarning{hidden.unit_error, ""}));
  const auto missing = observe_stopped(
      {{unit, "[Service]\nEnvironmentFile=/etc/none\nExecStart=/usr/bin/kubelet\n"}});
  EXPECT_THAT(missing.unit_error, HasSubstr("EnvironmentFile '/etc/none' cannot be read"));
}

TEST(AuditedUnit, OfK3sHasDropInsAndVariables) {
  const auto policy = [](const Files& files) {
    const auto kubelet = observe_stopped(files);
    return kubelet.config ? kubelet.config->cpu_manager_policy : kubelet.config_error;
  };
  const std::string unit = "etc/systemd/system/k3s-agent.service";
  const char* const text =
      "[Service]\nEnvironmentFile=/etc/default/k3s\nExecStart=/usr/bin/k3s agent $K3S_ARGS\n";
  Files files = {{unit, text},
                 {"etc/default/k3s", "K3S_ARGS='--kubelet-arg=cpu-manager-policy=static'\n"}};
  EXPECT_EQ(policy(files), "static");
  files["etc/systemd/system/k3s-agent.service.d/10.conf"] =
      "[Service]\nExecStart=\nExecStart=/usr/bin/k3s agent\n";
  EXPECT_EQ(policy(files), "none");
}

TEST(Audit, WarnsOfUnknownFieldsAndNotesUnknownGates) {
  const KubeletTree tree;
  tree.dir().write("var/lib/kubelet/config.yaml",
                   std::string(kKind) +
                       "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\nreservedCpus: 0-4\n"
                       "cgroupDriver: systemd\nfeatureGates: {AlertingRules: false}\n");
  const auto lines = lines_of(audit(tree));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("warning config-warning"),
                                    HasSubstr("did you mean 'reservedSystemCPUs'?"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("note config-effect"),
                                    HasSubstr("AlertingRules (OpenShift)"))));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("start-refused"))));
}

// The gates of 1.36 were observed. Those of later kubelets may be incomplete.
TEST(Audit, KnowsThatKubelet136DoesNotStartWithAnUnknownGate) {
  const KubeletTree tree;
  tree.dir().write("var/lib/kubelet/config.yaml",
                   std::string(kKind) +
                       "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
                       "cgroupDriver: systemd\nfeatureGates: {NoSuchGate: false}\n");
  EXPECT_THAT(lines_of(audit(tree)),
              Contains(AllOf(HasSubstr("warning start-refused"), HasSubstr("(kubelet-1.36)"),
                             HasSubstr("unrecognized feature gate: NoSuchGate"),
                             HasSubstr("/config.yaml': featureGates: {}"))));
}

TEST(Audit, ComparesThePodResourcesApi) {
  const KubeletTree tree;
  Observed observed = observe_tree(tree);
  const auto listed = parse_pod_resources(
      R"({"podResources":[{"name":"web","namespace":"shop","containers":[{"name":"app","cpuIds":["2","4"]}]},
          {"name":"log","namespace":"shop","containers":[{"name":"agent"}]}]})");
  ASSERT_TRUE(listed) << listed.error().message;
  observed.pod_resources = *listed;
  EXPECT_THAT(lines_of(judge(observed)),
              ElementsAre("error pod-resources-differ shop/web/app: has exclusive CPUs 2-3 in the "
                          "kubelet's file, and 2,4 in its PodResources API",
                          kSandboxes));
}

TEST(Audit, LetsContainersOfAPodShareWhatThePodReserves) {
  const KubeletTree tree;
  CpuCheckpoint state = KubeletTree::cpu_state();
  state.assignments.erase(ContainerId{PodUid(KubeletTree::kWebUid), "app"});
  state.pods[PodUid(KubeletTree::kWebUid)] = CpuSet{2, 3};
  tree.dir().write("var/lib/kubelet/cpu_manager_state",
                   checkpoint::encode_cpu(state, "static", true));
  const Report report = audit(tree);
  EXPECT_THAT(lines_of(report), Not(Contains(HasSubstr("cpuset-differs"))));
  EXPECT_EQ(report.exclusive, (CpuSet{2, 3, 4, 5}));
}

TEST(Audit, PrintsWhatPodsAndProcessesAreCalledAsJson) {
  const KubeletTree tree;
  tree.write_process(70, 1, "a\"\xff", "2", "user.slice");
  const Observed observed = observe_tree(tree);
  const nlohmann::json out = to_json(judge(observed), observed);
  EXPECT_EQ(out["errorCount"], 1);
  EXPECT_EQ(out["ok"], false);
  EXPECT_EQ(out["cgroups"]["mode"], "v2");
  EXPECT_EQ(out["kubelet"]["pid"], 100);
  EXPECT_EQ(out["containers"].size(), 6);
  EXPECT_EQ(out["findings"][0]["subject"]["pid"], 70);
  EXPECT_THAT(out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
              HasSubstr("process-pinned"));
}

}  // namespace
}  // namespace pinfold::audit
