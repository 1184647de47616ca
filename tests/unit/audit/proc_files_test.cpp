#include "pinfold/audit/proc_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pinfold/audit/container_names.hpp"
#include "pinfold/audit/pod_resources.hpp"

namespace pinfold::audit {
namespace {

using testing::HasSubstr;

TEST(ProcStat, HasANameWithAnything) {
  const auto stat = parse_proc_stat("7 (a) (b) c) S 3 7 7 0 -1 69238880 0 0 0");
  ASSERT_TRUE(stat);
  EXPECT_EQ(*stat, (ProcStat{"a) (b) c", 3, true, true, false}));
  EXPECT_TRUE(parse_proc_stat("7 (x) Z 3 7 7 0 -1 0 0")->has_ended);
  for (const char* const text :
       {"", "7", "7 (", "7 (x", "7 (x)", "7 (x) S", "7 (x) S y 0 0 0 0 1"}) {
    EXPECT_FALSE(parse_proc_stat(text)) << text;
  }
}

TEST(ProcStat, IsSplitIntoFields) {
  const auto fields = split_proc_stat("7 (a) (b) c) S 3 7 7 0 -1 69238880\n");
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->id, "7");
  EXPECT_EQ(fields->name, "a) (b) c");
  EXPECT_EQ(fields->field(3), "S");
  EXPECT_EQ(fields->field(9), "69238880");
  EXPECT_EQ(fields->field(10), "");
}

TEST(ProcStatus, HasValuesByName) {
  constexpr std::string_view kStatus = "Tgidx:\t1\nTgid:\t 7 \nTgid:\t8\n";
  EXPECT_EQ(status_value(kStatus, "Tgid"), "7");
  EXPECT_EQ(status_value(kStatus, "Tgi"), "");
}

TEST(ProcStatus, HasAllowedCpus) {
  EXPECT_EQ(
      parse_allowed_cpus("Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-2,5\nMems:\t1\n"),
      (CpuSet{0, 1, 2, 5}));
  EXPECT_FALSE(parse_allowed_cpus("Name:\tx\n"));
  EXPECT_FALSE(parse_allowed_cpus("Cpus_allowed_list:\t\n"));
  EXPECT_FALSE(parse_allowed_cpus("Cpus_allowed_list:\t0-\n"));
}

TEST(CgroupProcs, AreSortedWithoutForeignOnes) {
  EXPECT_EQ(parse_pids("7\n3\n0\n7\nx\n-1\n"), (std::vector<pid_t>{3, 7}));
}

TEST(CpuQuota, IsReadFromBothVersions) {
  EXPECT_EQ(parse_cpu_max("200000 100000\n"), (enforce::CpuQuota{200000, 100000}));
  EXPECT_FALSE(parse_cpu_max("max 100000").quota_us);
  EXPECT_FALSE(parse_cpu_max("").quota_us);
  EXPECT_EQ(parse_cfs("50000", "100000"), (enforce::CpuQuota{50000, 100000}));
  EXPECT_FALSE(parse_cfs("-1", "100000").quota_us);
  EXPECT_EQ(parse_throttled("nr_periods 4\nnr_throttled 3\nthrottled_usec 70\n"),
            (Throttled{3, 70}));
  EXPECT_EQ(parse_throttled("nr_throttled 3\nthrottled_time 70999\n"), (Throttled{3, 70}));
  EXPECT_EQ(parse_throttled("nr_throttled -3\nthrottled_usec\n"), Throttled{});
}

TEST(Interrupts, AreCountedByCpu) {
  const Interrupts interrupts = parse_interrupts(
      "     CPU0  CPU3\n  9:  5  0  IO-APIC acpi\n 10:  0  2 MSI nvme\nNMI: 1 1 other\n 11: 1\n");
  EXPECT_EQ(interrupts.came_on(9, CpuSet{0, 3}), (CpuSet{0}));
  EXPECT_EQ(interrupts.came_on(10, CpuSet{0, 3}), (CpuSet{3}));
  EXPECT_EQ(interrupts.came_on(10, CpuSet{0}), CpuSet{});
  EXPECT_EQ(interrupts.came_on(11, CpuSet{0}), CpuSet{});
  EXPECT_EQ(interrupts.names.at(10), "MSI nvme");
  EXPECT_TRUE(parse_interrupts("CPUx\n 1: 1\n").counts.empty());
}

TEST(KernelCommandLine, HasQuotedValues) {
  using Parameters = std::vector<KernelParameter>;
  EXPECT_EQ(parse_kernel_command_line("a  b=c=d e=\"f g\" \"h=i j\" k=\"\n"),
            (Parameters{{"a", ""}, {"b", "c=d"}, {"e", "f g"}, {"h", "i j"}, {"k", "\n"}}));
}

TEST(CpuMask, IsReadAsTheKernelShowsIt) {
  EXPECT_EQ(parse_cpu_mask("f"), (CpuSet{0, 1, 2, 3}));
  EXPECT_EQ(parse_cpu_mask("00000001,80000002"), (CpuSet{1, 31, 32}));
  EXPECT_EQ(parse_cpu_mask("00000000"), CpuSet{});
  for (const char* const text : {"", "x", "0-3", "1 2"}) EXPECT_FALSE(parse_cpu_mask(text)) << text;
  EXPECT_FALSE(parse_cpu_mask("1" + std::string(100'000, '0')));
}

TEST(FirstProcess, IsReadFromEachRuntimesFile) {
  EXPECT_EQ(parse_init("1234\n"), 1234);
  EXPECT_EQ(parse_init(R"({"id":"x","init_process_pid":77,"pid":1})"), 77);
  EXPECT_EQ(parse_init(R"({"pid":78})"), 78);
  for (const char* const text :
       {"", "0", "-3", "12x", "{", "{}", R"({"pid":"7"})", "99999999999"}) {
    EXPECT_FALSE(parse_init(text)) << text;
  }
}

TEST(Bundle, OfAnotherProgramHasNoName) {
  for (const char* const text :
       {"", "[]", "{", "null", R"({"annotations":[]})", R"({"annotations":{"a":1}})",
        R"({"annotations":{"io.kubernetes.cri.container-name":7}})",
        R"({"Config":{"Labels":7}})"}) {
    EXPECT_FALSE(parse_bundle(text)) << text;
    EXPECT_FALSE(parse_docker_config(text)) << text;
  }
}

TEST(PodResourcesJson, NamesWhatIsWrong) {
  struct Row {
    const char* text;
    const char* error;
  };
  for (const Row& row : {
           Row{"[]", "expected an object"},
           Row{R"({"podResources":1})", "podResources: 1: expected a list"},
           Row{R"({"podResources":[7]})", "podResources[0]: 7: expected an object"},
           Row{R"({"podResources":[{"containers":[{"cpuIds":["x"]}]}]})",
               "podResources[0].containers.cpuIds: 'x': expected the number of a CPU"},
           Row{R"({"podResources":[{"containers":[{"cpuIds":[-1]}]}]})", "-1: expected the number"},
       }) {
    const auto parsed = parse_pod_resources(row.text);
    ASSERT_FALSE(parsed) << row.text;
    EXPECT_THAT(parsed.error().message, HasSubstr(row.error));
  }
}

}  // namespace
}  // namespace pinfold::audit
