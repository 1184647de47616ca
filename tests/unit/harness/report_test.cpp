#include "pinfold/harness/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "pinfold/harness/container_table.hpp"
#include "pinfold/harness/costs.hpp"
#include "pinfold/harness/verdict_table.hpp"

namespace pinfold::harness {
namespace {

ScenarioResult failed_one() {
  ScenarioResult result;
  result.name = "a<b>";
  result.machine.platform.cgroup = CgroupMode::kV1;
  result.verdict = Verdict::kPanic;
  result.message = "it \"panicked\" & ended";
  result.console = "line\x01 </script><tag>";
  result.elapsed = Milliseconds(1250);
  return result;
}

TEST(ReportJunit, EscapesWhatXmlForbids) {
  const std::string xml = report_junit(report_json({failed_one()}));
  EXPECT_NE(xml.find("tests=\"1\" failures=\"1\" skipped=\"0\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("name=\"a&lt;b&gt; on debian-6.1/v1\" time=\"1.250\""), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("message=\"it &quot;panicked&quot; &amp; ended\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("line? &lt;/script&gt;&lt;tag&gt;"), std::string::npos) << xml;
}

TEST(ReportJunit, HasACaseForEachTestOfAProgram) {
  using Kind = TestOutcome::Kind;
  ScenarioResult result = failed_one();
  for (const auto& [name, kind, note] : {std::tuple("one", Kind::kOk, ""),
                                         {"two <x>", Kind::kFailed, "exit=1"},
                                         {"three", Kind::kSkipped, "no cpuset"}}) {
    StepResult step;
    step.ok = kind != Kind::kFailed;
    step.test = {"/test", {name, kind, note}};
    result.steps.push_back(step);
  }
  ScenarioResult as_expected = result;
  as_expected.expected = Verdict::kPanic;
  const std::string xml = report_junit(report_json({result, as_expected}));
  const auto count = [&xml](const std::string& part) {
    int found = 0;
    for (auto at = xml.find(part); at != std::string::npos; at = xml.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("tests=\"8\" failures=\"2\" skipped=\"3\""), 1) << xml;
  EXPECT_EQ(count("classname=\"a&lt;b&gt; on debian-6.1/v1\" name=\"/test: one\"></testcase>"), 2);
  EXPECT_EQ(count("name=\"/test: two &lt;x&gt;\"><failure type=\"failed\" message=\"exit=1\"/>"),
            1);
  EXPECT_EQ(count("<skipped message=\"no cpuset\"/>"), 2);
  EXPECT_EQ(count("<skipped message=\"failed, as the scenario expects exit=1\"/>"), 1);
}

TEST(ReportJunit, NamesTheReasonOfASkippedScenario) {
  ScenarioResult result;
  result.name = "upgrade";
  result.verdict = Verdict::kSkipped;
  result.message = "PINFOLD_KUBELET is not set";
  const auto json = report_json({result});
  EXPECT_EQ(json.at("ok"), true);
  const std::string xml = report_junit(json);
  EXPECT_NE(xml.find("tests=\"1\" failures=\"0\" skipped=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("<skipped message=\"PINFOLD_KUBELET is not set\"/>"), std::string::npos)
      << xml;
}

TEST(ReportJson, IsOkIfEveryScenarioEndedAsExpected) {
  ScenarioResult expected_panic = failed_one();
  expected_panic.expected = Verdict::kPanic;
  EXPECT_EQ(report_json({expected_panic})["ok"], true);
  EXPECT_EQ(report_json({expected_panic, failed_one()})["ok"], false);
  expected_panic.because = "panicked";
  EXPECT_TRUE(expected_panic.ok());
  expected_panic.because = "something else";
  EXPECT_FALSE(expected_panic.ok()) << "the right verdict for the wrong reason";
  EXPECT_EQ(report_json({failed_one()})["scenarios"][0]["verdict"], "panic");
  EXPECT_EQ(report_json({failed_one()})["scenarios"][0]["on"], "debian-6.1/v1");
}

TEST(ReportJson, HasTheFieldsForThePictures) {
  ScenarioResult result = failed_one();
  result.machine.nodes = {{CpuSet::range(0, 0), 64U << 20, {}}};
  result.machine.distances = {{10}};
  result.guest = {{"online", "0"}};
  StepResult step;
  step.online = "0";
  step.groups = {{"pod/app", "0", "0"}};
  StepResult plug;
  plug.machine = {{"online", "0-1"}};
  result.steps = {step, plug};
  const nlohmann::json scenario = report_json({result})["scenarios"][0];
  EXPECT_FALSE(scenario["steps"][0].contains("machine"));
  EXPECT_EQ(scenario["steps"][1]["machine"]["online"], "0-1");
  EXPECT_EQ(scenario["machine"]["requested"]["nodes"][0]["memory"], 64U << 20);
  EXPECT_EQ(scenario["machine"]["guest"]["online"], "0");
  EXPECT_EQ(scenario["steps"][0]["groups"][0],
            nlohmann::json({{"name", "pod/app"}, {"cpus", "0"}, {"mems", "0"}}));
}

TEST(Costs, AreThoseOfBootsRestoresAndSteps) {
  const auto result = [](const char* name, int ready, int elapsed, std::vector<int> steps) {
    ScenarioResult out;
    out.name = name;
    out.boots = 1;
    out.until_ready = Milliseconds(ready);
    out.elapsed = Milliseconds(elapsed);
    for (const int step : steps) {
      StepResult& last = out.steps.emplace_back();
      last.title = "exec";
      last.elapsed = Milliseconds(step);
    }
    return out;
  };
  ScenarioResult booted = result("a", 9000, 12000, {500, 0, 2000});
  booted.steps[1].test = ProgramTest{"test", {}};
  ScenarioResult restored = result("b", 700, 1100, {300});
  restored.restored = true;
  ScenarioResult reset = result("d", 200, 600, {400});
  reset.boots = 0;
  reset.reset = true;
  ScenarioResult never = result("c", 0, 40, {});
  never.boots = 0;
  const nlohmann::json costs = costs_json({booted, restored, reset, never});
  EXPECT_EQ(costs["boots"], (nlohmann::json{{"count", 1}, {"elapsedMs", 9000}}));
  EXPECT_EQ(costs["restores"], (nlohmann::json{{"count", 1}, {"elapsedMs", 700}}));
  EXPECT_EQ(costs["resets"], (nlohmann::json{{"count", 1}, {"elapsedMs", 200}}));
  EXPECT_EQ(costs["steps"], (nlohmann::json{{"count", 4}, {"elapsedMs", 3200}}));
  EXPECT_EQ(costs["otherMs"], 500 + 100 + 40);
  EXPECT_EQ(costs["longest"].size(), 7U);
  EXPECT_EQ(costs_text(costs, 3),
            "machine time: boots 9.0 s (1), restores 0.7 s (1), resets 0.2 s (1), steps 3.2 s (4), "
            "the rest 0.6 s\n"
            "     9.0 s  a on debian-6.1/v2, boot\n"
            "     2.0 s  a on debian-6.1/v2, step 2 (exec)\n"
            "     0.7 s  b on debian-6.1/v2, restore\n");
  const std::vector<ScenarioResult> many(11, booted);
  EXPECT_EQ(costs_json(many)["longest"].size(), 10U);
  EXPECT_EQ(report_json({booted})["costs"], costs_json({booted}));
}

TEST(ReportHtml, EscapesTheEmbeddedResults) {
  ScenarioResult odd = failed_one();
  odd.message = "{{style}} {{script}}";
  const std::string page = report_html(report_json({odd}));
  EXPECT_EQ(page.find("</script><tag>"), std::string::npos);
  EXPECT_NE(page.find(R"(\u003c/script\u003e\u003ctag\u003e)"), std::string::npos);
  EXPECT_NE(page.find(R"("message":"{{style}} {{script}}")"), std::string::npos)
      << "results are not searched for parts of the page";
  EXPECT_EQ(page.find("{{results}}"), std::string::npos);
  EXPECT_EQ(page.find("://www.w3.org/2000/svg"), page.find("://"))
      << "a name space is the only address in the page";
}

TEST(VerdictTable, HasARowForEachScenarioAndAColumnForEachReport) {
  ScenarioResult upgrade;
  upgrade.name = "upgrade";
  upgrade.verdict = Verdict::kPassed;
  ScenarioResult refused = upgrade;
  refused.verdict = Verdict::kFailed;
  refused.message = "step 6 (roll back): it refused\nand more";
  ScenarioResult panic = failed_one();
  panic.expected = Verdict::kPanic;
  const std::string table =
      verdict_table({{"1.37", report_json({upgrade, panic})}, {"1.38", report_json({refused})}});
  EXPECT_EQ(table,
            "SCENARIO                  1.37                1.38\n"
            "upgrade on debian-6.1/v2  passed              failed\n"
            "a<b> on debian-6.1/v1     panic, as expected  -\n"
            "\n"
            "1.38, upgrade on debian-6.1/v2: step 6 (roll back): it refused\n");
}

TEST(ParseReport, RoundTrips) {
  const nlohmann::json written = report_json({failed_one()});
  const auto read =
      parse_report(written.dump(2, ' ', true, nlohmann::json::error_handler_t::replace));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, written);
}

TEST(ParseReport, NamesTheInvalidField) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"[", "expected a JSON object"},
      {R"({"format": "pinfold-harness/1"})", "format: expected 'pinfold-harness/2'"},
      {R"({"format": "pinfold-harness/2"})", "scenarios: expected a list"},
      {R"({"format": "pinfold-harness/2", "scenarios": [3]})", "scenarios[0]: expected an object"},
      {R"({"format": "pinfold-harness/2", "scenarios": [{"name": 3}]})",
       "scenarios[0].name: expected a string"},
      {R"({"format": "pinfold-harness/2", "scenarios": [{"name": "x", "on": 3}]})",
       "scenarios[0].on: expected a string"},
      {R"({"format": "pinfold-harness/2",
           "scenarios": [{"name": "x", "on": "y", "verdict": "passed", "ok": 1, "elapsedMs": 2}]})",
       "scenarios[0].ok: expected true or false"},
      {R"({"format": "pinfold-harness/2", "scenarios":
           [{"name": "x", "on": "y", "verdict": "hang", "ok": true, "elapsedMs": 2, "message": []}]})",
       "scenarios[0].message: expected a string"},
  };
  for (const Case& one : cases) {
    const auto read = parse_report(one.text);
    ASSERT_FALSE(read) << one.text;
    EXPECT_EQ(read.error().message, one.message);
  }
}

TEST(ContainerTable, AlignsColumnsAndMarksWrongValues) {
  ContainerRow row;
  row.desired = {"guaranteed/app", "container", "/cg", "2-3", "0"};
  row.observed = {"2-3", "0", true, "2-3", "0", "0"};
  ContainerRow wrong = row;
  wrong.checks.push_back({"what", "1", "2", false});
  const std::string table = container_table({row, wrong});
  EXPECT_EQ(table,
            "                           desired     kernel: cpuset.*.effective  process            "
            "pages on\n"
            "container       isolation  cpus  mems  cpus  mems                  Cpus_allowed_list  "
            "nodes     verdict\n"
            "guaranteed/app  container  2-3   0     2-3   0                     2-3                "
            "0         ok\n"
            "guaranteed/app  container  2-3   0     2-3   0                     2-3                "
            "0         WRONG\n");
}

}  // namespace
}  // namespace pinfold::harness
