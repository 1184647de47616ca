#include "pinfold/audit/doctor.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "doctor_tree.hpp"
#include "unix_listener.hpp"

namespace pinfold::audit {
namespace {

using test::DoctorTree;
using std::string_literals::operator""s;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ObservedSystem observe_doctor(const DoctorTree& tree) {
  const auto opened = Tree::open(tree.path());
  EXPECT_TRUE(opened) << opened.error().message;
  return observe_system(*opened, {});
}

/// "problem huge-pages: NUMA node 0 has ..." for each check that is not ok.
std::vector<std::string> complaints(const Checks& checks) {
  std::vector<std::string> lines;
  for (const Check& check : checks) {
    if (check.verdict == CheckStatus::kOk) continue;
    lines.push_back(fmt::format("{} {}: {}", to_string(check.verdict), check.name, check.observed));
    EXPECT_NE(check.expected, "") << lines.back();
  }
  return lines;
}

TEST(Doctor, FindsNothingOnAHealthyMachine) {
  const DoctorTree tree;
  const Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(complaints(checks), IsEmpty());
  std::vector<std::string> names;
  for (const Check& check : checks) names.push_back(check.name);
  EXPECT_THAT(
      names,
      ElementsAre("cgroup-mode", "cgroup-controllers", "cgroup-enabled", "cgroup-writable",
                  "live-cpusets", "partitions", "kernel", "isolcpus", "nohz_full", "irqaffinity",
                  "offline-cpus", "numa-balancing", "machine", "kubelet-config", "config", "smt",
                  "huge-pages", "two-managers", "delegation", "systemd-cpusets", "systemd-affinity",
                  "state-directory", "state-files", "service", "pod-resources", "kubevirt"));
}

TEST(Doctor, NamesTheConfigurationThatIsMissing) {
  const DoctorTree tree;
  tree.tree().dir().remove("proc/100");
  const auto opened = Tree::open(tree.path());
  ASSERT_TRUE(opened) << opened.error().message;
  DoctorOptions options;
  options.kubelet_config = "/etc/missing.yaml";
  EXPECT_THAT(complaints(check_system(observe_system(*opened, options))),
              Contains(AllOf(HasSubstr("problem kubelet-config"), HasSubstr("missing.yaml"))));
}

/// No edit of a kubeconfig makes it a configuration.
TEST(Doctor, DoesNotAdviseToEditAFileOfAnotherKind) {
  const DoctorTree tree;
  tree.write("var/lib/kubelet/config.yaml", "apiVersion: v1\nkind: Config\n");
  const Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(complaints(checks), Contains(AllOf(HasSubstr("problem kubelet-config"),
                                                 HasSubstr("it is a kubeconfig"))));
  EXPECT_EQ(checks.front().remedy,
            "edit the flags that 'systemctl cat kubelet' shows, then: systemctl daemon-reload; "
            "systemctl restart kubelet");
}

/// One change to a healthy machine, and the only complaint that it causes.
struct Ailment {
  const char* name;
  std::vector<std::pair<std::string, std::string>> files;  ///< path and new content
  std::string complaint;                                   ///< beginning of the text
  std::string remedy;                                      ///< part of the text
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const Ailment& ailment, std::ostream* out) { *out << ailment.name; }

class DoctorAilment : public testing::TestWithParam<Ailment> {};

TEST_P(DoctorAilment, IsTheOnlyComplaint) {
  const DoctorTree tree;
  for (const auto& [path, content] : GetParam().files) tree.write(path, content);
  const Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(complaints(checks), ElementsAre(testing::StartsWith(GetParam().complaint)));
  EXPECT_THAT(checks.front().remedy, HasSubstr(GetParam().remedy));
}

/// A machine with the setting `quiet` and everything that it requires.
std::vector<std::pair<std::string, std::string>> quiet_machine(
    const std::string& level = "system") {
  return {{"etc/pinfold/agent.yaml", "stateDir: /srv/pinfold\nquiet: " + level + "\n"},
          {"proc/cmdline", "isolcpus=managed_irq,2-7 nohz_full=2-7\n"},
          {"sys/devices/system/cpu/nohz_full", "2-7\n"}};
}
std::vector<std::pair<std::string, std::string>> quiet_machine_with(
    std::vector<std::pair<std::string, std::string>> more, const std::string& level = "system") {
  auto files = quiet_machine(level);
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

TEST(Doctor, FindsNothingOnAQuietMachine) {
  const DoctorTree tree;
  for (const auto& [path, content] : quiet_machine()) tree.write(path, content);
  tree.write("etc/crio/crio.conf",
             "[crio.runtime.runtimes.crun]\n\texec_cpu_affinity = \"first\"\n");
  const Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(complaints(checks), IsEmpty());
  EXPECT_EQ(std::count_if(checks.begin(), checks.end(),
                          [](const Check& check) { return check.name.starts_with("quiet-"); }),
            8);
}

const char* const kConfig = "var/lib/kubelet/config.yaml";
const char* const kIsolated = "sys/devices/system/cpu/isolated";
const char* const kNohzFull = "sys/devices/system/cpu/nohz_full";
const char* const kSubtree = "sys/fs/cgroup/cgroup.subtree_control";
const char* const kStatic =
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n";

INSTANTIATE_TEST_SUITE_P(
    Machines, DoctorAilment,
    testing::Values(
        Ailment{"CpusetNotEnabled",
                {{kSubtree, "cpu memory\n"}},
                "problem cgroup-enabled: '/sys/fs/cgroup/cgroup.subtree_control' lacks cpuset",
                "echo '+cpuset' > '/sys/fs/cgroup/cgroup.subtree_control'"},
        Ailment{"MemoryNotEnabled",
                {{kSubtree, "cpuset cpu\n"}},
                "warning cgroup-enabled: '/sys/fs/cgroup/cgroup.subtree_control' lacks memory",
                "echo '+memory'"},
        Ailment{"MemoryDisabled",
                {{"sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n"},
                 {"proc/cmdline", "cgroup_disable=memory\n"}},
                "warning cgroup-controllers: missing: memory",
                "remove 'cgroup_disable='"},
        Ailment{"OldKernel",
                {{"proc/sys/kernel/osrelease", "5.10.0-28-amd64\n"}},
                "warning kernel: Linux 5.10.0-28-amd64 lacks cgroup.kill (5.14, according to the "
                "release number)",
                "newer kernel"},
        Ailment{
            "PartitionsNeedANewerKernel",
            {{"proc/sys/kernel/osrelease", "6.1.0\n"},
             {"srv/pinfold/config.yaml", std::string(kStatic) + "pinfold: {partition: root}\n"}},
            "warning kernel: Linux 6.1.0 lacks partitions below other groups (6.7, according to "
            "the release number)",
            "newer kernel"},
        Ailment{"UnknownKernel",
                {{"proc/sys/kernel/osrelease", "new\n"}},
                "unknown kernel: '/proc/sys/kernel/osrelease': 'new'",
                ""},
        Ailment{"IsolatedReservedCpus",
                {{"proc/cmdline", "isolcpus=domain,managed_irq,1-3 quiet\n"}, {kIsolated, "1-3\n"}},
                "warning isolcpus: isolcpus=1-3 has reserved CPU 1",
                "remove CPU 1 from 'isolcpus='"},
        Ailment{"IsolatedSharedPool",
                {{"proc/cmdline", "isolcpus=4-7\n"}, {kIsolated, "4-7\n"}},
                "warning isolcpus: isolcpus=4-7: the kernel does not balance load there",
                "remove 'isolcpus='"},
        Ailment{"TicklessReservedCpus",
                {{"proc/cmdline", "nohz_full=0-7\n"}, {kNohzFull, "0-7\n"}},
                "warning nohz_full: nohz_full=0-7 has reserved CPUs 0-1",
                "remove CPUs 0-1 from 'nohz_full='"},
        Ailment{"IsolatedByAWord",
                {{"proc/cmdline", "isolcpus=managed_irq,domain,1-N\n"}, {kIsolated, "1-7\n"}},
                "warning isolcpus: isolcpus=1-7 has reserved CPU 1",
                "remove CPU 1 from 'isolcpus='"},
        Ailment{"IsolatedInQuotes",
                {{"proc/cmdline", "\"isolcpus=managed_irq,domain,2-7\" isolcpus2=0\n"},
                 {kIsolated, "2-7\n"}},
                "warning isolcpus: isolcpus=2-7: the kernel does not balance load there",
                "remove 'isolcpus='"},
        Ailment{"QuietWithATick", quiet_machine_with({{kNohzFull, "2-3\n"}}),
                "warning quiet-tick: CPUs 4-7 have a timer tick", "nohz_full=2-7 rcu_nocbs=2-7"},
        Ailment{
            "QuietWithManagedInterrupts", quiet_machine_with({{"proc/cmdline", "nohz_full=2-7\n"}}),
            "warning quiet-managed: interrupts that drivers manage", "isolcpus=managed_irq,2-7"},
        Ailment{"QuietWithADeafIrqbalance", quiet_machine_with({{"proc/77/comm", "irqbalance\n"}}),
                "warning quiet-irqbalance: irqbalance runs without a socket",
                "IRQBALANCE_BANNED_CPULIST=2-7"},
        Ailment{"QuietWithCrioThatExecutesAnywhere",
                quiet_machine_with({{"etc/crio/crio.conf.d/10-crun.conf",
                                     "[crio.runtime.runtimes.crun]\n# exec_cpu_affinity = "
                                     "\"first\"\n"}}),
                "warning quiet-exec: CRI-O executes commands", "exec_cpu_affinity = \"first\""},
        Ailment{"IsolatedWithoutTheCapability",
                quiet_machine_with({{"usr/lib/systemd/system/pinfold.service",
                                     "[Service]\nDelegate=cpuset cpu memory\n"
                                     "CapabilityBoundingSet=CAP_KILL CAP_NET_ADMIN\n"}},
                                   "isolated"),
                "warning quiet-unit: pinfold.service lacks CAP_SYS_ADMIN",
                "CapabilityBoundingSet=CAP_SYS_ADMIN"},
        Ailment{"IsolatedBeforeLinux6_7",
                quiet_machine_with({{"proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"}}, "isolated"),
                "warning kernel: Linux 6.1.0-18-amd64 lacks partitions below other groups",
                "newer kernel"},
        Ailment{"QuietWithTuned", quiet_machine_with({{"proc/77/comm", "tuned\n"}}),
                "warning quiet-tuned: tuned runs", "tuned-adm profile"},
        Ailment{"QuietInterruptsWithChrony",
                quiet_machine_with({{"proc/77/comm", "chronyd\n"}}, "interrupts"),
                "warning quiet-chrony: chronyd may run on quiet CPUs", "quiet: system"},
        Ailment{"QuietWithAnotherScheduler",
                quiet_machine_with({{"sys/kernel/sched_ext/state", "enabled\n"},
                                    {"sys/kernel/sched_ext/root/ops", "scx_lavd\n"}}),
                "warning quiet-scheduler: the scheduler 'scx_lavd'", "stop the program"},
        Ailment{"TicklessEverything",
                {{"proc/cmdline", "nohz_full=all\n"}, {kNohzFull, "0-7\n"}},
                "warning nohz_full: nohz_full=0-7 has reserved CPUs 0-1",
                "remove CPUs 0-1 from 'nohz_full='"},
        Ailment{"TicklessByIsolcpus",
                {{"proc/cmdline", "isolcpus=nohz,1-7\n"}, {kNohzFull, "1-7\n"}},
                "warning nohz_full: nohz_full=1-7 has reserved CPU 1",
                "remove CPU 1 from 'nohz_full='"},
        Ailment{"IsolatedAndNotShown",
                {{"proc/cmdline", "isolcpus=2-N\n"}, {kIsolated, "x\n"}},
                "unknown isolcpus: not checked: 'isolcpus=2-N' is on the kernel's command line",
                "cat /proc/cmdline"},
        Ailment{
            "IsolatedAndIgnored",
            {{"proc/cmdline", "isolcpus=managed-irq,4-7\n"}},
            "warning isolcpus: 'isolcpus=managed-irq,4-7' has no effect: the kernel takes no CPUs "
            "from it",
            "dmesg"},
        Ailment{
            "TicklessAndIgnored",
            {{"proc/cmdline", "nohz_full=4-7\n"}},
            "warning nohz_full: 'nohz_full=4-7' has no effect: the kernel takes no CPUs from it",
            "dmesg"},
        Ailment{"ManagedInterruptsOffReservedCpus",
                {{"proc/cmdline", "isolcpus=managed_irq,1-N\n"}},
                "warning isolcpus: isolcpus=managed_irq,1-N has reserved CPU 1",
                "remove CPU 1 from 'isolcpus='"},
        Ailment{"InterruptsOnOtherCpus",
                {{"proc/cmdline", "irqaffinity=4-7\n"}},
                "warning irqaffinity: irqaffinity=4-7 has none of the reserved CPUs 0-1",
                "set 'irqaffinity=0-1'"},
        Ailment{"InterruptsByMask",
                {{"proc/cmdline", "irqaffinity=4-99\n"},
                 {"proc/irq/default_smp_affinity", "00000000,000000f0\n"}},
                "warning irqaffinity: irqaffinity=4-7 has none of the reserved CPUs 0-1",
                "set 'irqaffinity=0-1'"},
        Ailment{"InterruptsByAWord",
                {{"proc/cmdline", "irqaffinity=4-N\n"}},
                "warning irqaffinity: irqaffinity=4-7 has none of the reserved CPUs 0-1",
                "set 'irqaffinity=0-1'"},
        Ailment{"InterruptsByAStride",
                {{"proc/cmdline", "irqaffinity=2-7:1/2\n"}},
                "warning irqaffinity: irqaffinity=2,4,6 has none of the reserved CPUs 0-1",
                "set 'irqaffinity=0-1'"},
        Ailment{"InterruptsNotShown",
                {{"proc/cmdline", "irqaffinity=4-99\n"}},
                "unknown irqaffinity: not checked: 'irqaffinity=4-99'",
                "cat /proc/cmdline"},
        Ailment{"CpusetNotEnabledOnAnOldKernel",
                {{kSubtree, "cpu memory\n"},
                 {"proc/sys/kernel/osrelease", "6.1.0-40-amd64\n"},
                 {"run/systemd/system/x", ""}},
                "problem cgroup-enabled: '/sys/fs/cgroup/cgroup.subtree_control' lacks cpuset",
                "for unit in init.scope system.slice user.slice; do systemctl set-property $unit "
                "AllowedCPUs=0-1; done; echo '+cpuset' > '/sys/fs/cgroup/cgroup.subtree_control'"},
        Ailment{"OfflineCpus",
                {{"sys/devices/system/cpu/present", "0-9\n"}},
                "warning offline-cpus: 8-9",
                "for cpu in 8 9; do echo 1 > /sys/devices/system/cpu/cpu$cpu/online"}));

INSTANTIATE_TEST_SUITE_P(
    Configurations, DoctorAilment,
    testing::Values(
        Ailment{"Balancing",
                {{"proc/sys/kernel/numa_balancing", "1\n"},
                 {"srv/pinfold/config.yaml",
                  std::string(kStatic) +
                      "memoryManagerPolicy: Static\nsystemReserved: {memory: 924Mi}\n"
                      "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n"}},
                "warning numa-balancing: kernel.numa_balancing is 1",
                "sysctl -w kernel.numa_balancing=0"},
        Ailment{"ReservedCpusDoNotExist",
                {{kConfig,
                  "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                  "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1,99\n"}},
                "problem kubelet-config: ",
                "edit '/var/lib/kubelet/config.yaml', then: systemctl restart kubelet"},
        Ailment{"UnreadableConfig",
                {{kConfig, "cpuManagerPolicy: [\n"}},
                "problem kubelet-config: ",
                "edit '/var/lib/kubelet/config.yaml'"},
        Ailment{
            "OwnConfigDoesNotFit",
            {{"srv/pinfold/config.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: '99'\n"}},
            "problem config: ",
            "edit '/srv/pinfold/config.yaml', then: systemctl reload pinfold"},
        Ailment{"OwnConfigMalformed",
                {{"srv/pinfold/config.yaml", "cpuManagerPolicy: 5\n"}},
                "problem config: ",
                "edit '/srv/pinfold/config.yaml'"},
        Ailment{"WholeCoresWithoutSmt",
                {{kConfig,
                  std::string(kStatic) + "cpuManagerPolicyOptions: {full-pcpus-only: 'true'}\n"}},
                "warning smt: 1 CPU for each core, control is 'notsupported': full-pcpus-only",
                "cpuManagerPolicyOptions"},
        Ailment{"TwoManagers",
                {{"etc/pinfold/agent.yaml", "stateDir: /srv/pinfold\nnri: {index: '10'}\n"}},
                "problem two-managers: the kubelet has cpuManagerPolicy static",
                "edit '/var/lib/kubelet/config.yaml'"},
        Ailment{"MalformedSettings",
                {{"etc/pinfold/agent.yaml", "stateDir: [\n"}},
                "problem service-settings: ",
                "systemctl restart pinfold"}));

INSTANTIATE_TEST_SUITE_P(
    Systemd, DoctorAilment,
    testing::Values(
        Ailment{"NoDelegation",
                {{"etc/systemd/system/pinfold.service", "[Service]\nExecStart=/bin/true\n"}},
                "problem delegation: pinfold.service has no Delegate=",
                "Delegate=cpuset cpu memory"},
        Ailment{"LittleDelegation",
                {{"etc/systemd/system/pinfold.service.d/a.conf",
                  "[Service]\nDelegate=\nDelegate=cpu\n"}},
                "problem delegation: pinfold.service has Delegate=cpu",
                "Delegate=cpuset cpu memory"},
        Ailment{"AllowedCpusOfPods",
                {{"run/systemd/transient/kubepods.slice.d/50-AllowedCPUs.conf",
                  "# transient\n[Slice]\nAllowedCPUs=0-3\n"}},
                "problem systemd-cpusets: AllowedCPUs=0-3 of 'kubepods.slice' in "
                "'/run/systemd/transient/kubepods.slice.d/50-AllowedCPUs.conf'",
                "systemctl daemon-reload"},
        Ailment{"AllowedCpusOfPodsInAFile",
                {{"etc/systemd/system/kubepods-burstable.slice.d/50-AllowedCPUs.conf",
                  "[Slice]\nAllowedCPUs=0-3\n"},
                 {"sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/cpuset.cpus", "0-3\n"}},
                "problem systemd-cpusets: AllowedCPUs=0-3 of 'kubepods-burstable.slice'",
                "systemctl daemon-reload && echo > '/sys/fs/cgroup/kubepods.slice/"
                "kubepods-burstable.slice/cpuset.cpus'"},
        Ailment{"AllowedCpusOfAllSlices",
                {{"etc/systemd/system/slice.d/1.conf", "[Slice]\nAllowedCPUs=4-7\n"},
                 {"sys/fs/cgroup/kubepods.slice/cpuset.cpus", "4-7\n"}},
                "problem systemd-cpusets: AllowedCPUs=4-7 of '-.slice' and 2 more in "
                "'/etc/systemd/system/slice.d/1.conf'",
                "&& echo > '/sys/fs/cgroup/kubepods.slice/cpuset.cpus'"},
        Ailment{"AllowedCpusOfAPrefix",
                {{"etc/systemd/system/kubepods-.slice.d/a.conf", "[Slice]\nAllowedCPUs=0-3\n"},
                 {"sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/cpuset.cpus", "0-3\n"}},
                "problem systemd-cpusets: AllowedCPUs=0-3 of 'kubepods-.slice' and '",
                "systemctl daemon-reload && echo > '/sys/fs/cgroup/kubepods.slice/"
                "kubepods-burstable.slice/cpuset.cpus'"},
        Ailment{"AllowedCpusOfAllScopes",
                {{"etc/systemd/system/scope.d/a.conf", "[Scope]\nAllowedCPUs=0-3\n"}},
                "problem systemd-cpusets: AllowedCPUs=0-3 of 'cri-containerd-.scope' and 2 more",
                "systemctl daemon-reload"},
        Ailment{"CpusThatNoFileSays",
                {{"sys/fs/cgroup/kubepods.slice/cpuset.cpus", "4-5\n"}},
                "problem live-cpusets: /sys/fs/cgroup/kubepods.slice/cpuset.cpus is 4-5, but no "
                "unit file sets this",
                "echo > '/sys/fs/cgroup/kubepods.slice/cpuset.cpus' 2>/dev/null || cat "
                "/sys/devices/system/cpu/possible > '/sys/fs/cgroup/kubepods.slice/cpuset.cpus'"},
        Ailment{"CpusAboveThePods",
                {{"sys/fs/cgroup/machine.slice/cpuset.cpus", "0-3\n"},
                 {"sys/fs/cgroup/machine.slice/kubepods/cpuset.cpus", "\n"}},
                "problem live-cpusets: /sys/fs/cgroup/machine.slice/cpuset.cpus is 0-3",
                "echo > '/sys/fs/cgroup/machine.slice/cpuset.cpus'"},
        Ailment{"NodesAboveThePods",
                {{"sys/fs/cgroup/kubepods/cpuset.mems", "0\n"}},
                "problem live-cpusets: /sys/fs/cgroup/kubepods/cpuset.mems is 0",
                "echo > '/sys/fs/cgroup/kubepods/cpuset.mems' 2>/dev/null || "
                "cat /sys/devices/system/node/possible > '/sys/fs/cgroup/kubepods/cpuset.mems'"},
        Ailment{"NoReservedCpusForPods",
                {{"sys/fs/cgroup/kubepods/cpuset.cpus", "2-7\n"}},
                "warning live-cpusets: /sys/fs/cgroup/kubepods/cpuset.cpus is 2-7",
                "echo > '/sys/fs/cgroup/kubepods/cpuset.cpus'"},
        Ailment{"FewCpusForBestEffort",
                {{"sys/fs/cgroup/kubepods/besteffort/cpuset.cpus", "0-1\n"}},
                "warning live-cpusets: /sys/fs/cgroup/kubepods/besteffort/cpuset.cpus is 0-1",
                "echo > '/sys/fs/cgroup/kubepods/besteffort/cpuset.cpus'"},
        Ailment{"ForeignPartition",
                {{"sys/fs/cgroup/test.slice/cpuset.cpus.partition", "isolated\n"},
                 {"sys/fs/cgroup/test.slice/cpuset.cpus.effective", "1-2\n"}},
                "problem partitions: '/sys/fs/cgroup/test.slice' is a partition ('isolated') with "
                "CPUs 1-2: no container can have CPU 2",
                "echo member > '/sys/fs/cgroup/test.slice/cpuset.cpus.partition'"},
        Ailment{
            "AffinityOfK3s",
            {{"usr/local/lib/systemd/system/k3s.service.d/a.conf", "[Service]\nCPUAffinity=0-1\n"}},
            "warning systemd-affinity: CPUAffinity=0-1 of 'k3s.service'",
            "systemctl daemon-reload"},
        Ailment{"AffinityByTheKernel",
                {{"proc/cmdline", "quiet systemd.cpu_affinity=0,1\n"}},
                "warning systemd-affinity: CPUAffinity=0,1 of 'system.conf' in '/proc/cmdline'",
                "remove 'systemd.cpu_affinity='"},
        Ailment{"AffinityOfEverything",
                {{"etc/systemd/system.conf.d/cpus.conf", "[Manager]\nCPUAffinity=0-1\n"}},
                "warning systemd-affinity: CPUAffinity=0-1 of 'system.conf'",
                "systemctl daemon-reexec"},
        Ailment{"AffinityOfARuntime",
                {{"usr/lib/systemd/system/containerd.service", "[Service]\nCPUAffinity=0-1\n"}},
                "warning systemd-affinity: CPUAffinity=0-1 of 'containerd.service'",
                "systemctl daemon-reload"},
        Ailment{"DamagedState",
                {{"srv/pinfold/cpu_manager_state", "{"}},
                "problem state-files: '/srv/pinfold/cpu_manager_state': ",
                "pinfold checkpoint repair '/srv/pinfold'"},
        Ailment{"DamagedStateWithAJournal",
                {{"srv/pinfold/cpu_manager_state", "{"}, {"srv/pinfold/.pinfold_journal", "x"}},
                "warning state-files: '/srv/pinfold/cpu_manager_state': ",
                "pinfold checkpoint repair '/srv/pinfold'"},
        Ailment{"NoSocket",
                {{"run/pinfold/agent.sock", ""}},
                "problem service: '/run/pinfold/agent.sock' is not a socket",
                "rm '/run/pinfold/agent.sock'"},
        Ailment{"ServiceWithoutSocket",
                {{"proc/300/cmdline", std::string("/usr/libexec/pinfold/pinfold-serve\0", 35)}},
                "warning service: process 300 runs without the socket",
                "systemctl restart pinfold"}));

TEST(Doctor, AcceptsWhatKeepsNothingFromContainers) {
  const DoctorTree tree;
  // Isolated CPUs that come from cgroup partitions, not from isolcpus.
  tree.write("sys/devices/system/cpu/isolated", "4-5\n");
  // Groups with all CPUs, none, or only reserved ones; invalid partitions; Pinfold's own groups.
  tree.write("sys/fs/cgroup/kubepods/cpuset.cpus", "0-7\n");
  tree.write("sys/fs/cgroup/kubepods/burstable/cpuset.cpus", "\n");
  tree.write("sys/fs/cgroup/system.slice/cpuset.cpus", "0\n");
  tree.write("sys/fs/cgroup/a/cpuset.cpus.partition", "isolated\n");
  tree.write("sys/fs/cgroup/a/cpuset.cpus.effective", "0-1\n");
  tree.write("sys/fs/cgroup/b/cpuset.cpus.partition", "root invalid (Cpu list is empty)\n");
  tree.write("sys/fs/cgroup/b/cpuset.cpus.effective", "2-3\n");
  tree.write("sys/fs/cgroup/pinfold/cpuset.cpus.partition", "root\n");
  tree.write("sys/fs/cgroup/pinfold/cpuset.cpus.effective", "2-3\n");
  tree.write("proc/cmdline", "irqaffinity=0-7\n");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))), IsEmpty());
}

TEST(Doctor, ReadsTheCommandLineAsTheKernelDoes) {
  struct Row {
    const char* command_line;
    const char* isolcpus;
  };
  for (const Row& row : {
           Row{"isolcpus=managed_irq,4-7", "isolcpus=managed_irq,4-7"},
           Row{"isolcpus=nohz,0-7", "isolcpus=nohz,0-7"},  // nohz_full is judged by its own file
           Row{"quiet -- isolcpus=0-7 irqaffinity=4-7", "not on the kernel's command line"},
       }) {
    const DoctorTree tree;
    tree.write("proc/cmdline", row.command_line);
    const Checks checks = check_system(observe_doctor(tree));
    EXPECT_THAT(complaints(checks), IsEmpty()) << row.command_line;
    EXPECT_THAT(checks, Contains(AllOf(testing::Field(&Check::name, "isolcpus"),
                                       testing::Field(&Check::observed, row.isolcpus))));
  }
}

TEST(Doctor, SaysWhatItHasNotChecked) {
  const DoctorTree tree;
  tree.tree().dir().remove("proc/cmdline");
  tree.tree().dir().remove("sys/devices/system/cpu/isolated");
  tree.tree().dir().remove("sys/devices/system/cpu/nohz_full");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))),
              ElementsAre(HasSubstr("unknown isolcpus: not checked"),
                          HasSubstr("unknown nohz_full: not checked"),
                          HasSubstr("unknown irqaffinity: not checked")));
  tree.write("proc/cmdline", "isolcpus=managed-irq,2-7 nohz_full=2-99\n");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))),
              ElementsAre(HasSubstr("unknown isolcpus: not checked: 'isolcpus=managed-irq,2-7'"),
                          HasSubstr("unknown nohz_full: not checked: 'nohz_full=2-99'")));
  tree.write("proc/cmdline", "isolcpus=domain,1-3 nohz_full=2-N\n");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))),
              ElementsAre(HasSubstr("warning isolcpus: isolcpus=1-3 has reserved CPU 1")));
}

TEST(Doctor, WarnsThatOldKernelsForgetAffinities) {
  const DoctorTree tree;
  tree.write(kSubtree, "cpu memory\n");
  tree.write("proc/sys/kernel/osrelease", "6.1.0-40-amd64\n");
  tree.tree().write_process(812, 1, "db", "0-1", "system.slice/db.service");
  EXPECT_THAT(check_system(observe_doctor(tree)).front().caution,
              AllOf(HasSubstr("resets the CPU affinity of processes"),
                    HasSubstr("such as process "), HasSubstr("AllowedCPUs=0-1")));
  tree.write("proc/sys/kernel/osrelease", "6.2.0-1-amd64\n");
  EXPECT_EQ(check_system(observe_doctor(tree)).front().caution, "");
  tree.write("proc/sys/kernel/osrelease", "6.1.0-40-amd64\n");
  tree.write(kSubtree, "cpuset cpu\n");  // memory costs nothing
  EXPECT_EQ(check_system(observe_doctor(tree)).front().caution, "");
}

TEST(Doctor, TakesTheSocketThatTheServiceListensAt) {
  const DoctorTree tree;
  using namespace std::string_literals;
  tree.write("proc/300/cmdline", "/usr/libexec/pinfold/pinfold-serve\0--socket=/run/x.sock\0"s);
  const test::UnixListener listener(tree.tree().dir() / "run/x.sock");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))), IsEmpty());
}

TEST(Doctor, WarnsOfPodResourcesAtTheKubeletsSocket) {
  const DoctorTree tree;
  tree.write_config("cpuManagerPolicy: none\n");
  const auto settings = [&](const std::string& fields) {
    tree.write("etc/pinfold/agent.yaml", "stateDir: /srv/pinfold\n" + fields);
    return complaints(check_system(observe_doctor(tree)));
  };
  const std::string nri = "nri: {index: '10'}\n";
  EXPECT_THAT(
      settings(nri + "podResourcesSocket: /var/lib/kubelet/pod-resources/kubelet.sock\n"),
      ElementsAre(HasSubstr("warning pod-resources: podResourcesSocket is '/var/lib/kubelet")));
  EXPECT_THAT(settings(nri + "podResourcesSocket: 'off'\n"),
              ElementsAre(HasSubstr("warning pod-resources: podResourcesSocket is off")));
  EXPECT_THAT(settings(nri), IsEmpty());
  EXPECT_THAT(settings(nri + "podResourcesSocket: /run/p.sock\n"), IsEmpty());
  EXPECT_THAT(settings("podResourcesSocket: /var/lib/kubelet/pod-resources/kubelet.sock\n"),
              IsEmpty());
}

TEST(Doctor, WarnsThatKubeVirtNeedsAStaticKubelet) {
  const DoctorTree tree;
  tree.tree().dir().remove("var/lib/kubelet/cpu_manager_state");
  tree.write_config("cpuManagerPolicy: none\n");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))), IsEmpty());
  tree.tree().write_process(77, 1, "virt-handler", "0-7", "kubepods.slice");
  const Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(
      complaints(checks),
      ElementsAre("warning kubevirt: process 77 (virt-handler) belongs to KubeVirt, but the "
                  "kubelet's CPU manager policy is 'none': virtual machines with "
                  "dedicatedCpuPlacement stay Pending here"));
  EXPECT_THAT(checks.front().expected, HasSubstr("cpumanager=false"));
  tree.write(kConfig, kStatic);
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))), IsEmpty());
}

TEST(Doctor, NamesTheFileAndUnitOfADistribution) {
  const DoctorTree tree;
  tree.write("proc/100/cmdline", "/usr/local/bin/k3s server");
  tree.write("etc/rancher/k3s/config.yaml",
             "kubelet-arg: [cpu-manager-policy=static, 'reserved-cpus=0-1,99']\n");
  const Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(complaints(checks), ElementsAre(HasSubstr("problem kubelet-config: ")));
  EXPECT_EQ(checks.front().remedy,
            "edit '/etc/rancher/k3s/config.yaml', then: systemctl restart k3s");
}

/// A flag overrides the file, and so does a drop-in.
TEST(Doctor, NamesThePlaceThatDecides) {
  const DoctorTree tree;
  tree.write("proc/100/cmdline",
             "kubelet\0--config=/var/lib/kubelet/config.yaml\0--reserved-cpus=99\0"s);
  Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(checks.front().observed, HasSubstr("; pass --reserved-cpus=0"));
  EXPECT_EQ(checks.front().remedy,
            "edit the flags that 'systemctl cat kubelet' shows, then: systemctl daemon-reload; "
            "systemctl restart kubelet");
  tree.write("proc/100/cmdline",
             "kubelet\0--config=/var/lib/kubelet/config.yaml\0--config-dir=/etc/kubelet.d\0"s);
  tree.write("etc/kubelet.d/50-cpus.conf",
             "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
             "reservedSystemCPUs: '99'\nreservedSystemCpu: '1'\n");
  checks = check_system(observe_doctor(tree));
  EXPECT_THAT(checks.front().observed,
              HasSubstr("; write in '/etc/kubelet.d/50-cpus.conf': reservedSystemCPUs: "));
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(checks.at(i).remedy,
              "edit '/etc/kubelet.d/50-cpus.conf', then: systemctl restart kubelet")
        << checks.at(i).observed;
  }
  tree.write("etc/kubelet.d/50-cpus.conf", "kind: [\n");
  EXPECT_EQ(check_system(observe_doctor(tree)).front().remedy,
            "edit '/etc/kubelet.d/50-cpus.conf', then: systemctl restart kubelet");
}

TEST(Doctor, SaysHowAUserGetsCpusets) {
  const DoctorTree tree;
  const auto remedy = [&] {
    ObservedSystem system = observe_doctor(tree);
    system.cgroups.directories.back().is_writable = false;
    return check_system(system).front().remedy;
  };
  tree.write("usr/lib/systemd/system/user@.service", "[Service]\nDelegate=pids memory cpu\n");
  EXPECT_THAT(remedy(), HasSubstr("Delegate=cpuset cpu memory pids"));
  tree.write("etc/systemd/system/user@.service.d/d.conf", "[Service]\nDelegate=cpuset\n");
  EXPECT_THAT(remedy(), Not(HasSubstr("Delegate=cpuset")));
}

TEST(Doctor, SaysThatContainerdHidesHugePages) {
  DoctorTree tree;
  const auto says_so = [&] {
    const auto found = complaints(check_system(observe_doctor(tree)));
    return std::any_of(found.begin(), found.end(), [](const std::string& line) {
      return line.starts_with("warning containerd-huge-pages: ");
    });
  };
  tree.write("etc/pinfold/agent.yaml", "stateDir: /srv/pinfold\nnri: {podLevelResources: none}\n");
  tree.write("srv/pinfold/config.yaml", std::string(kStatic) + "memoryManagerPolicy: Static\n");
  EXPECT_FALSE(says_so()) << "no containerd, and no huge pages";
  const std::string pages = "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
  tree.write(pages, "0\n");
  const struct {
    const char* config;
    bool is_hidden;
  } cases[] = {
      {"", true},
      {"[plugins.'io.containerd.cri.v1.runtime']\n  disable_hugetlb_controller = true\n", true},
      {"# disable_hugetlb_controller = false\n", true},
      {"  disable_hugetlb_controller = false\n", false},
      {"disable_hugetlb_controller=false # passed on\n", false},
  };
  for (const auto& one : cases) {
    tree.write("etc/containerd/config.toml", one.config);
    tree.write(pages, "0\n");
    EXPECT_FALSE(says_so()) << "sizes without pages: " << one.config;
    tree.write(pages, "8\n");
    EXPECT_EQ(says_so(), one.is_hidden) << one.config;
  }
}

/// The verdict about the barrier and its text; "" without one.
std::string barrier_verdict(const DoctorTree& tree) {
  for (const Check& check : check_system(observe_doctor(tree))) {
    if (check.name == "barrier")
      return fmt::format("{}: {}", to_string(check.verdict), check.observed);
  }
  return "";
}

TEST(Doctor, SaysThatABarrierIsMissing) {
  const DoctorTree tree;
  EXPECT_EQ(barrier_verdict(tree), "");
  tree.write(
      "srv/pinfold/cpu_manager_state",
      R"({"policyName":"static","defaultCpuSet":"0-5","entries":{"u":{"main":"6-7"}},"checksum":1})");
  EXPECT_EQ(barrier_verdict(tree), "") << "nothing is pinned through NRI";
  tree.write("etc/pinfold/agent.yaml", "stateDir: /srv/pinfold\nnri: {podLevelResources: none}\n");
  EXPECT_THAT(barrier_verdict(tree), testing::StartsWith("warning: no barrier behind NRI"));
}

TEST(Doctor, FindsABarrierThatIsHalfInstalled) {
  const DoctorTree tree;
  const std::string hook = R"({"path":"/usr/libexec/pinfold/pinfold-gate"})";
  const std::string spec = R"({"ociVersion":"1.0.2","hooks":{"createRuntime":[)" + hook + "]}}";
  tree.write("etc/containerd/pinfold-gate.json", spec);
  EXPECT_THAT(barrier_verdict(tree),
              HasSubstr("problem: '/etc/containerd/pinfold-gate.json' exists, but"));
  tree.write("etc/containerd/config.toml",
             "  base_runtime_spec = \"/etc/containerd/pinfold-gate.json\" # by 'pinfold barrier "
             "install'\n");
  EXPECT_THAT(barrier_verdict(tree),
              HasSubstr("'/usr/libexec/pinfold/pinfold-gate', which does not exist"));
  tree.write("usr/libexec/pinfold/pinfold-gate", "");
  EXPECT_EQ(barrier_verdict(tree), "ok: installed: containerd");
  for (const char* const other :
       {"{}", "[]", R"({"hooks":[]})", R"({"hooks":{"createRuntime":[1]}})"}) {
    tree.write("etc/containerd/pinfold-gate.json", other);
    EXPECT_THAT(barrier_verdict(tree), HasSubstr("has no hook pinfold-gate")) << other;
  }
  tree.tree().dir().remove("etc/containerd/pinfold-gate.json");
  EXPECT_THAT(barrier_verdict(tree), HasSubstr("problem: '/etc/containerd/pinfold-gate.json'"));
}

TEST(Doctor, FindsABarrierOfPodman) {
  const DoctorTree tree;
  tree.write("usr/share/containers/oci/hooks.d/zz-pinfold-gate.json",
             R"({"version":"1.0.0","hook":{"path":"/opt/pinfold-gate"}})");
  EXPECT_THAT(barrier_verdict(tree), HasSubstr("'/opt/pinfold-gate', which does not exist"));
  tree.write("opt/pinfold-gate", "");
  EXPECT_EQ(barrier_verdict(tree),
            "ok: installed: /usr/share/containers/oci/hooks.d/zz-pinfold-gate.json");
}

TEST(Doctor, AcceptsSettingsThatAreTakenBack) {
  const DoctorTree tree;
  tree.write("etc/systemd/system/kubepods.slice", "[Slice]\nAllowedCPUs=0-3\n");
  tree.write("etc/systemd/system/kubepods.slice.d/a.conf", "[Slice]\nAllowedCPUs=\n");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))), IsEmpty());
}

TEST(Doctor, JudgesByWhatTheKernelShows) {
  const DoctorTree tree;
  tree.write("proc/sys/kernel/osrelease", "4.18.0-553.el8\n");
  tree.write("srv/pinfold/config.yaml", std::string(kStatic) + "pinfold: {partition: root}\n");
  tree.write("sys/fs/cgroup/system.slice/cgroup.kill", "");
  tree.write("sys/fs/cgroup/system.slice/cpuset.cpus.exclusive", "");
  ObservedSystem system = observe_doctor(tree);
  EXPECT_EQ(system.kernel.features, (KernelFeatures{true, {}, {}, true, true}));
  EXPECT_THAT(complaints(check_system(system)),
              ElementsAre("warning kernel: Linux 4.18.0-553.el8 lacks pidfd (5.3, according to "
                          "the release number): a reused process id can be mistaken for the old "
                          "process; openat2 (5.6, according to the release number): 'pinfold "
                          "audit' and 'pinfold doctor' cannot read another root"));
  system.kernel.features = {true, true, true, true, true};
  EXPECT_THAT(complaints(check_system(system)), IsEmpty());
  system.kernel.release = "6.12.9";
  system.kernel.features.cgroup_kill = false;
  EXPECT_THAT(complaints(check_system(system)),
              ElementsAre("warning kernel: Linux 6.12.9 lacks cgroup.kill (5.14): processes of a "
                          "removed pod are killed one by one"));
}

TEST(Doctor, FindsAKernelWithoutCgroupV2) {
  const DoctorTree tree;
  tree.write("proc/1/mountinfo", "");
  tree.write("proc/filesystems", "nodev\tcgroup\n\text4\n");
  const KernelFeatures features = observe_doctor(tree).kernel.features;
  EXPECT_EQ(features, (KernelFeatures{false, {}, {}, false, false}));
}

TEST(Doctor, AKubeletThatFailsOnCgroupV1IsAProblem) {
  const DoctorTree tree;
  tree.tree().dir().remove("sys/fs/cgroup");
  tree.write("sys/fs/cgroup/cpuset/tasks", "");
  tree.write("proc/1/mountinfo",
             "31 24 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  for (const auto& [field, expected] : {std::pair("failCgroupV1: true\n", "problem"),
                                        std::pair("failCgroupV1: false\n", "warning")}) {
    tree.write(kConfig, std::string(kStatic) + field);
    EXPECT_THAT(
        complaints(check_system(observe_doctor(tree))),
        Contains(std::string(expected) + " cgroup-mode: cgroup v1 below /sys/fs/cgroup/cpuset"));
  }
}

TEST(Doctor, NamesCgroupModes) {
  const DoctorTree tree;
  const std::string v1 =
      "31 24 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "32 24 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "33 24 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  tree.tree().dir().remove("sys/fs/cgroup");
  tree.write("sys/fs/cgroup/cpuset/tasks", "");
  tree.write("proc/1/mountinfo", v1);
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))),
              ElementsAre("warning cgroup-mode: cgroup v1 below /sys/fs/cgroup/cpuset"));
  tree.write("proc/1/mountinfo",
             v1 + "34 24 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))),
              ElementsAre("warning cgroup-mode: hybrid: cpusets on cgroup v1 below "
                          "/sys/fs/cgroup/cpuset, v2 at /sys/fs/cgroup/unified"));
  tree.write("proc/1/mountinfo", "");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))),
              Contains("problem cgroup-mode: no control groups are mounted"));
  tree.tree().dir().remove("proc/1/mountinfo");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))),
              ElementsAre(HasSubstr("unknown cgroup-mode: read '"),
                          HasSubstr("unknown live-cpusets: not checked"),
                          HasSubstr("unknown partitions: not checked")));
}

TEST(Doctor, NamesWhatOthersCanChange) {
  const DoctorTree tree;
  const auto path = tree.tree().dir() / "srv/pinfold/config.yaml";
  std::filesystem::permissions(path, std::filesystem::perms::group_write,
                               std::filesystem::perm_options::add);
  const Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(complaints(checks),
              ElementsAre("problem state-directory: others can change '/srv/pinfold/config.yaml'"));
  EXPECT_EQ(checks.front().remedy,
            "chown root '/srv/pinfold/config.yaml' && chmod go-w '/srv/pinfold/config.yaml'");
}

TEST(Doctor, ComparesWithHwloc) {
  const DoctorTree tree;
  ObservedSystem system = observe_doctor(tree);
  system.hwloc = system.machine;
  EXPECT_THAT(complaints(check_system(system)), IsEmpty());
  MachineDescription other = system.machine->description();
  other.numa_nodes[1].memory /= 2;
  system.hwloc = Machine::make(other).value();
  EXPECT_THAT(complaints(check_system(system)),
              ElementsAre("warning hwloc: /sys has NUMA node 1 with 8589934592 bytes, hwloc finds "
                          "4294967296"));
  other.cpus.pop_back();
  system.hwloc = Machine::make(other).value();
  EXPECT_THAT(complaints(check_system(system)),
              ElementsAre("warning hwloc: /sys has CPUs 0-7, hwloc finds 0-6"));
  system.hwloc.reset();
  system.hwloc_error = "hwloc finds no machine there";
  EXPECT_THAT(complaints(check_system(system)),
              ElementsAre("unknown hwloc: hwloc finds no machine there"));
}

TEST(Doctor, NamesADirectoryThatCannotBeWritten) {
  const DoctorTree tree;
  ObservedSystem system = observe_doctor(tree);
  system.cgroups.directories.back().is_writable = false;
  EXPECT_THAT(complaints(check_system(system)),
              ElementsAre("problem cgroup-writable: this user cannot write '/sys/fs/cgroup'"));
}

TEST(Doctor, NeedsAMachine) {
  const DoctorTree tree;
  tree.tree().dir().remove("sys/devices");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))),
              Contains(HasSubstr("problem machine: ")));
}

TEST(Doctor, WritesJson) {
  const DoctorTree tree;
  tree.write(kNohzFull, "0-7\n");
  const ObservedSystem system = observe_doctor(tree);
  const nlohmann::json out = to_json(check_system(system), system);
  EXPECT_EQ(out["root"], tree.path());
  EXPECT_EQ(out["ok"], true);
  EXPECT_EQ(out["warningCount"], 1);
  EXPECT_EQ(out["checks"][0]["name"], "nohz_full");
  EXPECT_EQ(out["checks"][0]["verdict"], "warning");
}

TEST(Doctor, NamesHugePagesThatAReservationLacks) {
  const DoctorTree tree;
  tree.write(kConfig, std::string(kStatic) +
                          "reservedMemory: [{numaNode: 1, limits: {hugepages-2Mi: 4Mi}}]\n");
  const Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(
      complaints(checks),
      ElementsAre(
          testing::StartsWith("problem huge-pages: NUMA node 1 has 0 bytes of hugepages-2Mi"),
          HasSubstr("reservedMemory has no effect with memoryManagerPolicy 'None'")));
  EXPECT_THAT(checks.front().remedy, HasSubstr("echo 2 > /sys/devices/system/node/node1/hugepages/"
                                               "hugepages-2048kB/nr_hugepages"));
}

TEST(Doctor, WarnsOfUnknownFieldsAndGatesOfTheKubelet) {
  const DoctorTree tree;
  tree.write(kConfig,
             std::string(kStatic) + "reservedCpus: 0-4\nfeatureGates: {AlertingRules: false}\n");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))),
              testing::UnorderedElementsAre(
                  HasSubstr("warning kubelet-config-warning: unknown field 'reservedCpus'"),
                  HasSubstr("warning kubelet-config-warning: feature gates")));
}

TEST(Doctor, WarnsThatKubelet136DoesNotStartWithAnUnknownGate) {
  const DoctorTree tree;
  tree.write(kConfig, std::string(kStatic) + "featureGates: {NoSuchGate: false}\n");
  EXPECT_THAT(
      complaints(check_system(observe_doctor(tree))),
      testing::UnorderedElementsAre(
          testing::AllOf(HasSubstr("warning kubelet-config: "),
                         HasSubstr("unrecognized feature gate: NoSuchGate"),
                         HasSubstr("/config.yaml': featureGates: {}"), HasSubstr("(kubelet-1.36)")),
          HasSubstr("warning kubelet-config-warning: feature gates")));
}

}  // namespace
}  // namespace pinfold::audit
