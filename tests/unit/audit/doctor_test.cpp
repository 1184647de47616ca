#include "pinfold/audit/doctor.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "doctor_tree.hpp"

namespace pinfold::audit {
namespace {

using test::DoctorTree;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ObservedSystem observe_doctor(const DoctorTree& tree) {
  const auto opened = Tree::open(tree.path());
  EXPECT_TRUE(opened) << opened.error().message;
  return observe_system(*opened, {});
}

/// "problem huge-pages: NUMA node 0 has ..." for each check that is not ok.
std::vector<std::string> complaints(const Checks& checks) {
  std::vector<std::string> lines;
  for (const Check& check : checks) {
    if (check.verdict == Verdict::kOk) continue;
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
      names, ElementsAre("cgroup-mode", "cgroup-controllers", "cgroup-enabled", "cgroup-writable",
                         "kernel", "isolcpus", "nohz_full", "offline-cpus", "numa-balancing",
                         "machine", "kubelet-config", "config", "smt", "huge-pages", "two-managers",
                         "delegation", "systemd-cpusets", "systemd-affinity", "state-directory",
                         "state-files", "service"));
}

/// One change of a healthy machine, and the only complaint that it gives.
struct Ailment {
  const char* name;
  std::vector<std::pair<std::string, std::string>> files;  ///< path and new content
  std::string complaint;                                   ///< begins so
  std::string mend;                                        ///< a part of it
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const Ailment& ailment, std::ostream* out) { *out << ailment.name; }

class DoctorAilment : public testing::TestWithParam<Ailment> {};

TEST_P(DoctorAilment, IsTheOnlyComplaint) {
  const DoctorTree tree;
  for (const auto& [path, content] : GetParam().files) tree.write(path, content);
  const Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(complaints(checks), ElementsAre(testing::StartsWith(GetParam().complaint)));
  EXPECT_THAT(checks.front().mend, HasSubstr(GetParam().mend));
}

const char* const kConfig = "var/lib/kubelet/config.yaml";
const char* const kSubtree = "sys/fs/cgroup/cgroup.subtree_control";
const char* const kStatic = "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n";

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
        Ailment{
            "OldKernel",
            {{"proc/sys/kernel/osrelease", "5.10.0-28-amd64\n"}},
            "warning kernel: Linux 5.10.0-28-amd64 lacks cgroup.kill (5.14, by the release number)",
            "newer kernel"},
        Ailment{
            "PartitionsNeedANewerKernel",
            {{"proc/sys/kernel/osrelease", "6.1.0\n"},
             {"srv/pinfold/config.yaml", std::string(kStatic) + "pinfold: {partition: root}\n"}},
            "warning kernel: Linux 6.1.0 lacks partitions below other groups (6.7, "
            "by the release number)",
            "newer kernel"},
        Ailment{"UnknownKernel",
                {{"proc/sys/kernel/osrelease", "new\n"}},
                "unknown kernel: '/proc/sys/kernel/osrelease': 'new'",
                ""},
        Ailment{"IsolatedReservedCpus",
                {{"proc/cmdline", "isolcpus=domain,managed_irq,1-3 quiet\n"}},
                "warning isolcpus: isolcpus=1-3 has reserved CPUs 1",
                "remove CPUs 1 from 'isolcpus='"},
        Ailment{"IsolatedSharedPool",
                {{"proc/cmdline", "isolcpus=4-7\n"}},
                "warning isolcpus: isolcpus=4-7: the kernel balances no load there",
                "remove 'isolcpus='"},
        Ailment{"TicklessReservedCpus",
                {{"proc/cmdline", "nohz_full=0-7\n"}},
                "warning nohz_full: nohz_full=0-7 has reserved CPUs 0-1",
                "remove CPUs 0-1 from 'nohz_full='"},
        Ailment{"MalformedParameter",
                {{"proc/cmdline", "isolcpus=7-2\n"}},
                "unknown isolcpus: 'isolcpus=' on the kernel's command line",
                "cat /proc/cmdline"},
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
                {{kConfig, "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1,99\n"}},
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
        Ailment{"PagesMissing",
                {{kConfig, std::string(kStatic) +
                               "reservedMemory: [{numaNode: 1, limits: {hugepages-2Mi: 4Mi}}]\n"}},
                "problem huge-pages: NUMA node 1 has 0 bytes of hugepages-2Mi",
                "echo 2 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"},
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

TEST(Doctor, AcceptsSettingsThatAreTakenBack) {
  const DoctorTree tree;
  tree.write("etc/systemd/system/kubepods.slice", "[Slice]\nAllowedCPUs=0-3\n");
  tree.write("etc/systemd/system/kubepods.slice.d/a.conf", "[Slice]\nAllowedCPUs=\n");
  EXPECT_THAT(complaints(check_system(observe_doctor(tree))), IsEmpty());
}

TEST(UnitFile, HasAssignments) {
  using Assignments = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(parse_unit_file("[Service]\n A = b c \n#C=d\n;E=f\nG\n=h\nA=\r\nI=j=k"),
            (Assignments{{"A", "b c"}, {"A", ""}, {"I", "j=k"}}));
  EXPECT_EQ(parse_unit_file("A=0-1 \\\n# a comment\n  4-5\nB=c\\\\\nD=\\"),
            (Assignments{{"A", "0-1    4-5"}, {"B", "c\\\\"}, {"D", ""}}));
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
              ElementsAre("warning kernel: Linux 4.18.0-553.el8 lacks pidfd (5.3, by the release "
                          "number): a process id that is used again can be mistaken; openat2 (5.6, "
                          "by the release number): 'pinfold audit' and 'pinfold doctor' read no "
                          "other root"));
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
              ElementsAre(HasSubstr("unknown cgroup-mode: read '")));
}

TEST(Doctor, NamesWhatOthersCanChange) {
  const DoctorTree tree;
  const auto path = tree.tree().dir() / "srv/pinfold/config.yaml";
  std::filesystem::permissions(path, std::filesystem::perms::group_write,
                               std::filesystem::perm_options::add);
  const Checks checks = check_system(observe_doctor(tree));
  EXPECT_THAT(complaints(checks),
              ElementsAre("problem state-directory: others can change '/srv/pinfold/config.yaml'"));
  EXPECT_EQ(checks.front().mend,
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
  tree.write("proc/cmdline", "nohz_full=0-7\n");
  const ObservedSystem system = observe_doctor(tree);
  const nlohmann::json out = to_json(check_system(system), system);
  EXPECT_EQ(out["root"], tree.path());
  EXPECT_EQ(out["ok"], true);
  EXPECT_EQ(out["warnings"], 1);
  EXPECT_EQ(out["checks"][0]["name"], "nohz_full");
  EXPECT_EQ(out["checks"][0]["verdict"], "warning");
}

}  // namespace
}  // namespace pinfold::audit
