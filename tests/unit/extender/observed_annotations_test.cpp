#include "pinfold/kube/observed_annotations.hpp"

#include <gtest/gtest.h>

#include "pinfold/kube/watched_pod.hpp"

namespace pinfold::kube {
namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30U;

TEST(ObservedText, IsReadBack) {
  const std::vector<ZoneAmount> amounts = {
      {"node-0", "cpu", 8000}, {"node-0", "example.com/gpu", 2}, {"node-1", "memory", 3 * kGib}};
  const std::string text = observed_text(amounts);
  EXPECT_EQ(text, R"([{"amount":{"cpu":"8","example.com/gpu":"2"},"zone":"node-0"},)"
                  R"({"amount":{"memory":"3Gi"},"zone":"node-1"}])");
  EXPECT_EQ(parse_observed(text).value(), amounts);
}

TEST(ObservedText, NothingIsAnEmptyList) {
  EXPECT_EQ(observed_text({}), "[]");
  EXPECT_EQ(parse_observed(observed_text({})).value(), std::vector<ZoneAmount>{});
}

TEST(MemoryGroupsText, NamesZonesAndBytes) {
  EXPECT_EQ(memory_groups_text({}), "[]");
  EXPECT_EQ(memory_groups_text({{{"node-0", "node-1"}, {{"memory", 16 * kGib}}},
                                {{"node-1"}, {{"hugepages-2Mi", 1 << 21}}}}),
            R"([{"amount":{"memory":"17179869184"},"memoryNodes":["node-0","node-1"]},)"
            R"({"amount":{"hugepages-2Mi":"2097152"},"memoryNodes":["node-1"]}])");
}

}  // namespace
}  // namespace pinfold::kube
