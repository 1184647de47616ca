#include "pinfold/enforce/affinity.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "model_kernel.hpp"
#include "process_table.hpp"

namespace pinfold::enforce {
namespace {

using test::FakeProcesses;
using test::ModelKernel;
using testing::ElementsAre;
using testing::IsEmpty;

const GroupName kName{PodUid("a"), "c"};

struct Row {
  const char* what;
  std::map<pid_t, FakeProcesses::Process> processes;
  const char* cpus;      ///< of the main process
  std::size_t narrowed;  ///< threads with a narrower affinity
  const char* limit;     ///< up to the first ":"; "" if none
};

class AffinityOf : public testing::TestWithParam<CgroupVersion> {
 protected:
  AffinityOf() : kernel_(GetParam(), CpuSet::range(0, 7), CpuSet{0, 1}) {
    kernel_.processes = &table_;
    cgroups_ = kernel_.cgroups();
    const GroupName pod(PodUid("a"), "");
    for (const GroupName& name : {pod, kName}) {
      for (const Step& step : {Step{Step::Kind::kCreate, name, {}, "", ""},
                               Step{Step::Kind::kCpus, name, {2, 3, 4}, "", ""},
                               Step{Step::Kind::kMems, name, {0, 1}, "", ""}}) {
        const auto done = cgroups_->apply(step);
        EXPECT_TRUE(done.has_value()) << done.error().message;
      }
    }
  }
  [[nodiscard]] Group run(const std::map<pid_t, FakeProcesses::Process>& processes) {
    table_.processes = processes;
    auto& here = kernel_.find("poda/c")->processes;
    here.clear();
    for (const auto& [pid, process] : processes) here.insert(pid);
    return cgroups_->group(kName).value();
  }

  FakeProcesses table_;
  ModelKernel kernel_;
  std::optional<Cgroups> cgroups_;
};

INSTANTIATE_TEST_SUITE_P(Versions, AffinityOf,
                         testing::Values(CgroupVersion::kV1, CgroupVersion::kV2));

TEST_P(AffinityOf, TheMainProcessIsWhatItsThreadsCanUseTogether) {
  const char* const path = "/poda/c";
  const CpuSet all{2, 3, 4};
  const Row rows[] = {
      {"no process", {}, "", 0, ""},
      {"all CPUs", {{7, {1, path, {all}, {}}}}, "2-4", 0, ""},
      {"a mask that is wider than the group",
       {{7, {1, path, {CpuSet::range(0, 7)}, {}}}},
       "2-4",
       0,
       ""},
      {"inherited from its runtime",
       {{7, {1, path, {{2, 3}}, {}}}},
       "2-3",
       1,
       "the CPU affinity of its process 7 permits only CPUs 2-3"},
      {"threads that share the CPUs out", {{7, {1, path, {{2}, {3}, {4}}, {}}}}, "2-4", 3, ""},
      {"threads that leave a CPU out",
       {{7, {1, path, {{2}, {3}, {2}}, {}}}},
       "2-3",
       3,
       "the CPU affinity of its process 7 permits only CPUs 2-3"},
      {"a child that is pinned on purpose",
       {{7, {1, path, {all}, {}}}, {8, {2, path, {{4}}, {}}}},
       "2-4",
       1,
       ""},
      {"the main process has the higher number",
       {{7, {2, path, {all}, {}}}, {8, {1, path, {{4}}, {}}}},
       "4",
       1,
       "the CPU affinity of its process 8 permits only CPU 4"},
      {"a process that has left, or another one with its number",
       {{7, {1, "/elsewhere", {{4}}, {}}}},
       "",
       0,
       ""},
      {"a process that has ended meanwhile", {{7, {1, path, {}, {}}}}, "", 0, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const Affinity affinity = affinity_of(run(row.processes));
    EXPECT_EQ(affinity.cpus.to_string(), row.cpus);
    EXPECT_EQ(affinity.narrowed, row.narrowed);
    const std::string limit = limit_of(affinity);
    EXPECT_EQ(limit.substr(0, limit.find(';')), row.limit) << limit;
    EXPECT_EQ(affinity.is_limited(), !limit.empty());
  }
}

TEST_P(AffinityOf, AProcessInANestedGroupIsComparedWithThatGroup) {
  const Group group = run({});
  kernel_.make_path("poda/c/inner");
  kernel_.find("poda/c/inner")->files["cpuset.cpus"] = "3";
  kernel_.find("poda/c/inner")->processes = {9};
  table_.processes = {{9, {1, "/poda/c/inner", {{3}}, {}}}};
  EXPECT_EQ(limit_of(affinity_of(group)), "") << "a cpuset, not an affinity";
  EXPECT_EQ(affinity_of(group).main.pid, 9);
}

TEST_P(AffinityOf, WideningSaysWhichProcessesWereLimited) {
  const CpuSet all{2, 3, 4};
  const std::map<pid_t, FakeProcesses::Process> processes = {{7, {1, "/poda/c", {all}, {all}}},
                                                             {8, {2, "/poda/c", {{2}}, {all}}},
                                                             {9, {3, "/poda/c", {{3}}, {all}}}};
  EXPECT_THAT(widen_affinities(run(processes), 9).value(), ElementsAre(9));
  EXPECT_THAT(table_.processes[8].threads, ElementsAre(CpuSet{2}));
  EXPECT_THAT(widen_affinities(run(processes), std::nullopt).value(), ElementsAre(8, 9));
  EXPECT_THAT(table_.processes[8].threads, ElementsAre(all));
  EXPECT_THAT(widen_affinities(cgroups_->group(kName).value(), std::nullopt).value(), IsEmpty());
}

TEST_P(AffinityOf, OneThatCannotBeWidenedKeepsNoOtherFromIt) {
  const CpuSet all{2, 3, 4};
  const auto widened = widen_affinities(
      run({{7, {1, "/poda/c", {{2}}, {all}, true}}, {8, {2, "/poda/c", {{2}}, {all}}}}),
      std::nullopt);
  ASSERT_FALSE(widened.has_value());
  EXPECT_EQ(widened.error().code, ErrorCode::kIo);
  EXPECT_THAT(table_.processes[8].threads, ElementsAre(all));
}

/// A child that sleeps on one CPU.
class PinnedChild : public testing::Test {
 protected:
  void SetUp() override {
    cpu_set_t all;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "needs two CPUs";
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all)) allowed_.insert(CpuId{cpu});
    }
    first_ = allowed_.first();
    int ready[2] = {};
    ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<unsigned>(first_.value), &one);
      const bool is_pinned = ::sched_setaffinity(0, sizeof one, &one) == 0;
      (void)!::write(ready[1], is_pinned ? "y" : "n", 1);
      while (true) ::pause();
    }
    char answer = 0;
    ASSERT_EQ(::read(ready[0], &answer, 1), 1);
    ASSERT_EQ(answer, 'y');
    for (const int end : ready) (void)::close(end);
  }
  void TearDown() override {
    if (child_ <= 0) return;
    (void)::kill(child_, SIGKILL);
    (void)::waitpid(child_, nullptr, 0);
  }

  CpuSet allowed_;
  CpuId first_{0};
  pid_t child_ = 0;
};

TEST_F(PinnedChild, IsSeenAndWidened) {
  EXPECT_THAT(allowed_cpus(child_), ElementsAre(CpuSet::of(first_)));
  const auto widened = widen_affinity(child_);
  ASSERT_TRUE(widened.has_value()) << widened.error().message;
  ASSERT_EQ(allowed_cpus(child_).size(), 1U);
  EXPECT_TRUE(allowed_cpus(child_).front().contains_all(allowed_)) << allowed_cpus(child_).front();
}

TEST_F(PinnedChild, TheCommandThatStatusShowsWidensIt) {
  const std::string command = widening_command(child_) + " >/dev/null";
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe,cert-env33-c)
  if (WEXITSTATUS(status) == 127) GTEST_SKIP() << "needs taskset";
  ASSERT_EQ(status, 0) << command;
  ASSERT_EQ(allowed_cpus(child_).size(), 1U);
  EXPECT_TRUE(allowed_cpus(child_).front().contains_all(allowed_)) << allowed_cpus(child_).front();
}

TEST_F(PinnedChild, ThatHasEndedIsNotFound) {
  (void)::kill(child_, SIGKILL);
  (void)::waitpid(child_, nullptr, 0);
  EXPECT_THAT(allowed_cpus(child_), IsEmpty());
  EXPECT_EQ(widen_affinity(child_).error().code, ErrorCode::kNotFound);
  child_ = 0;
}

}  // namespace
}  // namespace pinfold::enforce
