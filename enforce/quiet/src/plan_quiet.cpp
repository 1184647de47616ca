#include "pinfold/quiet/plan_quiet.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

// How it works
//
// Every knob has a base: the value that it has without Pinfold. That is the recorded value while
// the knob has a value that Pinfold wrote, and its current value otherwise. The value for a set of
// quiet CPUs follows from the base alone, so a plan does not depend on the plans before it.
//
// An interrupt that begins while new ones are kept off quiet CPUs has a value that Pinfold chose,
// though it never wrote it. Its base is what new interrupts had before.
//
// The first step of a knob leaves the CPUs that are quiet before or after, the second one only
// those that are quiet after. Most plans only add or only release CPUs and have one of the two.
//
// The record before the steps has every value that the knob can have while they are executed. So
// after a crash between any two of them the next plan still recognizes the value as Pinfold's.
//
// A cgroup becomes a partition with CPUs that it and all cgroups above list as exclusive. The first
// step takes CPUs off these lists that will not be there afterwards, and ends partitions that lack
// a CPU; the second one adds the others and begins partitions. So no CPU is on the lists of two
// containers at any moment, which the kernel would refuse. The CPUs of a partition follow from the
// observed lists, so a new process does not end and restart the partitions that it finds.
//
// irqbalance shows a list of banned CPUs only after its next balancing, seconds later. Until it
// shows the last one, its record has every value that it can show meanwhile, and each plan sends
// the list again, even if a crash came before it was sent. The record ends once irqbalance shows
// the earlier value.

namespace pinfold::quiet {
namespace {

bool is_of_system(KnobKind kind) { return kind >= KnobKind::kWorkqueue && !isolates(kind); }

/// Returns whether a knob of this kind is to have quiet CPUs, not to leave them.
bool gathers(KnobKind kind) {
  return kind == KnobKind::kIrqbalance || kind == KnobKind::kExclusive;
}

bool shows_late(const Knob& knob) { return knob.kind == KnobKind::kIrqbalance; }

bool is_ours(const KeptKnob* kept, const std::string& value) {
  return kept != nullptr &&
         std::find(kept->ours.begin(), kept->ours.end(), value) != kept->ours.end();
}

const KeptKnob* kept_of(const KeptKnobs& kept, const Knob& knob) {
  const auto found = kept.find(knob);
  return found == kept.end() ? nullptr : &found->second;
}

/// Returns the CPUs of the observed partitions.
CpuSet isolated_now(const QuietRequest& request) {
  CpuSet cpus;
  for (const auto& [knob, value] : request.observed) {
    if (knob.kind != KnobKind::kPartition || value != kIsolatedPartition) continue;
    const auto list = request.observed.find({KnobKind::kExclusive, knob.name});
    if (list == request.observed.end()) continue;
    cpus |= cpus_of(list->first, list->second, {}).value_or(CpuSet());
  }
  return cpus;
}

/// Returns whether the kernel itself may have given one of its threads this value: when a partition
/// begins or ends it sets them to the CPUs that are not isolated, and since Linux 7.0 to the
/// preferred ones among these. Then no other program has changed it.
bool is_by_kernel(const QuietRequest& request, const Knob& knob, const KeptKnob* kept,
                  const std::string& now) {
  const CpuSet& online = request.after.online;
  if (knob.kind != KnobKind::kKernelThread || kept == nullptr) return false;
  const auto has = cpus_of(knob, now, online);
  const auto base = cpus_of(knob, kept->before, online);
  const std::array isolated = {request.before.isolated, request.after.cpus.isolated,
                               isolated_now(request), CpuSet()};
  const bool has_some = std::any_of(isolated.begin(), isolated.end(),
                                    [](const CpuSet& cpus) { return !cpus.empty(); });
  if (!has || !base || !has_some) return false;
  return std::any_of(isolated.begin(), isolated.end(), [&](const CpuSet& cpus) {
    const CpuSet left = online - cpus;
    return (*has & online) == left || (*has & online) == (*base & left);
  });
}

/// Returns the value of a knob for quiet CPUs; nullopt if its base is not a set of CPUs.
std::optional<std::string> value_for(const Knob& knob, const std::string& base,
                                     const CpuSet& online, const CpuSet& quiet) {
  if (knob.kind == KnobKind::kPartition) {
    const bool begins = base == kMemberPartition && !quiet.empty();
    return std::string(begins ? kIsolatedPartition : base);
  }
  const auto cpus = cpus_of(knob, base, online);
  if (!cpus) return std::nullopt;
  if (gathers(knob.kind)) {
    return cpus->contains_all(quiet) ? base : value_of(knob, *cpus | quiet, base);
  }
  if (!cpus->intersects(quiet)) return base;
  const CpuSet left = *cpus - quiet;
  const CpuSet housekeeping = online - quiet;
  if (left.intersects(online)) return value_of(knob, left, base);
  return housekeeping.empty() ? base : value_of(knob, housekeeping, base);
}

/// Adds a value to what is kept, as the last one.
void add_last(KeptKnob& kept, const std::string& value) {
  std::erase(kept.ours, value);
  kept.ours.push_back(value);
}

/// Adds a value to what is kept, unless it is the earlier one.
void add_ours(KeptKnob& kept, const std::string& value) {
  if (value != kept.before) add_last(kept, value);
}

/// Returns the values that a knob can show before the last one that was written; none if it shows
/// that.
std::vector<std::string> unsettled(const Knob& knob, const KeptKnob* known,
                                   const std::string& now) {
  if (!shows_late(knob) || known == nullptr || known->ours.empty()) return {};
  const bool shows_last = known->is_written && known->ours.back() == now;
  return shows_last ? std::vector<std::string>() : known->ours;
}

/// Returns the CPUs that were quiet before and that a knob has left: one that could not leave them
/// need not do so on the way.
CpuSet released(const QuietRequest& request, const Knob& knob, const std::string& now) {
  const auto used = not_left(knob, now, {request.before, request.after.online, {}});
  return used ? request.before.of(knob) - *used : CpuSet();
}

/// Returns the CPUs for partitions while the containers move: those that a list keeps; all of a
/// partition that has them already, else none.
CpuSet isolated_meanwhile(const QuietRequest& request, const Knob& knob, const std::string& now) {
  const CpuSet after = request.after.cpus.of(knob);
  if (knob.kind == KnobKind::kExclusive) {
    return cpus_of(knob, now, {}).value_or(CpuSet()) & after;
  }
  const Knob list{KnobKind::kExclusive, knob.name};
  const auto listed = request.observed.find(list);
  if (now != kIsolatedPartition || listed == request.observed.end()) return {};
  const auto has = cpus_of(list, listed->second, {});
  return has && has->contains_all(after) ? after : CpuSet();
}

/// Returns the CPUs that are quiet for a knob while the containers move.
CpuSet quiet_meanwhile(const QuietRequest& request, const Knob& knob, const std::string& now) {
  if (isolates(knob.kind)) return isolated_meanwhile(request, knob, now);
  return released(request, knob, now) | request.after.cpus.of(knob);
}

/// The values of one knob in a plan.
struct KnobCourse {
  const std::string& base;
  const std::string& now;
  std::string during;  ///< while the containers move
  std::string last;
  std::vector<std::string> unsettled;

  [[nodiscard]] bool is_left() const { return during != now || !unsettled.empty(); }
  [[nodiscard]] bool has_steps() const { return is_left() || last != during; }
};

/// Returns what a knob has while the containers move, and afterwards; nullopt if its base is not a
/// set of CPUs.
std::optional<KnobCourse> course_of(const QuietRequest& request, const Knob& knob,
                                    const std::string& base, const std::string& now) {
  const CpuSet& online = request.after.online;
  const bool is_spared = holds_containers(knob, request.after.containers);
  auto during =
      value_for(knob, base, online, is_spared ? CpuSet() : quiet_meanwhile(request, knob, now));
  auto last = value_for(knob, base, online, is_spared ? CpuSet() : request.after.cpus.of(knob));
  if (!during || !last) return std::nullopt;
  return KnobCourse{base, now, *std::move(during), *std::move(last), {}};
}

/// The courses of one plan. Hundreds of interrupts have the same value.
class Courses {
 public:
  explicit Courses(const QuietRequest& request) : request_(request) {}

  std::optional<KnobCourse> of(const Knob& knob, const std::string& base, const std::string& now) {
    const bool depends_on_name = isolates(knob.kind) || knob.kind == KnobKind::kUnit;
    if (depends_on_name) return course_of(request_, knob, base, now);
    const Key key{knob.kind, base, now};
    auto found = of_values_.find(key);
    if (found == of_values_.end()) {
      found = of_values_.emplace(key, course_of(request_, knob, base, now)).first;
    }
    return found->second;
  }

 private:
  using Key = std::tuple<KnobKind, std::string_view, std::string_view>;

  const QuietRequest& request_;
  std::map<Key, std::optional<KnobCourse>> of_values_;
};

/// What interrupts begin with because Pinfold keeps new ones off quiet CPUs.
struct NewInterrupts {
  std::vector<CpuSet> ours;
  std::string before;  ///< as a list; what they began with before
};

std::optional<NewInterrupts> new_interrupts(const KeptKnobs& kept) {
  const Knob knob{KnobKind::kNewInterrupts, ""};
  const KeptKnob* const known = kept_of(kept, knob);
  if (known == nullptr) return std::nullopt;
  const auto before = cpus_of(knob, known->before, {});
  if (!before) return std::nullopt;
  NewInterrupts found{{}, before->to_string()};
  for (const std::string& value : known->ours) {
    if (auto cpus = cpus_of(knob, value, {})) found.ours.push_back(*std::move(cpus));
  }
  return found;
}

/// Returns whether an interrupt has what new ones begin with. A known one may have ended, and
/// another one may have got its number.
bool has_begun_with(const NewInterrupts& begin, const QuietRequest& request, const Knob& knob,
                    const KeptKnob* known, const std::string& now) {
  const bool may_be_new = known != nullptr || request.begun.contains(knob);
  if (knob.kind != KnobKind::kInterrupt || !may_be_new) return false;
  const auto cpus = cpus_of(knob, now, {});
  return cpus && std::find(begin.ours.begin(), begin.ours.end(), *cpus) != begin.ours.end();
}

/// Adds what is kept of a knob before and after its steps.
void keep(const Knob& knob, const KnobCourse& course, QuietPlan& plan) {
  const bool is_late = shows_late(knob);
  KeptKnob kept{course.base, course.unsettled, is_late && !course.has_steps()};
  kept.ours.reserve(kept.ours.size() + 3);
  for (const std::string* value : {&course.now, &course.during, &course.last}) {
    add_ours(kept, *value);
  }
  if (course.last != course.base) plan.kept_after[knob] = {course.base, {course.last}, is_late};
  if (is_late && course.has_steps()) {
    KeptKnob& after = plan.kept_after[knob] = kept;
    add_last(after, course.last);
    after.is_written = true;
  }
  if (!kept.ours.empty()) plan.kept[knob] = std::move(kept);
}

/// Returns the base of a knob.
const std::string& base_of(const QuietRequest& request, const std::optional<NewInterrupts>& begin,
                           const Knob& knob, const KeptKnob* known, const std::string& now) {
  if (is_ours(known, now) || is_by_kernel(request, knob, known, now)) return known->before;
  if (begin && has_begun_with(*begin, request, knob, known, now)) return begin->before;
  return now;
}

void plan_knob(const QuietRequest& request, const Knob& knob, const std::string& now,
               const std::optional<NewInterrupts>& begin, Courses& courses, QuietPlan& plan) {
  const KeptKnob* const known = kept_of(request.kept, knob);
  const std::string& base = base_of(request, begin, knob, known, now);
  const bool is_taken = known != nullptr && &base == &now && now != known->before;
  if (is_taken) plan.taken.push_back(knob);
  auto course = courses.of(knob, base, now);
  if (!course) return;
  if (!is_taken) course->unsettled = unsettled(knob, known, now);
  if (course->is_left()) plan.leave.push_back({knob, course->during});
  if (course->last != course->during) plan.give_back.push_back({knob, course->last});
  keep(knob, *course, plan);
}

}  // namespace

void QuietCpus::add(QuietLevel level, const CpuSet& cpus) {
  if (level >= QuietLevel::kInterrupts) interrupts |= cpus;
  if (level >= QuietLevel::kSystem) system |= cpus;
  if (level >= QuietLevel::kIsolated) isolated |= cpus;
}

CpuSet QuietCpus::of(const Knob& knob) const {
  if (!isolates(knob.kind)) return is_of_system(knob.kind) ? system : interrupts;
  CpuSet cpus;
  for (const auto& [directory, own] : partitions) {
    const bool is_below = directory.starts_with(knob.name + "/");
    const bool counts = knob.kind == KnobKind::kExclusive && is_below;
    if (directory == knob.name || counts) cpus |= own;
  }
  return cpus;
}

bool QuietCpus::concerns(KnobKind kind) const {
  if (isolates(kind)) return !partitions.empty();
  return is_of_system(kind) ? !system.empty() : !interrupts.empty();
}

bool holds_containers(const Knob& knob, const std::vector<std::string>& directories) {
  if (knob.kind != KnobKind::kUnit) return false;
  const std::string part = "/" + knob.name + "/";
  return std::any_of(directories.begin(), directories.end(), [&](const std::string& directory) {
    return (directory + "/").find(part) != std::string::npos;
  });
}

std::set<Knob> isolation_knobs(const QuietCpus& cpus) {
  std::set<Knob> knobs;
  for (const auto& [directory, own] : cpus.partitions) {
    knobs.insert({KnobKind::kPartition, directory});
    for (std::string at = directory; !at.empty(); at.resize(at.rfind('/'))) {
      knobs.insert({KnobKind::kExclusive, at});
    }
  }
  return knobs;
}

Result<CpuSet> not_left(const Knob& knob, std::string_view value, const QuietDesired& desired) {
  const CpuSet quiet = desired.cpus.of(knob);
  if (knob.kind == KnobKind::kPartition) return value == kIsolatedPartition ? CpuSet() : quiet;
  PINFOLD_LET(const auto cpus, cpus_of(knob, value, desired.online));
  return gathers(knob.kind) ? quiet - cpus : quiet & cpus;
}

QuietPlan plan_quiet(const QuietRequest& request) {
  QuietPlan plan;
  Courses courses(request);
  const auto begin = new_interrupts(request.kept);
  for (const auto& [knob, value] : request.observed) {
    plan_knob(request, knob, value, begin, courses, plan);
  }
  // A partition that ends before its lists change costs the kernel one rebuild of its domains.
  std::stable_partition(plan.leave.begin(), plan.leave.end(), [](const QuietStep& step) {
    return step.knob.kind == KnobKind::kPartition;
  });
  for (const auto& [knob, kept] : request.kept) {
    if (!request.unread.contains(knob.kind)) continue;
    plan.kept.emplace(knob, kept);
    plan.kept_after.emplace(knob, kept);
  }
  return plan;
}

KeptKnobs kept_after(KeptKnobs planned, const KeptKnobs& kept, const std::set<Knob>& failed) {
  for (const Knob& knob : failed) {
    const KeptKnob* const before = kept_of(kept, knob);
    if (before != nullptr) planned[knob] = *before;
  }
  return planned;
}

}  // namespace pinfold::quiet
