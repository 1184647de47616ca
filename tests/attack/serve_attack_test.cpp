// Kills the service before each of its system calls while commands use it. Afterwards answered
// requests must be stored, unanswered ones may be, and the next start must work.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "strike.hpp"
#include "temp_dir.hpp"

namespace pinfold::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kServeOptions =
    "--state-dir state --machine node.json --config config.yaml --no-enforce --socket s.sock";

/// An operator's commands, in a process that is not a child of this one, because the tracer waits
/// for all children. Without a service they do the work themselves.
constexpr const char* kOperator = R"(
while [ ! -S s.sock ] && [ ! -e ended ]; do sleep 0.01; done
{0} admit {1} db.yaml >admit.log 2>&1
echo $? >admit
{0} remove {1} --pod web >remove.log 2>&1
echo $? >remove
[ -e ended ] || kill -TERM $(cat pid)
touch finished
)";

std::string content_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ServeAttack : public testing::Test {
 protected:
  static void prepare(const TempDir& dir) {
    dir.write("node.json", R"({"name":"n","cpus":[
      {"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":1,"socket":0,"numa":0,"l3":0},
      {"id":2,"core":2,"socket":0,"numa":0,"l3":0},{"id":3,"core":3,"socket":0,"numa":0,"l3":0}],
      "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],"devices":[]})");
    dir.write("config.yaml",
              "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
    for (const char* const name : {"web", "db"}) {
      dir.write(std::string(name) + ".yaml",
                fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: {0}, uid: u-{0}}}\n"
                            "spec: {{containers: [{{name: main, resources: {{limits: {{cpu: 1, "
                            "memory: 64Mi}}}}}}]}}\n",
                            name));
    }
    dir.write("operator.sh", fmt::format(fmt::runtime(kOperator), PINFOLD_COMMAND, kServeOptions));
    ASSERT_EQ(
        run_in(dir, fmt::format("{} admit {} web.yaml", PINFOLD_COMMAND, kServeOptions)).status, 0);
  }
  static Outcome run_in(const TempDir& dir, const std::string& line) {
    return run_shell("cd " + dir.path() + " && " + line);
  }
  static Outcome pinfold(const TempDir& dir, const std::string& command) {
    return run_in(dir, fmt::format("{} {} {}", PINFOLD_COMMAND, command, kServeOptions));
  }
  /// Runs the service until it ends, and the operator.
  static Struck serve(const TempDir& dir, const Strike& strike) {
    (void)run_in(dir, "(setsid sh operator.sh >/dev/null 2>&1 &)");
    Struck struck = run_struck({"/bin/sh", "-c",
                                fmt::format("echo $$ >pid; exec {} --settings /dev/null {}",
                                            PINFOLD_SERVE, kServeOptions)},
                               dir.path(), "/dev/null", strike);
    dir.write("ended", "");
    while (::access((dir / "finished").c_str(), F_OK) != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return struck;
  }
  static std::string pods(const TempDir& dir) {
    const Outcome seen =
        run_in(dir, fmt::format("{} status -o name --state-dir state --machine node.json --config "
                                "config.yaml --no-enforce",
                                PINFOLD_COMMAND));
    EXPECT_EQ(seen.status, 0) << seen.err;
    return seen.out;
  }
  static void check(const TempDir& dir) {
    const std::string seen = pods(dir);
    const std::string admit = content_of(dir / "admit");
    const std::string remove = content_of(dir / "remove");
    // Done, not done, or unknown.
    EXPECT_THAT(admit, AnyOf("0\n", "2\n", "3\n")) << content_of(dir / "admit.log");
    EXPECT_THAT(remove, AnyOf("0\n", "2\n", "3\n")) << content_of(dir / "remove.log");
    if (admit != "3\n") {
      const bool is_there = seen.find("default/db") != std::string::npos;
      EXPECT_EQ(is_there, admit == "0\n") << "an admission is lost, or was made";
    }
    if (remove != "3\n") {
      const bool is_gone = seen.find("default/web") == std::string::npos;
      EXPECT_EQ(is_gone, remove == "0\n") << "a removal is lost, or was made";
    }
    EXPECT_EQ(run_in(dir, PINFOLD_COMMAND " checkpoint verify state").status, 0);
    EXPECT_EQ(pinfold(dir, "admit db.yaml").status, 0) << "the next start";
    (void)pinfold(dir, "remove --pod web");  // may already be done
    EXPECT_EQ(pods(dir), "default/db\n");
  }
};

TEST_F(ServeAttack, KilledAtEachSystemCall) {
  const TempDir undisturbed;
  prepare(undisturbed);
  const Struck expected = serve(undisturbed, {});
  ASSERT_EQ(expected.outcome.status, 0) << expected.outcome.err;
  EXPECT_EQ(content_of(undisturbed / "admit"), "0\n") << content_of(undisturbed / "admit.log");
  EXPECT_EQ(content_of(undisturbed / "remove"), "0\n") << content_of(undisturbed / "remove.log");
  check(undisturbed);
  ASSERT_GT(expected.calls.size(), 100U) << "almost nothing to strike";
  const char* const every = std::getenv("PINFOLD_ATTACK_STRIDE");
  const std::size_t stride = every != nullptr ? std::stoul(every) : 23;
  for (std::size_t at = 0; at < expected.calls.size(); at += stride) {
    SCOPED_TRACE(fmt::format("killed before call {} of about {}, {}", at, expected.calls.size(),
                             name_of_call(expected.calls[at])));
    const TempDir dir;
    prepare(dir);
    // The threads run in a different order each time: near the end, the service may have ended
    // earlier.
    const Struck struck = serve(dir, {Strike::Kind::kKill, at, 0});
    EXPECT_THAT(struck.outcome.status, AnyOf(128 + SIGKILL, 0)) << struck.outcome.err;
    check(dir);
  }
}

}  // namespace
}  // namespace pinfold::test
