#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "../../support/run_program.hpp"
#include "../../support/small_disk.hpp"

/// Commands on a real file system that is full or read-only.
namespace pinfold {
namespace {

using test::Outcome;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kMachineOnDisk = R"({"name":"n","cpus":[
  {"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":1,"socket":0,"numa":0,"l3":0},
  {"id":2,"core":2,"socket":0,"numa":0,"l3":0},{"id":3,"core":3,"socket":0,"numa":0,"l3":0}],
  "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],"devices":[]})";

std::string container(const std::string& name, const std::string& cpus) {
  return fmt::format("{{name: {}, resources: {{limits: {{cpu: {}, memory: 1Mi}}}}}}", name, cpus);
}

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::SmallDisk::can_mount()) GTEST_SKIP() << "mounting a tmpfs needs root";
    dir_.write("node.json", kMachineOnDisk);
    dir_.write("config.yaml",
               "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
    for (const char* const name : {"a", "b", "c"}) {
      std::string containers = container("m", *name == 'c' ? "100m" : "1");
      if (*name == 'b') {  // .pinfold_pods grows by several pages
        for (int i = 0; i < 60; ++i) containers += ", " + container(fmt::format("m{}", i), "1m");
      }
      dir_.write(fmt::format("{}.yaml", name),
                 fmt::format("kind: Pod\nmetadata: {{name: {}}}\nspec: {{containers: [{}]}}\n",
                             name, containers));
    }
  }
  [[nodiscard]] Outcome run(const std::string& command) const {
    return test::run_shell(fmt::format("cd {} && {} {}", dir_.path(), PINFOLD_COMMAND, command));
  }
  [[nodiscard]] Outcome agent(const test::SmallDisk& disk, const std::string& command) const {
    return run(
        fmt::format("{} --state-dir {} --machine node.json --config config.yaml "
                    "--no-enforce",
                    command, disk.path()));
  }
  /// Admits the first pod and removes the snapshot, whose space the next opening would free.
  void admit_first(const test::SmallDisk& disk) const {
    const Outcome admitted = agent(disk, "admit a.yaml");
    ASSERT_EQ(admitted.status, 0) << admitted.err;
    std::filesystem::remove(disk.path() + "/.pinfold_snapshot");
  }
  [[nodiscard]] std::string pods(const test::SmallDisk& disk) const {
    const Outcome status = agent(disk, "status -o name");
    EXPECT_EQ(status.status, 0) << status.err;
    return status.out;
  }
  /// Expects the state to be readable, even on a read-only disk.
  void expect_readable(const test::SmallDisk& disk, const std::string& names) const {
    EXPECT_EQ(pods(disk), names);
    for (const char* const command : {"show", "verify"}) {
      const Outcome read = run(fmt::format("checkpoint {} {}", command, disk.path()));
      EXPECT_EQ(read.status, 0) << command << ": " << read.out << read.err;
    }
    const Outcome show = run(fmt::format("checkpoint show -o json {}", disk.path()));
    EXPECT_EQ(show.out.find("default_b") != std::string::npos,
              names.find("default/b") != std::string::npos)
        << show.out;
  }

  test::TempDir dir_;
};

void expect_not_settled(const Outcome& admitted) {
  const auto answer = nlohmann::json::parse(admitted.out);
  EXPECT_EQ(answer.at("stored"), true);
  EXPECT_THAT(answer.at("notSettled").at("message").get<std::string>(),
              HasSubstr("No space left on device"));
  EXPECT_THAT(admitted.err,
              HasSubstr(R"({"warning":{"code":"not settled","message":"stored in the journal, but )"
                        "the kubelet's files are out of date: "));
}

TEST_F(FullDisk, AWriteFailsOrIsStoredAndSaysWhatIsNotSettled) {
  std::map<std::string, int> counts;
  for (std::size_t pages = 0; pages < 16; ++pages) {
    SCOPED_TRACE(fmt::format("{} pages are free", pages));
    const test::SmallDisk disk;
    admit_first(disk);
    disk.leave_free(pages);
    const Outcome admitted = agent(disk, "admit -o json b.yaml");
    const bool is_stored = admitted.status == 0;
    const bool is_settled = admitted.out.find("\"notSettled\": null") != std::string::npos;
    if (is_stored && !is_settled) expect_not_settled(admitted);
    if (!is_stored) {
      EXPECT_EQ(admitted.status, 2) << admitted.out;
      EXPECT_THAT(admitted.err, HasSubstr("No space left on device"));
    }
    ++counts[is_stored ? is_settled ? "settled" : "not settled" : "failed"];
    const std::string names = is_stored ? "default/a\ndefault/b\n" : "default/a\n";
    expect_readable(disk, names);
    disk.empty();
    EXPECT_THAT(agent(disk, "admit -o json c.yaml").out,
                AllOf(HasSubstr("\"stored\": true"), HasSubstr("\"notSettled\": null")));
    EXPECT_EQ(pods(disk), names + "default/c\n");
    EXPECT_FALSE(std::filesystem::exists(disk.path() + "/.pinfold_journal"));
  }
  for (const char* const outcome : {"failed", "not settled", "settled"}) {
    EXPECT_GT(counts[outcome], 0) << outcome;
  }
}

TEST_F(FullDisk, AReadOnlyDiskIsReadAndNotWritten) {
  const test::SmallDisk disk;
  admit_first(disk);
  for (std::size_t pages = 0;; ++pages) {  // the first commit that is only in the journal
    ASSERT_LT(pages, 16U);
    disk.leave_free(pages);
    const Outcome admitted = agent(disk, "admit -o json b.yaml");
    if (admitted.out.find("\"notSettled\": {") != std::string::npos) break;
  }
  ASSERT_TRUE(std::filesystem::exists(disk.path() + "/.pinfold_journal"));
  disk.make_read_only();
  expect_readable(disk, "default/a\ndefault/b\n");
  const Outcome admitted = agent(disk, "admit c.yaml");
  EXPECT_EQ(admitted.status, 2) << admitted.out;
  EXPECT_THAT(admitted.err, HasSubstr("Read-only file system"));
}

}  // namespace
}  // namespace pinfold
