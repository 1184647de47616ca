#include "pinfold/nri_pods/asked.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

/// The annotation that requests variables with a container's CPUs and memory nodes.
namespace pinfold::nri {
namespace {

using testing::HasSubstr;

Result<std::optional<AssignedVariables>> asked(const std::string& value,
                                               const std::string& container = "main") {
  api::PodSandbox sandbox;
  (*sandbox.mutable_annotations())[std::string(kAssignedAnnotation)] = value;
  return asked_variables(sandbox, container);
}

TEST(NriAsked, AllContainersOrSome) {
  EXPECT_EQ(asked_variables({}, "main").value(), std::nullopt);
  EXPECT_EQ(asked("true").value(), AssignedVariables());
  EXPECT_EQ(asked("false").value(), std::nullopt);
  const std::string some = "main: {W: assigned.cpuset}\nside: true\nquiet: false\n";
  EXPECT_EQ(asked(some).value(), (AssignedVariables{{"W", kAssignedCpuset}}));
  EXPECT_EQ(asked(some, "side").value(), AssignedVariables());
  EXPECT_EQ(asked(some, "quiet").value(), std::nullopt);
  EXPECT_EQ(asked(some, "other").value(), std::nullopt);
}

TEST(NriAsked, NamesWhatIsWrong) {
  for (const auto& [value, message] :
       {std::pair{"yes please", "value: 'yes please': expected 'true', 'false', or a mapping"},
        std::pair{"[\"main\"]", "expected 'true', 'false', or a mapping"},
        std::pair{"{main: {W: cpus}}", "main.W: 'cpus': expected assigned.cpuset"},
        std::pair{"{side: 3}", "side: 3: expected true, false, or variables"},
        std::pair{"{main: {'A=': assigned.cpuset}}", "expected the name of an environment"},
        std::pair{"", "annotation pinfold.io/assigned: 0 documents: expected one"},
        std::pair{"{", "annotation pinfold.io/assigned: "}}) {
    const auto read = asked(value);
    ASSERT_FALSE(read) << value;
    EXPECT_THAT(read.error().message, HasSubstr(message)) << value;
    EXPECT_THAT(read.error().message, testing::StartsWith("annotation pinfold.io/assigned"));
  }
}

}  // namespace
}  // namespace pinfold::nri
