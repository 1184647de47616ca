#include "pinfold/enforce/drift.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinfold::enforce {
namespace {

using testing::ElementsAre;

TEST(Drift, ListsDifferences) {
  const enforce::Layout desired = {
      {{PodUid("a"), ""}, {{1}, {0}, {{"cpu.max", "max 100000"}}, Isolation::kHost}},
      {{PodUid("b"), ""}, {{1}, {}, {}, Isolation::kHost}}};
  const enforce::Layout observed = {{{PodUid("a"), ""}, {{1, 2}, {}, {}, Isolation::kHost}},
                                    {{PodUid("z"), ""}, {{1}, {}, {}, Isolation::kHost}}};
  EXPECT_THAT(drift(observed, desired),
              ElementsAre("poda: cpuset.cpus is '1-2', expected '1'",
                          "poda: cpuset.mems is 'its parent's', expected '0'",
                          "poda: cpu.max is 'absent', expected 'max 100000'",
                          "podb: does not exist", "podz: belongs to no active pod"));
  EXPECT_TRUE(drift(desired, desired).empty());
}

}  // namespace
}  // namespace pinfold::enforce
