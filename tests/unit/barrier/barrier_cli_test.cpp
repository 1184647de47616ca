#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "pinfold/base/read_file.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

/// `pinfold barrier`, as an operator runs it, on files in a directory.
namespace pinfold::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kConfig = R"(version = 3
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
  base_runtime_spec = ''
)";

class BarrierCli : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("hooks/other.json", "{}");
    dir_.write("config.toml", kConfig);
    dir_.write("spec", R"({"ociVersion":"1.1.0","root":{}})");
  }
  [[nodiscard]] test::Outcome barrier(const std::string& arguments) const {
    return test::run_shell("cd " + dir_.path() + " && " PINFOLD_COMMAND " barrier " + arguments);
  }
  [[nodiscard]] std::string text(const std::string& file) const {
    return read_file(dir_ / file).value_or("none");
  }

  static constexpr const char* kContainerd =
      " --runtime containerd --config-file config.toml --spec-file gate.json";
  const std::string install_ = std::string("install --base-spec spec") + kContainerd;
  test::TempDir dir_;
};

TEST_F(BarrierCli, AHooksDirectoryGetsAFileAndLosesIt) {
  for (const char* const runtime : {"crio", "podman"}) {
    const std::string where = std::string(" --hooks-dir hooks --runtime ") + runtime;
    const std::string file = "hooks/zz-pinfold-gate.json";
    EXPECT_EQ(barrier("status" + where).status, 1);
    EXPECT_EQ(barrier("install --dry-run" + where).out, "creates '" + file + "'\n");
    EXPECT_EQ(text(file), "none");

    const auto installed = barrier("install --unplaced confine --exempt infra --log log" + where);
    EXPECT_EQ(installed.status, 0) << installed.err;
    EXPECT_EQ(installed.out, "creates '" + file + "'\nIn effect for new containers.\n");
    const json hook = json::parse(text(file)).at("hook");
    EXPECT_TRUE(std::filesystem::exists(hook.at("path").get<std::string>()));
    EXPECT_THAT(hook.at("args").dump(), HasSubstr(R"("--unplaced","confine")"));
    EXPECT_THAT(hook.at("args").dump(), HasSubstr(R"("--exempt","infra")"));
    EXPECT_THAT(hook.at("args").dump(), HasSubstr(R"("--log",")" + (dir_ / "log")));
    EXPECT_EQ(barrier("status" + where).out, "runs the gate: '" + file + "'\n");
    EXPECT_EQ(barrier("status" + where).status, 0);

    const std::string before = text(file);
    EXPECT_EQ(barrier("install --unplaced confine --exempt infra --log log" + where).out,
              "Nothing to change.\n");
    EXPECT_EQ(text(file), before);
    EXPECT_THAT(barrier("install" + where).out, HasSubstr("changes '" + file + "'"));

    EXPECT_EQ(barrier("remove" + where).status, 0);
    EXPECT_EQ(barrier("remove" + where).out, "Nothing to change.\n");
    EXPECT_EQ(barrier("status" + where).out, "missing: '" + file + "'\n");
    EXPECT_EQ(text("hooks/other.json"), "{}");
  }
}

TEST_F(BarrierCli, ContainerdGetsASpecificationAndIsRestoredToTheByte) {
  EXPECT_EQ(barrier(std::string("status") + kContainerd).status, 1);
  const auto installed = barrier(install_);
  EXPECT_EQ(installed.status, 0) << installed.err;
  EXPECT_THAT(installed.out, HasSubstr("creates 'gate.json'\nchanges 'config.toml'\n"));
  EXPECT_THAT(installed.out, HasSubstr("Restart containerd"));
  EXPECT_THAT(text("config.toml"),
              HasSubstr("base_runtime_spec = \"" + (dir_ / "gate.json") + "\""));
  EXPECT_TRUE(json::parse(text("gate.json")).at("hooks").contains("createRuntime"));
  EXPECT_EQ(barrier(std::string("status") + kContainerd).out,
            "runs the gate: 'config.toml'\nruns the gate: 'gate.json'\n");

  EXPECT_EQ(barrier(install_).out, "Nothing to change.\n");
  EXPECT_EQ(barrier(std::string("remove") + kContainerd).status, 0);
  EXPECT_EQ(text("config.toml"), kConfig);
  EXPECT_EQ(text("gate.json"), "none");
}

TEST_F(BarrierCli, ASpecificationOfSomebodyElseIsKept) {
  std::string config = kConfig;
  config.replace(config.find("''"), 2, "'/mine'");
  dir_.write("config.toml", config);
  const auto installed = barrier(install_);
  EXPECT_EQ(installed.status, 2);
  EXPECT_THAT(installed.err, HasSubstr("config.toml: runtime class 'runc' has "
                                       "'base_runtime_spec=\"/mine\"': expected no other"));
  EXPECT_EQ(text("config.toml"), config);
  EXPECT_EQ(text("gate.json"), "none");
}

TEST_F(BarrierCli, WithoutAConfigurationOrADirectoryNothingIsMade) {
  dir_.remove("config.toml");
  EXPECT_THAT(barrier(install_).err, HasSubstr("'config.toml' does not exist"));
  EXPECT_EQ(text("gate.json"), "none");
  EXPECT_EQ(barrier("install --runtime crio --hooks-dir absent").status, 2);
}

}  // namespace
}  // namespace pinfold::tools
