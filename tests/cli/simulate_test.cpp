#include "pinfold/simulate/simulate.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_program.hpp"
#include "temp_dir.hpp"

namespace pinfold {
namespace {

using nlohmann::json;
using test::Outcome;
using testing::HasSubstr;

/// A vector without expectations: one pod on a machine of two CPUs.
json a_vector(const std::string& name) {
  return json::parse(R"({"group": "g", "node": {
      "cpus": [{"id": 0, "core": 0, "socket": 0, "numa": 0}, {"id": 1, "core": 1, "socket": 0, "numa": 0}],
      "numaNodes": [{"id": 0, "memory": 1073741824}]}, "config": {},
      "steps": [{"op": "admit", "pod": {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}}],
      "name": ")" + name +
                     "\"}");
}

/// Returns the vector with Pinfold's decisions as its expectations.
json recorded(const std::string& name) {
  json vector = a_vector(name);
  const json played = simulate::play(vector, Profile::kKubelet136).value();
  vector["start"] = played["start"];
  vector["expect"] = played["expect"];
  return vector;
}

class SimulateCommand : public testing::Test {
 protected:
  /// Runs "pinfold simulate ARGUMENTS" on a file of these lines.
  Outcome run(const std::vector<std::string>& lines, const std::string& arguments) {
    std::ofstream file(dir_.path() + "/v.jsonl");
    for (const std::string& line : lines) file << line << '\n';
    file.close();
    return test::run_shell(fmt::format("cd '{}' && env -i LANG=C.UTF-8 '{}' simulate {} v.jsonl",
                                       dir_.path(), PINFOLD_COMMAND, arguments));
  }

 private:
  test::TempDir dir_;
};

TEST_F(SimulateCommand, ReportsBadLinesAndReplaysTheOthers) {
  json bad_step = a_vector("bad-step");
  bad_step["steps"].push_back({{"op", "fly"}});
  json bad_files = a_vector("bad-files");
  bad_files["initialFiles"] = {{"cpu_manager_state", 7}};
  json bad_name = a_vector("x");
  bad_name["name"] = 3;
  json bad_machine = a_vector("bad-machine");
  bad_machine["node"]["cpus"][1]["numa"] = 9;
  json bad_expect = a_vector("bad-expect");
  bad_expect["expect"] = "none";
  const std::vector<std::string> lines = {recorded("first").dump(),
                                          "{\"name\": \"torn\",",
                                          bad_step.dump(),
                                          "[1]",
                                          bad_files.dump(),
                                          bad_name.dump(),
                                          "",
                                          bad_machine.dump(),
                                          bad_expect.dump(),
                                          recorded("last").dump()};
  const Outcome compared = run(lines, "--compare");
  EXPECT_EQ(compared.status, 2);
  EXPECT_EQ(compared.err,
            "pinfold: v.jsonl:2: '{\"name\": \"torn\",': expected one JSON object a line\n"
            "pinfold: v.jsonl:3: vector 'bad-step': steps[1]: op: 'fly': expected admit, remove, "
            "removePod, restart or sourcesReady\n"
            "pinfold: v.jsonl:4: '[1]': expected one JSON object a line\n"
            "pinfold: v.jsonl:5: vector 'bad-files': initialFiles: cpu_manager_state: 7: expected "
            "a string\n"
            "pinfold: v.jsonl:6: name: 3: expected a string\n"
            "pinfold: v.jsonl:8: vector 'bad-machine': cpus: cpu 1 is on NUMA node 9, which is not "
            "listed\n"
            "pinfold: v.jsonl:9: vector 'bad-expect': expect: 'none': expected a list\n"
            "pinfold: 7 lines could not be replayed\n");
  EXPECT_THAT(compared.out, HasSubstr("\nall       2       2\n"));

  const Outcome printed = run(lines, "");
  EXPECT_EQ(printed.status, 2);
  EXPECT_THAT(printed.out, HasSubstr("\"first\""));
  EXPECT_THAT(printed.out, HasSubstr("\"last\""));
}

TEST_F(SimulateCommand, ExitStatusSaysWhetherAllIsExact) {
  EXPECT_EQ(run({recorded("a").dump()}, "--compare").status, 0);
  json other = recorded("b");
  other["expect"][0]["defaultCpuSet"] = "0";
  const Outcome outcome = run({recorded("a").dump(), other.dump()}, "--compare");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("b: 1 difference\n  expect[0].defaultCpuSet\n"));
}

TEST_F(SimulateCommand, CountsExpectationsOfAnotherShapeAsDifferences) {
  json other = recorded("a");
  other["expect"][0]["hints"] = 7;
  EXPECT_EQ(run({other.dump()}, "--compare").status, 1);
  other["expect"] = json::array({json()});
  EXPECT_EQ(run({other.dump()}, "--compare").status, 1);
}

}  // namespace
}  // namespace pinfold
