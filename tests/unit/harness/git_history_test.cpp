#include "pinfold/harness/git_history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "pinfold/base/read_file.hpp"
#include "pinfold/harness/process.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::UnorderedElementsAre;

/// A repository with commits that are tagged c1, c2 and so on; each writes its tag to the file
/// "name".
class Repository {
 public:
  Repository() {
    run("git init --quiet .; git config user.name n; git config user.email n@example.org");
  }
  void run(const std::string& script) const {
    const auto ran =
        run_program({"sh", "-ec", "cd '" + dir_.path() + "'; " + script}, std::chrono::minutes(1));
    ASSERT_TRUE(ran);
    ASSERT_EQ(ran->exit_status, 0) << ran->output;
  }
  void commit(const std::string& name) const {
    run("echo " + name + " > name; git add name; git commit --quiet -m 'write " + name +
        "'; git tag " + name);
  }
  void commits(int count) const {
    for (int i = 1; i <= count; ++i) commit("c" + std::to_string(i));
  }
  [[nodiscard]] std::string hash(const std::string& name) const {
    const auto ran =
        run_program({"git", "-C", dir_.path(), "rev-parse", name}, std::chrono::minutes(1));
    return ran ? ran->output.substr(0, ran->output.find('\n')) : "";
  }
  [[nodiscard]] CommitRange range(const std::string& good, const std::string& bad) const {
    return find_commit_range(dir_.path() + ":" + good + ".." + bad).value();
  }
  [[nodiscard]] const std::string& path() const { return dir_.path(); }

 private:
  test::TempDir dir_;
};

/// Judges commits by their number; counts its calls.
struct Judge {
  int first_bad;
  std::vector<int> untestable = {};
  int* asked;

  Result<CommitKind> operator()(const Commit& commit) const {
    ++*asked;
    const int number = std::stoi(commit.subject.substr(commit.subject.find('c') + 1));
    if (std::count(untestable.begin(), untestable.end(), number) != 0) {
      return CommitKind::kUntestable;
    }
    return number >= first_bad ? CommitKind::kBad : CommitKind::kGood;
  }
};

TEST(CommitRange, HasItsOwnForm) {
  EXPECT_TRUE(is_commit_range("linux:v7.2..v7.3"));
  EXPECT_TRUE(is_commit_range("/a:b/linux:v7.2..HEAD"));
  EXPECT_FALSE(is_commit_range("debian-6.1"));
  EXPECT_FALSE(is_commit_range("../linux"));
  EXPECT_FALSE(is_commit_range("a:b"));
  EXPECT_FALSE(is_commit_range(""));
}

TEST(CommitRange, NamesWhatIsWrong) {
  const Repository repository;
  repository.commits(3);
  repository.run("git checkout --quiet --orphan other");
  repository.commit("elsewhere");
  const auto message = [&](const std::string& text) {
    const auto range = find_commit_range(text);
    return range ? "" : range.error().message;
  };
  EXPECT_EQ(message(repository.path() + ":c1..c3"), "");
  EXPECT_THAT(message(repository.path() + ":c1..v9"), HasSubstr("'v9': expected a commit of '"));
  EXPECT_THAT(message(repository.path() + ":--all..c3"), HasSubstr("'--all': expected a commit"));
  EXPECT_THAT(message(repository.path() + ":c3..c1"), HasSubstr("expected 'c3' to be an earlier"));
  EXPECT_THAT(message(repository.path() + ":c1..c1"), HasSubstr("expected 'c1' to be an earlier"));
  EXPECT_THAT(message(repository.path() + ":elsewhere..c3"), HasSubstr("to be an earlier commit"));
  EXPECT_THAT(message(repository.path() + ":c1...c3"), HasSubstr("REPOSITORY:GOOD..BAD"));
  EXPECT_THAT(message(repository.path() + ":..c3"), HasSubstr("REPOSITORY:GOOD..BAD"));
  EXPECT_THAT(message("/proc/none:a..b"), HasSubstr("'/proc/none': expected a git repository"));
}

TEST(FirstBadCommit, IsFoundWithTheLogarithmOfQuestions) {
  const Repository repository;
  repository.commits(20);
  for (const int first_bad : {2, 3, 10, 19, 20}) {
    int asked = 0;
    const auto found =
        first_bad_commit(repository.range("c1", "c20"), Judge{first_bad, {}, &asked});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->commit.hash, repository.hash("c" + std::to_string(first_bad)));
    EXPECT_EQ(found->commit.subject, "write c" + std::to_string(first_bad));
    EXPECT_THAT(found->untestable, IsEmpty());
    EXPECT_THAT(asked, Le(5));
  }
}

TEST(FirstBadCommit, MayBeOneThatCannotBeTested) {
  const Repository repository;
  repository.commits(12);
  int asked = 0;
  auto found = first_bad_commit(repository.range("c1", "c12"), Judge{7, {5, 6}, &asked});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->commit.hash, repository.hash("c7"));
  EXPECT_THAT(found->untestable,
              UnorderedElementsAre(repository.hash("c5"), repository.hash("c6")));

  found = first_bad_commit(repository.range("c1", "c12"), Judge{3, {5, 6}, &asked});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->commit.hash, repository.hash("c3"));
  EXPECT_THAT(found->untestable, IsEmpty()) << "they are after it";
}

TEST(FirstBadCommit, IsFoundInAMergedBranch) {
  const Repository repository;
  repository.commits(2);
  repository.run("git checkout --quiet -b side c1");
  repository.run(
      "for i in 13 14 15; do echo $i > side; git add side; "
      "git commit --quiet -m \"write c$i\"; git tag c$i; done");
  repository.run("git checkout --quiet -B main c2; git merge --quiet -m 'merge c20' side");
  int asked = 0;
  const auto found = first_bad_commit(repository.range("c1", "main"), Judge{14, {}, &asked});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->commit.hash, repository.hash("c14"));
}

TEST(Commit, IsSafeToPrint) {
  const Commit commit{"0123456789abcdef", "red \x1b[31m", 1};
  EXPECT_EQ(commit.to_string(), "0123456789ab (red \\x1b[31m)");
}

TEST(FirstBadCommit, PassesErrorsOn) {
  const Repository repository;
  repository.commits(4);
  const auto found = first_bad_commit(
      repository.range("c1", "c4"),
      [](const Commit&) -> Result<CommitKind> { return fail(ErrorCode::kBusy, "interrupted"); });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "interrupted");
}

TEST(Checkout, HasTheFilesOfACommitAndLeavesTheRepositoryAlone) {
  const Repository repository;
  repository.commits(3);
  const std::string before = repository.hash("HEAD");
  std::filesystem::path folder;
  {
    const auto checkout = Checkout::make(repository.path());
    ASSERT_TRUE(checkout) << checkout.error().message;
    folder = checkout->folder();
    for (const std::string name : {"c2", "c1", "c3"}) {
      ASSERT_TRUE(checkout->change_to(repository.hash(name)));
      EXPECT_EQ(read_file((folder / "name").string()).value(), name + "\n");
      ASSERT_TRUE(write_file(folder / "name", "changed by a build"));
      ASSERT_TRUE(write_file(folder / "object.o", name));
    }
    EXPECT_EQ(read_file((folder / "object.o").string()).value(), "c3") << "a build continues";
    EXPECT_FALSE(checkout->change_to("0000000000000000000000000000000000000001"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(repository.hash("HEAD"), before);
  repository.run("test -z \"$(git status --porcelain)\"; test ! -e .git/worktrees");
}

}  // namespace
}  // namespace pinfold::harness
