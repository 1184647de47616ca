#include "pinfold/types/amount_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pinfold {
namespace {

TEST(AmountText, SaysWhatToWriteInstead) {
  constexpr const char* kCpus = "expected CPUs such as 2 or 500m";
  constexpr const char* kBytes = "expected bytes such as 512Mi or 1Gi";
  constexpr const char* kUnits = "expected an amount with a unit Ki Mi Gi Ti or k M G T";
  const struct {
    const char* resource;
    const char* text;
    std::string expected;
  } cases[] = {
      {"cpu", "1000mm", std::string(kCpus) + "; did you mean 1000m?"},
      {"cpu", "500 mcpu", std::string(kCpus) + "; did you mean 500m?"},
      {"cpu", "2cpus", std::string(kCpus) + "; did you mean 2?"},
      {"cpu", "1,5", std::string(kCpus) + "; did you mean 1.5?"},
      {"cpu", "two", kCpus},
      {"cpu", "1GB", kCpus},
      {"memory", "1,5Gi", std::string(kUnits) + "; did you mean 1.5Gi?"},
      {"memory", "1,024 Mi", kBytes},
      {"memory", "1GB", std::string(kUnits) + "; did you mean 1G or 1Gi?"},
      {"memory", "1gib", std::string(kUnits) + "; did you mean 1Gi?"},
      {"memory", "1.5.1Gi", kBytes},
      {"memory.available", "abc", kBytes},
      {"hugepages-2Mi", "64mi", std::string(kUnits) + "; did you mean 64Mi?"},
      {"example.com/gpu", "one", "expected an amount such as 2, 500m or 1Gi"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(expected_amount(c.resource, c.text), c.expected) << c.resource << " " << c.text;
  }
}

TEST(AmountText, ShowsBytesExactly) {
  EXPECT_EQ(exact_bytes(0), "0");
  EXPECT_EQ(exact_bytes(2500ULL << 20U), "2500Mi");
  EXPECT_EQ(exact_bytes(2ULL << 30U), "2Gi");
  EXPECT_EQ(exact_bytes(1000), "1k");
  EXPECT_EQ(exact_bytes(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

}  // namespace
}  // namespace pinfold
