#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "draw.hpp"
#include "fake_knobs.hpp"
#include "pinfold/quiet/quiet_knobs.hpp"

namespace pinfold::quiet {
namespace {

using test::draw;
using test::FakeKnobs;
using test::KnobWorld;

constexpr int kCpus = 8;
constexpr int kKnobs = 12;

const CpuSet& online() {
  static const CpuSet kAll = CpuSet::range(0, kCpus - 1);
  return kAll;
}

/// The end of the process in the middle of a plan.
struct Killed {};

CpuSet random_cpus() {
  CpuSet cpus;
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    if (draw(0, 2) == 0) cpus.insert(CpuId{cpu});
  }
  return cpus;
}

std::string random_value(const Knob& knob) {
  CpuSet cpus = random_cpus();
  const bool may_be_empty = knob.kind == KnobKind::kReceive || knob.kind == KnobKind::kUnit ||
                            knob.kind == KnobKind::kIrqbalance;
  if (cpus.empty() && !may_be_empty) cpus.insert(CpuId{draw(0, kCpus - 1)});
  return value_of(knob, cpus, "00000000,00000000");
}

QuietCpus random_quiet() {
  QuietCpus quiet;
  quiet.add(QuietLevel::kInterrupts, random_cpus());
  quiet.add(QuietLevel::kSystem, random_cpus());
  return quiet;
}

/// A machine, the process that makes it quiet, and the record that survives a crash.
class Model {
 public:
  Model() {
    std::vector<KnobKind> kinds;
    for (const KnobKind kind : enumerators(KnobKind())) {
      if (!isolates(kind)) kinds.push_back(kind);
    }
    for (int i = 0; i < kKnobs; ++i) {
      const auto kind = static_cast<std::size_t>(draw(0, static_cast<int>(kinds.size()) - 1));
      const Knob knob{kinds[kind], std::to_string(i)};
      world_.values[knob] = random_value(knob);
    }
    theirs_ = world_.values;
    world_.shows_late = draw(0, 1) == 0;
    world_.before_write = [this] {
      if (left_ && (*left_)-- == 0) throw Killed();
    };
    restart();
  }

  /// A new process, which knows only the record.
  void restart() {
    left_.reset();
    knobs_.emplace(std::make_unique<FakeKnobs>(world_), record_, [this](const KeptKnobs& kept) {
      record_ = kept;
      return true;
    });
  }

  /// Makes CPUs quiet. The process is killed before one of its writes, or at none of them.
  void change(const QuietCpus& quiet, std::optional<int> killed_at = std::nullopt) {
    left_ = killed_at;
    try {
      knobs_->leave({quiet, online(), {}});
      knobs_->give_back();
    } catch (const Killed&) {
      restart();
    }
    left_.reset();
  }
  void reconcile(const QuietCpus& quiet) { knobs_->reconcile({quiet, online(), {}}); }

  /// Another program writes a knob. It skips values that are also ours: they cannot be told apart.
  void write_by_another() {
    auto knob = world_.values.begin();
    std::advance(knob, draw(0, static_cast<int>(world_.values.size()) - 1));
    std::string value = random_value(knob->first);
    const auto kept = record_.find(knob->first);
    if (kept != record_.end()) {
      const auto& ours = kept->second.ours;
      if (std::find(ours.begin(), ours.end(), value) != ours.end()) return;
    }
    world_.late.erase(knob->first);
    theirs_[knob->first] = value;
    knob->second = std::move(value);
  }

  /// Makes a knob unwritable, or writable again.
  void fix_one() {
    auto knob = world_.values.begin();
    std::advance(knob, draw(0, static_cast<int>(world_.values.size()) - 1));
    if (world_.fixed.erase(knob->first) == 0) world_.fixed.insert(knob->first);
  }

  [[nodiscard]] KnobWorld& world() { return world_; }
  /// What each knob would be without us.
  [[nodiscard]] const KnobValues& theirs() const { return theirs_; }
  [[nodiscard]] const KeptKnobs& record() const { return record_; }

 private:
  KnobWorld world_;
  KnobValues theirs_;
  KeptKnobs record_;
  std::optional<int> left_;  ///< writes until the process is killed
  std::optional<QuietKnobs> knobs_;
};

void run_randomly(Model& model) {
  const int steps = draw(1, 12);
  for (int i = 0; i < steps; ++i) {
    switch (draw(0, 6)) {
      case 0:
        model.write_by_another();
        break;
      case 1:
        model.change(random_quiet(), draw(0, 6));
        break;
      case 2:
        model.reconcile(random_quiet());
        break;
      case 3:
        model.restart();
        break;
      case 4:
        model.fix_one();
        break;
      case 5:
        model.world().balance();
        break;
      default:
        model.change(random_quiet());
    }
  }
  model.world().fixed.clear();
}

void require_quiet(const KnobValues& values, const QuietCpus& quiet) {
  for (const auto& [knob, value] : values) {
    const CpuSet cpus = *cpus_of(knob, value, online());
    const CpuSet must = quiet.of(knob);
    if (knob.kind == KnobKind::kIrqbalance) {
      RC_ASSERT(cpus.contains_all(must));
    } else if (must != online()) {
      RC_ASSERT(!cpus.intersects(must));
    }
  }
}

TEST(QuietProperty, RestoresEveryKnobToTheByte) {
  EXPECT_TRUE(rc::check("whatever happened before, nothing of it is left", [] {
    Model model;
    run_randomly(model);
    model.reconcile({});
    model.world().balance();
    RC_ASSERT(model.world().values == model.theirs());
    model.reconcile({});  // sees that irqbalance has its old value back
    RC_ASSERT(model.world().late.empty());
    RC_ASSERT(model.record().empty());
  }));
}

TEST(QuietProperty, LeavesQuietCpusAfterAReconciliation) {
  EXPECT_TRUE(rc::check("no knob has a quiet CPU", [] {
    Model model;
    run_randomly(model);
    const QuietCpus quiet = random_quiet();
    model.reconcile(quiet);
    model.world().balance();
    require_quiet(model.world().values, quiet);
  }));
}

TEST(QuietProperty, WritesNothingThatDoesNotChange) {
  EXPECT_TRUE(rc::check("a second reconciliation writes nothing", [] {
    Model model;
    run_randomly(model);
    const QuietCpus quiet = random_quiet();
    model.reconcile(quiet);
    model.world().balance();
    model.world().written.clear();
    model.reconcile(quiet);
    RC_ASSERT(model.world().written.empty());
  }));
}

TEST(QuietProperty, KeepsOffReleasedCpusUntilTheyAreGivenBack) {
  EXPECT_TRUE(rc::check("between the two halves every CPU of both is quiet", [] {
    KnobWorld world;
    const Knob knob{KnobKind::kInterrupt, "24"};
    world.values[knob] = random_value(knob);
    QuietKnobs knobs(std::make_unique<FakeKnobs>(world), {}, [](const auto&) { return true; });
    const QuietCpus first = random_quiet();
    const QuietCpus second = random_quiet();
    knobs.reconcile({first, online(), {}});
    knobs.leave({second, online(), {}});
    const CpuSet both = first.interrupts | second.interrupts;
    if (both == online()) return;
    RC_ASSERT(!cpus_of(knob, world.values[knob], online())->intersects(both));
  }));
}

/// Three containers of a runtime, in two pods; some of them are isolated.
class IsolationModel {
 public:
  IsolationModel() {
    for (const char* const group : {"/k", "/k/1", "/k/1/a", "/k/1/b", "/k/2", "/k/2/c"}) {
      world_.values[{KnobKind::kExclusive, group}] = "";
    }
    for (const auto& [container, cpus] : random_containers()) {
      world_.values[{KnobKind::kPartition, container}] = "member";
    }
    theirs_ = world_.values;
    world_.before_write = [this] { check(); };
    restart();
  }
  void restart() {
    knobs_.emplace(std::make_unique<FakeKnobs>(world_), record_, [this](const KeptKnobs& kept) {
      record_ = kept;
      return true;
    });
  }
  /// Isolates the containers that have exclusive CPUs.
  void change() {
    containers_ = random_containers();
    QuietDesired desired{{}, online(), {}};
    for (const auto& [container, cpus] : containers_) {
      if (cpus.empty()) continue;
      desired.cpus.partitions[container] = cpus;
      desired.cpus.add(QuietLevel::kIsolated, cpus);
    }
    knobs_->leave(desired);
    knobs_->give_back();
  }
  /// Checks that exactly the containers with exclusive CPUs are partitions, each of its CPUs.
  void require_isolated() {
    for (const auto& [container, cpus] : containers_) {
      const std::string expected(cpus.empty() ? kMemberPartition : kIsolatedPartition);
      RC_ASSERT(world_.values.at({KnobKind::kPartition, container}) == expected);
      RC_ASSERT(listed(container) == cpus);
    }
  }
  void end() {
    knobs_->reconcile({{}, online(), {}});
    RC_ASSERT(world_.values == theirs_);
    RC_ASSERT(record_.empty());
  }

 private:
  static std::map<std::string, CpuSet> random_containers() {
    std::map<std::string, CpuSet> containers{{"/k/1/a", {}}, {"/k/1/b", {}}, {"/k/2/c", {}}};
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      const auto owner = std::next(containers.begin(), draw(0, 3));
      if (owner != containers.end()) owner->second.insert(CpuId{cpu});
    }
    return containers;
  }
  [[nodiscard]] CpuSet listed(const std::string& group) const {
    return *CpuSet::parse(world_.values.at({KnobKind::kExclusive, group}));
  }
  /// What the kernel requires at any moment.
  void check() const {
    RC_ASSERT(!listed("/k/1/a").intersects(listed("/k/1/b")));
    RC_ASSERT(!listed("/k/1").intersects(listed("/k/2")));
  }

  KnobWorld world_;
  KnobValues theirs_;
  KeptKnobs record_;
  std::map<std::string, CpuSet> containers_;
  std::optional<QuietKnobs> knobs_;
};

TEST(QuietProperty, IsolatesContainersAndNeverListsACpuTwice) {
  EXPECT_TRUE(rc::check("partitions follow their containers", [] {
    IsolationModel isolation;
    const int steps = draw(1, 6);
    for (int i = 0; i < steps; ++i) {
      if (draw(0, 3) == 0) isolation.restart();
      isolation.change();
      isolation.require_isolated();
    }
    isolation.end();
  }));
}

}  // namespace
}  // namespace pinfold::quiet
