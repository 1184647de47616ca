#include "pinfold/checkpoint/start.hpp"

#include <gtest/gtest.h>

#include "node_fixture.hpp"

namespace pinfold::checkpoint {
namespace {

Node static_node() {
  return std::move(*Node::make(test::machine_of({}),
                               test::with_memory_manager(test::aligning_config("best-effort"))));
}

TEST(Start, MakesMissingFilesAndThenKeepsThem) {
  KubeletFiles files;
  const auto first = start(static_node(), files, {});
  ASSERT_TRUE(first);
  ASSERT_TRUE(files.cpu && files.memory);
  EXPECT_EQ(files, encode_files(static_node(), *first));
  // The bytes differ but the state does not; a file is written only if the state changes.
  files.cpu->push_back('\n');
  files.memory->push_back('\n');
  const KubeletFiles before = files;
  ASSERT_TRUE(start(static_node(), files, {}));
  EXPECT_EQ(files, before);
}

TEST(Start, WritesACpuStateThatItInitializes) {
  const std::string empty =
      R"({"policyName":"static","defaultCpuSet":"","entries":{},"checksum":0})";
  KubeletFiles files = {empty, std::nullopt};
  const auto started = start(static_node(), files, {});
  ASSERT_TRUE(started);
  EXPECT_EQ(started->cpu.checkpoint().default_set.to_string(), "0-15");
  EXPECT_EQ(files, encode_files(static_node(), *started));
}

}  // namespace
}  // namespace pinfold::checkpoint
