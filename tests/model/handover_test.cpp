#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/enforce/plan.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

/// The model handover.pml is searched to its end, and its plans are compared with the planner's.
namespace pinfold::enforce {
namespace {

constexpr int kContainers = 3;
constexpr int kCpus = 4;
constexpr unsigned kNobody = 3;  ///< owner of the CPUs of the shared pool

/// What the program of a model prints, through a filter of the shell.
std::string search(const std::string& program, const std::string& filter) {
  const test::TempDir folder;  // for the trail of a violated assertion
  const auto outcome = test::run_shell(
      fmt::format("cd '{}' && {} -m10000 -w23 | {}", folder.path(), program, filter));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.out;
}

void expect_holds(const std::string& program) {
  const std::string out = search(program, "grep -v unreached");
  EXPECT_NE(out.find("assertion violations\t+"), std::string::npos) << out;
  EXPECT_NE(out.find(" errors: 0\n"), std::string::npos) << out;
  EXPECT_EQ(out.find("max search depth too small"), std::string::npos) << out;
  std::cout << out.substr(std::min(out.find("State-vector"), out.size()), 160) << '\n';
}

TEST(HandoverModel, HoldsAcrossTwoCrashes) { expect_holds(MODEL_CRASHES); }

/// `-l`: also that no sequence of states is endless.
TEST(HandoverModel, HoldsAcrossACrashAndAWriteOfAnotherProgram) {
  expect_holds(MODEL_WRITES " -l");
}

/// The first assertion that a broken variant violates.
std::string violated(const std::string& program) {
  return search(program,
                "sed -n 's/.*assertion violated *\\(.*\\) (at depth.*/\\1/p' | tr -d '\\n'");
}

TEST(HandoverModel, OverlapsIfCpusAreGrantedBeforeOthersShrink) {
  EXPECT_EQ(violated(MODEL_GRANT_FIRST), "!(overlap)");
}

TEST(HandoverModel, StartsAContainerOnWrongCpusIfNothingIsReadBack) {
  EXPECT_EQ(violated(MODEL_NO_VERIFY), "!(failed)");
}

TEST(HandoverModel, StartsAContainerTooEarlyIfTheCommitIsLast) {
  EXPECT_EQ(violated(MODEL_COMMIT_LAST), "(durable||old.cpus[c])");
}

/// A container of the model is the only one of its pod.
GroupName container(int index) { return {PodUid(std::to_string(index)), "c"}; }

CpuSet cpus_of(unsigned mask) {
  CpuSet cpus;
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    if (((mask >> static_cast<unsigned>(cpu)) & 1U) != 0) cpus.insert(CpuId{cpu});
  }
  return cpus;
}
unsigned mask_of(const CpuSet& cpus) {
  unsigned mask = 0;
  for (const CpuId cpu : cpus) mask |= 1U << static_cast<unsigned>(cpu.value);
  return mask;
}

void add_container(Layout& layout, int index, const CpuSet& cpus, Isolation isolation) {
  GroupSettings settings;
  settings.cpus = cpus;
  layout[container(index).parent()] = settings;
  settings.isolation = isolation;
  layout[container(index)] = settings;
}

/// " s14 x1 -": in the shared pool, exclusive, no group.
std::string text_of(const Layout& layout) {
  std::string text;
  for (int index = 0; index < kContainers; ++index) {
    const auto found = layout.find(container(index));
    text += found == layout.end()
                ? " -"
                : fmt::format(" {}{}", found->second.isolation == Isolation::kHost ? 's' : 'x',
                              mask_of(found->second.cpus));
  }
  return text;
}

Layout parse_layout(std::istream& in) {
  Layout layout;
  for (int index = 0; index < kContainers; ++index) {
    std::string word;
    in >> word;
    if (word == "-") continue;
    add_container(layout, index, cpus_of(static_cast<unsigned>(std::stoul(word.substr(1)))),
                  word[0] == 's' ? Isolation::kHost : Isolation::kContainer);
  }
  return layout;
}

/// A step as the model prints it. The model makes a group and writes its set in one step, and knows
/// no pods' groups: those steps are "".
std::string text_of(const Step& step, bool is_new) {
  if (step.group.is_pod()) return "";
  const std::string& who = step.group.pod.value;
  const unsigned set = mask_of(step.set);
  if (step.kind == Step::Kind::kRemove) return " -" + who;
  if (step.kind == Step::Kind::kVerify) return fmt::format(" ?{}={}", who, set);
  if (step.kind == Step::Kind::kCpus) return fmt::format(" {}{}={}", is_new ? "+" : "", who, set);
  return "";
}

/// A pod's set contains its container's after each step, so that what the model leaves out changes
/// nothing for the container.
void expect_pods_wide_enough(const Layout& layout, const std::string& plan) {
  for (const auto& [name, settings] : layout) {
    if (name.is_pod()) continue;
    const auto pod = layout.find(name.parent());
    ASSERT_NE(pod, layout.end()) << plan;
    ASSERT_TRUE(pod->second.cpus.contains_all(settings.cpus)) << plan;
  }
}

/// The planner's plan, as the model prints plans, and the layouts after each of its steps that the
/// model knows, the first one before them.
struct Planned {
  std::string text;
  std::vector<Layout> layouts;
};
Planned planned(const Layout& before, const Layout& after) {
  Planned result;
  result.text = fmt::format("plan{} >{} :", text_of(before), text_of(after));
  const auto steps = plan(before, after, CpuSet::range(0, kCpus - 1));
  if (!steps) {
    result.text += " impossible";
    return result;
  }
  Layout now = before;
  result.layouts.push_back(now);
  std::optional<GroupName> made;
  for (const Step& step : *steps) {
    apply_to(now, step);
    if (step.kind == Step::Kind::kCreate) made = step.group;
    const std::string text = text_of(step, made == step.group);
    if (text.empty()) continue;
    if (made == step.group) made.reset();
    result.text += text;
    expect_pods_wide_enough(now, result.text);
    result.layouts.push_back(now);
  }
  return result;
}

/// A plan without the steps of one that was found impossible: the model prints them.
std::string without_steps_of_impossible(const std::string& line) {
  if (!line.ends_with(" impossible")) return line;
  return line.substr(0, line.find(" :") + 2) + " impossible";
}

/// Every plan that the model makes, in any of its states.
const std::set<std::string>& plans_of_model() {
  static const std::set<std::string> kPlans = [] {
    std::set<std::string> plans;
    std::istringstream lines(search(MODEL_TRACES, "grep -a '^ *plan' | sort -u"));
    for (std::string line; std::getline(lines, line);) {
      plans.insert(without_steps_of_impossible(line.substr(line.find("plan"))));
    }
    return plans;
  }();
  return kPlans;
}

TEST(HandoverModel, EachOfItsPlansIsThePlanners) {
  ASSERT_GT(plans_of_model().size(), 1000U);
  for (const std::string& line : plans_of_model()) {
    std::istringstream in(line.substr(std::string("plan").size()));
    const Layout before = parse_layout(in);
    std::string sign;
    in >> sign;
    const Layout after = parse_layout(in);
    ASSERT_EQ(planned(before, after).text, line);
  }
}

/// A decision. Owners of CPUs: see kNobody; `exists`: containers without exclusive CPUs that are in
/// the shared pool.
Layout layout_of(const std::array<unsigned, kCpus>& owners, unsigned exists) {
  std::array<unsigned, kContainers + 1> masks{};
  for (unsigned cpu = 0; cpu < kCpus; ++cpu) masks.at(owners.at(cpu)) |= 1U << cpu;
  Layout layout;
  for (unsigned index = 0; index < kContainers; ++index) {
    const bool is_exclusive = masks.at(index) != 0;
    if (!is_exclusive && ((exists >> index) & 1U) == 0) continue;
    add_container(layout, static_cast<int>(index),
                  cpus_of(is_exclusive ? masks.at(index) : masks.at(kNobody)),
                  is_exclusive ? Isolation::kContainer : Isolation::kHost);
  }
  return layout;
}

/// The decisions with these owners. None without a CPU in the shared pool, see handover.pml.
std::vector<Layout> layouts_of(const std::array<unsigned, kCpus>& owners) {
  std::map<std::string, Layout> layouts;
  if (std::find(owners.begin(), owners.end(), kNobody) == owners.end()) return {};
  for (unsigned exists = 0; exists < 1U << kContainers; ++exists) {
    Layout layout = layout_of(owners, exists);
    layouts.emplace(text_of(layout), layout);
  }
  std::vector<Layout> all;
  for (const auto& [text, layout] : layouts) all.push_back(layout);
  return all;
}

CpuSet pool_of(const Layout& layout) {
  return CpuSet::range(0, kCpus - 1) - agent::exclusive_cpus(layout);
}

/// Calls `visit` with any two decisions, but for the names of CPUs: the planner knows CPUs only as
/// members of sets. So their pairs of owners, before and after, are in order.
template <class Visit>
void for_all_pairs(const Visit& visit) {
  constexpr unsigned kPairs = 16;
  std::array<unsigned, kCpus> pairs{};
  const auto visit_pairs = [&] {
    std::array<unsigned, kCpus> old{};
    std::array<unsigned, kCpus> next{};
    for (std::size_t cpu = 0; cpu < kCpus; ++cpu) {
      old.at(cpu) = pairs.at(cpu) / 4;
      next.at(cpu) = pairs.at(cpu) % 4;
    }
    for (const Layout& before : layouts_of(old)) {
      for (const Layout& after : layouts_of(next)) visit(before, after);
    }
  };
  for (pairs[0] = 0; pairs[0] < kPairs; ++pairs[0]) {
    for (pairs[1] = pairs[0]; pairs[1] < kPairs; ++pairs[1]) {
      for (pairs[2] = pairs[1]; pairs[2] < kPairs; ++pairs[2]) {
        for (pairs[3] = pairs[2]; pairs[3] < kPairs; ++pairs[3]) visit_pairs();
      }
    }
  }
}

/// The layout before a reconfiguration, as a restarted agent knows it: of containers that still
/// run. Empty if no container gets other exclusive CPUs and some of the shared ones stay.
Layout earlier_of(const Layout& old, const Layout& next) {
  Layout earlier;
  bool moves = !(pool_of(old).intersects(pool_of(next)));
  for (const auto& [name, settings] : old) {
    const auto found = next.find(name);
    if (found == next.end() || name.is_pod()) continue;
    earlier.emplace(name, settings);
    moves = moves ||
            (settings.cpus != found->second.cpus && (settings.isolation != Isolation::kHost ||
                                                     found->second.isolation != Isolation::kHost));
  }
  return moves ? earlier : Layout();
}

/// What a restarted agent plans if the one before was killed when the kernel had `kernel`.
std::string plan_after_restart(Layout kernel, const Layout& earlier, const Layout& desired) {
  for (auto& [name, settings] : kernel) settings.isolation = Isolation::kHost;
  agent::mark_isolation(desired, earlier, kernel);
  return planned(kernel, desired).text;
}

TEST(HandoverModel, MakesEachPlanOfThePlanner) {
  std::size_t pairs = 0;
  std::set<std::string> missing;
  const auto expect_known = [&](const std::string& text) {
    if (!plans_of_model().contains(text)) missing.insert(text);
  };
  for_all_pairs([&](const Layout& before, const Layout& after) {
    ++pairs;
    const Planned first = planned(before, after);
    expect_known(first.text);
    expect_known(plan_after_restart(before, {}, before));  // killed before the commit
    const Layout earlier = earlier_of(before, after);
    for (const Layout& kernel : first.layouts) {
      expect_known(plan_after_restart(kernel, earlier, after));
    }
    if (!first.layouts.empty()) expect_known(plan_after_restart({}, {}, after));  // a reboot
  });
  std::cout << pairs << " pairs of layouts, " << plans_of_model().size() << " plans\n";
  EXPECT_TRUE(missing.empty()) << missing.size() << ", the first one: " << *missing.begin();
}

}  // namespace
}  // namespace pinfold::enforce
