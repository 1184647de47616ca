#include "barrier/barrier_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinfold::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const GateHook kHook{"/usr/libexec/pinfold/pinfold-gate", {"--unplaced", "confine"}, 8};
const json kHookJson = {{"path", "/usr/libexec/pinfold/pinfold-gate"},
                        {"args", {"pinfold-gate", "--unplaced", "confine"}},
                        {"timeout", 8}};

constexpr const char* kSpecFile = "/etc/containerd/pinfold-gate.json";

/// As `containerd config default` of 1.7 prints it.
constexpr const char* kConfig17 = R"(version = 2
[plugins]
  [plugins."io.containerd.grpc.v1.cri".containerd]
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
        base_runtime_spec = ""
        runtime_type = "io.containerd.runc.v2"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
          SystemdCgroup = false
)";
/// As 2.x prints it, shortened by hand, for two runtime classes.
constexpr const char* kConfig2 = R"(version = 3
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.crun]
  runtime_type = 'io.containerd.runc.v2'
  base_runtime_spec = ''
)";

std::string with_gate(const std::string& config, const std::string& runtime_class) {
  auto changed = config_with_gate(config, runtime_class, kSpecFile);
  EXPECT_TRUE(changed) << (changed ? "" : changed.error().message);
  return changed.value_or("");
}

TEST(BarrierConfig, ReplacesAnEmptySpecification) {
  EXPECT_THAT(with_gate(kConfig17, "runc"),
              HasSubstr("\n        base_runtime_spec = \"/etc/containerd/pinfold-gate.json\" # by "
                        "'pinfold barrier install', instead of:         base_runtime_spec = "
                        "\"\"\n        runtime_type"));
}

TEST(BarrierConfig, AddsALineToTheTableOfTheRuntimeClass) {
  EXPECT_THAT(with_gate(kConfig2, "runc"),
              HasSubstr("runtimes.runc]\nbase_runtime_spec = \"/etc/containerd/pinfold-gate.json\" "
                        "# by 'pinfold barrier install'\n  runtime_type"));
}

TEST(BarrierConfig, IsUndoneToTheByte) {
  for (const std::string& config :
       {std::string(kConfig17), std::string(kConfig2), std::string(kConfig17) + "\r\n\n# end\n"}) {
    EXPECT_EQ(without_gate(with_gate(config, "runc")), config);
    EXPECT_EQ(without_gate(config), config);
  }
  EXPECT_EQ(without_gate(with_gate(with_gate(kConfig2, "runc"), "crun")), kConfig2);
}

TEST(BarrierConfig, KeepsWhatWasChangedSince) {
  const std::string changed = "# mine\n" + with_gate(kConfig17, "runc") + "oom_score = 1\n";
  EXPECT_EQ(without_gate(changed), "# mine\n" + std::string(kConfig17) + "oom_score = 1\n");
}

TEST(BarrierConfig, RejectsWhatItCannotUndo) {
  const auto message = [](const std::string& config, const char* runtime_class) {
    const auto changed = config_with_gate(config, runtime_class, kSpecFile);
    return changed ? "accepted" : changed.error().message;
  };
  EXPECT_THAT(message(kConfig2, "kata"), HasSubstr("no table of runtime class 'kata'"));
  EXPECT_THAT(message("", "runc"), HasSubstr("no table of runtime class 'runc'"));
  std::string config = kConfig2;
  config.pop_back();
  EXPECT_THAT(message(config, "runc"), HasSubstr("expected a line break at the end"));
  config = kConfig17;
  config.replace(config.find("\"\""), 2, "\"/x\"");
  EXPECT_THAT(message(config, "runc"), HasSubstr("has 'base_runtime_spec=\"/x\"'"));
}

TEST(BarrierSpec, HasTheGateBehindOtherHooks) {
  const auto spec = spec_with_gate(
      R"({"ociVersion":"1.1.0","hooks":{"createRuntime":[{"path":"/x"}]},"root":{}})", kHook);
  ASSERT_TRUE(spec) << spec.error().message;
  const json expected = {{"ociVersion", "1.1.0"},
                         {"hooks", {{"createRuntime", {{{"path", "/x"}}, kHookJson}}}},
                         {"root", json::object()}};
  EXPECT_EQ(json::parse(*spec), expected);
}

TEST(BarrierSpec, RejectsWhatIsNoSpecification) {
  for (const char* const spec :
       {"", "[]", "{}", "{\"ociVersion\":\"1\",\"hooks\":{\"createRuntime\":1}}"}) {
    EXPECT_FALSE(spec_with_gate(spec, kHook)) << spec;
  }
}

TEST(BarrierHooksFile, RunsTheGateForEveryContainer) {
  const json expected = {{"version", "1.0.0"},
                         {"hook", kHookJson},
                         {"when", {{"always", true}}},
                         {"stages", {"createRuntime"}}};
  EXPECT_EQ(json::parse(hooks_file(kHook)), expected);
}

TEST(BarrierEdit, IsDescribedByTheLinesThatChange) {
  EXPECT_EQ(describe_edit({"/f", "a\nb\n", "a\nc\n"}), "changes '/f'\n  - b\n  + c\n");
  EXPECT_EQ(describe_edit({"/f", std::nullopt, "a"}), "creates '/f'\n");
  EXPECT_EQ(describe_edit({"/f", "a", std::nullopt}), "removes '/f'\n");
  EXPECT_EQ(describe_edit({"/f", "a", "a"}), "");
}

}  // namespace
}  // namespace pinfold::tools
