#include "pinfold/audit/boot_parameters.hpp"

#include <gtest/gtest.h>

namespace pinfold::audit {
namespace {

constexpr CpuId kLast{15};

TEST(BootCpus, AreReadAsTheKernelReadsThem) {
  struct Row {
    const char* list;
    const char* cpus;
  };
  for (const Row& row :
       {Row{"0-3,8", "0-3,8"}, Row{"8-N", "8-15"}, Row{"N", "15"}, Row{"all", "0-15"},
        Row{"ALL", "0-15"}, Row{"all:1/4", "0,4,8,12"}, Row{"0-15:2/4,15", "0-1,4-5,8-9,12-13,15"},
        Row{"3-9:2/3", "3-4,6-7,9"}, Row{"0-7:0/2", ""}, Row{",, 3\t4,", "3-4"}, Row{"", ""}}) {
    const auto cpus = parse_boot_cpus(row.list, kLast);
    ASSERT_TRUE(cpus) << row.list;
    EXPECT_EQ(cpus->to_string(), row.cpus) << row.list;
  }
}

TEST(BootCpus, AreRefusedAsTheKernelRefusesThem) {
  for (const char* const list :
       {"16", "4-31", "3-2", "x", "4-", "-4", "1:1/2", "0-7:3/2", "0-7:1/0", "0-7:1", "0-7:1/2x",
        "0-7x", "none", "4294967296", "4294967295", "0-3;5", "n"}) {
    EXPECT_FALSE(parse_boot_cpus(list, kLast)) << list;
  }
}

TEST(Isolcpus, HaveFlagsBeforeTheList) {
  struct Row {
    std::vector<std::string> values;
    Isolcpus isolcpus;
  };
  const CpuSet some = {4, 5};
  for (const Row& row : {
           Row{{"4-5"}, {true, some, {}}},
           Row{{"managed_irq,4-5"}, {true, {}, some}},
           Row{{"domain,managed_irq,4-5"}, {true, some, some}},
           Row{{"nohz,4-5"}, {true, {}, {}}},
           Row{{"Domain,4-5"}, {true, some, {}}},  // skipped, so there is no flag
           Row{{"all"}, {true, CpuSet(), {}}},     // likewise
           Row{{"managed-irq,4-5"}, {}},
           Row{{"4-5,managed_irq"}, {}},
           Row{{"domain,4-99"}, {}},
           Row{{"managed_irq,4-5", "domain,6", "7"}, {true, CpuSet{6}, some}},
           Row{{}, {}},
       }) {
    EXPECT_EQ(parse_isolcpus(row.values, kLast), row.isolcpus)
        << (row.values.empty() ? "none" : row.values.front());
  }
}

TEST(BootValues, EndWhereThoseOfInitBegin) {
  using Values = std::vector<std::string>;
  EXPECT_EQ(boot_values("a=1 b=2 a=3 -- a=4", "a"), (Values{"1", "3"}));
  EXPECT_EQ(boot_values("--x a=1", "a"), Values{"1"});
}

}  // namespace
}  // namespace pinfold::audit
