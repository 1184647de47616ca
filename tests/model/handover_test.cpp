#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "handover_layouts.hpp"
#include "pinfold/agent/desired.hpp"
#include "pinfold/enforce/plan.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

/// Searches the model handover.pml exhaustively, and compares its plans with the planner's.
namespace pinfold::enforce {
namespace {

/// Returns the output of a model's program, piped through a shell filter.
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

TEST(HandoverModel, HoldsAcrossTwoCrashesAndAWriteOfAnotherProgram) { expect_holds(MODEL_SAFETY); }

/// `-l`: no sequence of states is endless.
TEST(HandoverModel, ComesToAnEndAfterACrashAndAWriteOfAnotherProgram) {
  expect_holds(MODEL_ENDLESS " -l");
}

/// Returns the first assertion that a broken variant violates.
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

/// Returns a step as the model prints it. The model makes a group and writes its set in one step,
/// and has no pod groups; those steps are "".
std::string text_of(const Step& step, bool is_new) {
  if (step.group.is_pod()) return "";
  const std::string& who = step.group.pod.value;
  const unsigned set = mask_of(step.set);
  if (step.kind == Step::Kind::kRemove) return " -" + who;
  if (step.kind == Step::Kind::kVerify) return fmt::format(" ?{}={}", who, set);
  if (step.kind == Step::Kind::kCpus) return fmt::format(" {}{}={}", is_new ? "+" : "", who, set);
  return "";
}

/// Expects a pod's set to contain its container's after each step, so that the parts that the model
/// leaves out do not affect the container.
void expect_pods_wide_enough(const Layout& layout, const std::string& plan) {
  for (const auto& [name, settings] : layout) {
    if (name.is_pod()) continue;
    const auto pod = layout.find(name.parent());
    ASSERT_NE(pod, layout.end()) << plan;
    ASSERT_TRUE(pod->second.cpus.contains_all(settings.cpus)) << plan;
  }
}

/// The planner's plan, in the form that the model prints, and the layouts before the first and
/// after each of its steps that the model also has.
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

/// Returns a plan without the steps of a plan found to be impossible, which the model prints.
std::string without_steps_of_impossible(const std::string& line) {
  if (!line.ends_with(" impossible")) return line;
  return line.substr(0, line.find(" :") + 2) + " impossible";
}

/// Returns every plan that the model makes, in any of its states, across two crashes, or a crash
/// and a write by another program. A plan after a restart is preceded by what the restart observes.
const std::vector<std::string>& lines_of_model() {
  static const std::vector<std::string> kLines = [] {
    std::vector<std::string> lines;
    std::istringstream in(search(MODEL_TRACES, "grep -a plan | sed 's/^ *//' | sort -u"));
    for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
    return lines;
  }();
  return kLines;
}

const std::set<std::string>& plans_of_model() {
  static const std::set<std::string> kPlans = [] {
    std::set<std::string> plans;
    for (const std::string& line : lines_of_model()) {
      plans.insert(without_steps_of_impossible(line.substr(line.find("plan"))));
    }
    return plans;
  }();
  return kPlans;
}

struct ParsedPlan {
  Layout before;
  Layout after;
};
ParsedPlan parse_plan(std::istream& in) {
  ParsedPlan result;
  result.before = parse_layout(in);
  std::string sign;
  in >> sign;
  result.after = parse_layout(in);
  return result;
}

TEST(HandoverModel, EachOfItsPlansIsThePlanners) {
  ASSERT_GT(plans_of_model().size(), 20000U);
  for (const std::string& line : plans_of_model()) {
    std::istringstream in(line.substr(std::string("plan").size()));
    const auto [before, after] = parse_plan(in);
    ASSERT_EQ(planned(before, after).text, line);
  }
}

/// In each state in which the model restarts, the agent makes the same plan as the model.
TEST(HandoverModel, EachOfItsRestartsIsTheAgents) {
  std::size_t restarts = 0;
  for (const std::string& line : lines_of_model()) {
    if (!line.starts_with("kernel ")) continue;
    ++restarts;
    std::istringstream in(line);
    std::array<unsigned, kContainers> sets{};
    unsigned started = 0;
    std::string word;
    in >> word >> sets[0] >> sets[1] >> sets[2] >> word >> started >> word;
    Layout earlier;
    if (word == "earlier") {
      earlier = running(parse_layout(in), started);
      in >> word;
    }
    ASSERT_EQ(word, "plan") << line;
    const auto [before, after] = parse_plan(in);
    Layout observed = kernel_layout(sets);
    agent::mark_isolation(after, earlier, observed);
    ASSERT_EQ(text_of(observed), text_of(before)) << line;
  }
  std::cout << restarts << " states in which the agent restarts\n";
  ASSERT_GT(restarts, 100000U);
}

CpuSet pool_of(const Layout& layout) {
  return CpuSet::range(0, kCpus - 1) - agent::exclusive_cpus(layout);
}

/// Calls `visit` with every pair of decisions, up to renaming CPUs, since the planner uses CPUs
/// only as members of sets. So the pairs of owners, before and after, are in order.
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

/// Returns the layout before a reconfiguration as a restarted agent knows it, of containers that
/// still run. Empty if no container gets other exclusive CPUs and some shared ones stay.
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

/// Returns the plan of a restarted agent, if the previous one was killed when the kernel had
/// `kernel`.
Planned plan_after_restart(Layout kernel, const Layout& earlier, const Layout& desired) {
  for (auto& [name, settings] : kernel) settings.isolation = Isolation::kHost;
  agent::mark_isolation(desired, earlier, kernel);
  return planned(kernel, desired);
}

/// Returns layouts that another program can make of this one: it widens one container's set, or
/// removes the group of a container that does not run yet.
std::vector<Layout> disturbed(const Layout& layout, const Layout& runs) {
  std::vector<Layout> results;
  for (int index = 0; index < kContainers; ++index) {
    if (!layout.contains(container(index))) continue;
    Layout widened = layout;
    add_container(widened, index, CpuSet::range(0, kCpus - 1), Isolation::kHost);
    results.push_back(std::move(widened));
    if (runs.contains(container(index))) continue;
    Layout removed = layout;
    removed.erase(container(index));
    removed.erase(container(index).parent());
    results.push_back(std::move(removed));
  }
  return results;
}

/// Looks for the planner's plans among those of the model.
class PlansInModel {
 public:
  void expect_known(const Planned& plan) {
    if (!plans_of_model().contains(plan.text)) missing.insert(plan.text);
  }

  /// Follows the transition from one decision to the next: every plan of a first agent, of one that
  /// continues after it was killed, and of one that continues after that, with a reboot or another
  /// program's write in between.
  void follow(const Layout& before, const Layout& after) {
    const Planned first = planned(before, after);
    expect_known(first);
    expect_known(plan_after_restart(before, {}, before));  // killed before the commit
    const Layout earlier = earlier_of(before, after);
    for (const Layout& kernel : first.layouts) {
      follow_restart(kernel, earlier, after);
      for (const Layout& other : disturbed(kernel, before)) {
        follow_restart(other, earlier, after);
      }
    }
    if (!first.layouts.empty()) follow_restart({}, {}, after);  // a reboot
  }

  std::set<std::string> missing;

 private:
  void follow_restart(const Layout& kernel, const Layout& earlier, const Layout& after) {
    const Planned second = plan_after_restart(kernel, earlier, after);
    expect_known(second);
    for (const Layout& then : second.layouts) {
      expect_known(plan_after_restart(then, earlier, after));
    }
  }
};

TEST(HandoverModel, MakesEachPlanOfThePlanner) {
  std::size_t pairs = 0;
  PlansInModel plans;
  for_all_pairs([&](const Layout& before, const Layout& after) {
    ++pairs;
    plans.follow(before, after);
  });
  std::cout << pairs << " pairs of layouts, " << plans_of_model().size() << " plans\n";
  EXPECT_TRUE(plans.missing.empty())
      << plans.missing.size() << ", the first one: " << *plans.missing.begin();
}

}  // namespace
}  // namespace pinfold::enforce
