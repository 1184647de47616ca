#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "history.hpp"
#include "random.hpp"

namespace pinfold::world {
namespace {

struct Weight {
  Action::Kind kind;
  int weight;
};
constexpr std::array kRuntimeWeights = {
    Weight{Action::Kind::kSandbox, 20},   Weight{Action::Kind::kCreate, 25},
    Weight{Action::Kind::kBegin, 25},     Weight{Action::Kind::kStop, 10},
    Weight{Action::Kind::kUnsandbox, 10}, Weight{Action::Kind::kConnect, 2},
    Weight{Action::Kind::kReconcile, 2},  Weight{Action::Kind::kConfigure, 1},
    Weight{Action::Kind::kWait, 10},      Weight{Action::Kind::kRestart, 4},
    Weight{Action::Kind::kRewrite, 3},    Weight{Action::Kind::kReset, 1},
    Weight{Action::Kind::kStranger, 1},   Weight{Action::Kind::kUndo, 1},
    Weight{Action::Kind::kDefragment, 1}, Weight{Action::Kind::kOffline, 1},
    Weight{Action::Kind::kOnline, 2},     Weight{Action::Kind::kDown, 2},
    Weight{Action::Kind::kUp, 4},         Weight{Action::Kind::kQuiet, 1},
};
constexpr std::array kWeights = {
    Weight{Action::Kind::kAdmit, 30},   Weight{Action::Kind::kStart, 20},
    Weight{Action::Kind::kExit, 10},    Weight{Action::Kind::kRemove, 10},
    Weight{Action::Kind::kKill, 6},     Weight{Action::Kind::kDrop, 4},
    Weight{Action::Kind::kResize, 8},   Weight{Action::Kind::kReconcile, 4},
    Weight{Action::Kind::kSettle, 3},   Weight{Action::Kind::kConfigure, 3},
    Weight{Action::Kind::kUndo, 1},     Weight{Action::Kind::kDefragment, 3},
    Weight{Action::Kind::kWait, 10},    Weight{Action::Kind::kRestart, 4},
    Weight{Action::Kind::kRewrite, 4},  Weight{Action::Kind::kReset, 1},
    Weight{Action::Kind::kStranger, 1}, Weight{Action::Kind::kOffline, 1},
    Weight{Action::Kind::kOnline, 2},   Weight{Action::Kind::kDown, 1},
    Weight{Action::Kind::kUp, 4},       Weight{Action::Kind::kQuiet, 1},
};

/// Weights of the actions of foreign programs.
constexpr std::array kForeignWeights = {
    Weight{Action::Kind::kNarrow, 30},
    Weight{Action::Kind::kWiden, 20},
    Weight{Action::Kind::kSoft, 20},
    Weight{Action::Kind::kNest, 30},
};

Action::Kind draw_kind(std::span<const Weight> weights, Random& random) {
  int sum = 0;
  for (const Weight& one : weights) sum += one.weight;
  int number = random.below(sum);
  for (const Weight& one : weights) {
    if (number < one.weight) return one.kind;
    number -= one.weight;
  }
  return Action::Kind::kWait;
}

/// Draws a fault. Early operations are the most likely ones, because few actions have many.
Fault draw_fault(Random& random) {
  using Kind = Fault::Kind;
  constexpr std::array kKinds = {Kind::kKill,    Kind::kKill,    Kind::kKill,  Kind::kCut,
                                 Kind::kCut,     Kind::kError,   Kind::kError, Kind::kFull,
                                 Kind::kRewrite, Kind::kOffline, Kind::kClock, Kind::kUnreadable};
  constexpr int kHours = 2 * 3600;
  Fault fault;
  fault.kind = kKinds.at(static_cast<std::size_t>(random.below(std::ssize(kKinds))));
  fault.at = random.below(1 + random.below(40));
  fault.choice = fault.kind == Kind::kClock ? random.below(2 * kHours) - kHours : random.below(100);
  return fault;
}

Faults draw_faults(Random& random, const History& history, Action::Kind kind) {
  Faults faults = {draw_fault(random)};
  while (random.chance(25)) faults.push_back(draw_fault(random));
  if (history.has_runtime && random.chance(40)) faults.front().kind = Fault::Kind::kRuntime;
  const bool has_gate = history.unplaced && kind == Action::Kind::kBegin;
  if (has_gate && random.chance(50)) {
    constexpr int kFewSteps = 6;
    faults.front().at = random.below(1 + random.below(kFewSteps));
    if (random.chance(50)) faults.front().kind = Fault::Kind::kGate;
  }
  return faults;
}

/// Draws what a barrier does with unplaced containers: most often it refuses them.
gate::Unplaced draw_barrier(Random& random) {
  return random.chance(70) ? gate::Unplaced::kRefuse : gate::Unplaced::kConfine;
}

/// Every other runtime has a barrier.
std::optional<gate::Unplaced> draw_unplaced(Random& random) {
  if (random.chance(50)) return std::nullopt;
  return draw_barrier(random);
}

int draw_wait(Random& random) {
  constexpr int kMinute = 60;
  constexpr int kShort = 20 * kMinute;
  constexpr int kLong = 8 * 60;  // minutes
  return random.chance(50) ? 1 + random.below(kShort) : kMinute * (1 + random.below(kLong));
}

int draw_hooked(Random& random) {
  constexpr int kValues = 18;  // containers and shapes, see Hooked
  return random.below(kValues) + (random.chance(15) ? kValues : 0);
}

int draw_value(Action::Kind kind, Random& random) {
  constexpr int kShapes = 9;
  switch (kind) {
    case Action::Kind::kAdmit:
    case Action::Kind::kSandbox:
    case Action::Kind::kDefragment:
      return random.below(kShapes);
    case Action::Kind::kStart:
    case Action::Kind::kExit:
    case Action::Kind::kDrop:
    case Action::Kind::kCreate:
    case Action::Kind::kBegin:
    case Action::Kind::kStop:
    case Action::Kind::kHookDelete:
      return random.below(2);
    case Action::Kind::kHookCreate:
      return draw_hooked(random);
    case Action::Kind::kResize:
      return random.below(2 * Resizing::kMostCpus);
    case Action::Kind::kWait:
      return draw_wait(random);
    case Action::Kind::kNarrow:
      return random.below(18);  // all values of Narrowed
    case Action::Kind::kSoft:
      return random.below(8);
    case Action::Kind::kNest:
      return random.below(6);
    default:
      return random.below(100);
  }
}

Action::Kind draw_kind(const History& history, bool has_hooks, Random& random) {
  const std::span<const Weight> weights =
      history.has_runtime ? std::span<const Weight>(kRuntimeWeights) : kWeights;
  const auto kind = draw_kind(weights, random);
  if (history.has_processes && random.chance(15)) {
    return random.chance(50) ? Action::Kind::kMove : Action::Kind::kReuse;
  }
  if (has_hooks && random.chance(30)) {
    return random.chance(60) ? Action::Kind::kHookCreate : Action::Kind::kHookDelete;
  }
  return kind;
}

/// Sometimes chooses a runtime class without container groups, or another spelling of a group.
void add_foreign(Action& action, Random& random) {
  constexpr int kWithoutGroups = 100;
  constexpr int kSpelling = 36;  // see Hooked
  if (action.kind == Action::Kind::kSandbox && random.chance(20)) action.value += kWithoutGroups;
  if (action.kind != Action::Kind::kHookCreate) return;
  action.value += kSpelling * random.below(Hooked::kSpellings);
  if (random.chance(20)) action.value += kSpelling * Hooked::kSpellings;
  if (random.chance(30)) action.value += 2 * kSpelling * Hooked::kSpellings;
}

/// Returns the runtime's next action with the pod or container of its last action, if it continues
/// with it: like a kubelet, it runs a sandbox, creates containers in it and starts them.
std::optional<Action::Kind> follow(const Action& last, Random& random) {
  constexpr int kChance = 60;
  switch (last.kind) {
    case Action::Kind::kSandbox:
    case Action::Kind::kStop:
      return random.chance(kChance) ? std::optional(Action::Kind::kCreate) : std::nullopt;
    case Action::Kind::kCreate:
      return random.chance(kChance) ? std::optional(Action::Kind::kBegin) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

History generate(std::uint64_t seed, int actions) {
  Random random(seed);
  History history;
  history.cgroups = random.chance(60) ? enforce::CgroupVersion::kV2 : enforce::CgroupVersion::kV1;
  history.config = random.below(6);
  history.has_runtime = random.chance(30);
  if (history.has_runtime) history.unplaced = draw_unplaced(random);
  history.has_processes = !history.has_runtime && seed % 4 == 0;
  history.has_knobs = seed % 5 == 0;
  const bool has_hooks = !history.has_runtime && seed % 4 == 1;
  const bool has_foreign = seed % 3 == 0;
  const int pods = history.has_runtime ? 5 : 12;  // few, so that most get all containers
  for (int i = 0; i < actions; ++i) {
    Action action;
    action.kind = draw_kind(history, has_hooks, random);
    if (has_foreign && random.chance(20)) action.kind = draw_kind(kForeignWeights, random);
    action.pod = random.below(pods);
    action.value = draw_value(action.kind, random);
    if (has_foreign) add_foreign(action, random);
    if (history.has_runtime && !history.actions.empty()) {
      const Action& last = history.actions.back();
      if (const auto next = follow(last, random)) {
        action = {*next, last.pod,
                  last.kind == Action::Kind::kSandbox ? action.value % 2 : last.value};
      }
    }
    constexpr std::array kCanWait = {Action::Kind::kAdmit, Action::Kind::kRemove,
                                     Action::Kind::kKill,  Action::Kind::kDrop,
                                     Action::Kind::kStart, Action::Kind::kResize};
    const bool can_wait =
        std::find(kCanWait.begin(), kCanWait.end(), action.kind) != kCanWait.end();
    action.is_queued = can_wait && random.chance(15);
    if (!action.is_queued && action.kind != Action::Kind::kQuiet && random.chance(15)) {
      action.faults = draw_faults(random, history, action.kind);
    }
    history.actions.push_back(action);
  }
  return history;
}

namespace {

/// What happens between the starts of containers at a barrier.
constexpr std::array kBetweenStarts = {
    Weight{Action::Kind::kWait, 6},      Weight{Action::Kind::kConnect, 2},
    Weight{Action::Kind::kReconcile, 2}, Weight{Action::Kind::kRestart, 3},
    Weight{Action::Kind::kRewrite, 4},   Weight{Action::Kind::kReset, 2},
    Weight{Action::Kind::kOffline, 2},   Weight{Action::Kind::kOnline, 4},
    Weight{Action::Kind::kDown, 5},      Weight{Action::Kind::kUp, 10},
    Weight{Action::Kind::kNarrow, 2},    Weight{Action::Kind::kWiden, 4},
    Weight{Action::Kind::kConfigure, 1}, Weight{Action::Kind::kDefragment, 1},
};

Action with_faults(Action action, int percent, const History& history, Random& random) {
  if (!random.chance(percent)) return action;
  action.faults = draw_faults(random, history, action.kind);
  Fault& first = action.faults.front();
  if (first.kind == Fault::Kind::kGate && random.chance(40)) first.kind = Fault::Kind::kSilent;
  return action;
}

/// Adds the start of a container in a pod; before every fifth start the pod gets a new sandbox.
/// `shape`: the pod's; negative: there is no pod yet.
void add_start(int pod, int& shape, History& history, Random& random) {
  using Kind = Action::Kind;
  constexpr int kTwoContainers = 5;  // shapes from here on: see pod_of()
  if (shape < 0 || random.chance(20)) {
    if (shape >= 0) history.actions.push_back({Kind::kUnsandbox, pod});
    shape = draw_value(Kind::kSandbox, random);
    history.actions.push_back({Kind::kSandbox, pod, shape});
  }
  const int container = shape >= kTwoContainers && random.chance(50) ? 1 : 0;
  history.actions.push_back({Kind::kStop, pod, container});
  history.actions.push_back(with_faults({Kind::kCreate, pod, container}, 10, history, random));
  history.actions.push_back(with_faults({Kind::kBegin, pod, container}, 60, history, random));
}

}  // namespace

History barrier_starts(std::uint64_t seed, int actions) {
  Random random(seed);
  History history;
  history.cgroups = random.chance(60) ? enforce::CgroupVersion::kV2 : enforce::CgroupVersion::kV1;
  history.config = random.below(6);
  history.has_runtime = true;
  history.unplaced = draw_barrier(random);
  history.has_knobs = seed % 5 == 0;
  std::array<int, 5> shapes{};
  shapes.fill(-1);
  while (std::ssize(history.actions) < actions) {
    const int pod = random.below(static_cast<int>(shapes.size()));
    if (!random.chance(20)) {
      add_start(pod, shapes.at(static_cast<std::size_t>(pod)), history, random);
      continue;
    }
    const auto kind = draw_kind(kBetweenStarts, random);
    const int value = draw_value(kind, random);
    history.actions.push_back(with_faults({kind, pod, value}, 15, history, random));
  }
  return history;
}

namespace {

constexpr int kOrdinary = 30;  ///< pods 0 to 29
constexpr int kHalfCpus = 6;   ///< those of them that ask for half a CPU
/// The other pods: with exclusive CPUs, docker in docker with and without them, and two of a
/// runtime class without container groups.
constexpr std::array kOtherPods = {1, 2, 1, 0, 100, 102};
constexpr int kFirstDocker = kOrdinary + 2;

int shape_on_busy_node(int pod) {
  constexpr int kHalfACpu = 4;
  if (pod >= kOrdinary) return kOtherPods.at(static_cast<std::size_t>(pod - kOrdinary));
  return pod < kHalfCpus ? kHalfACpu : 0;
}

Action act_of_agent(Random& random) {
  const auto kind = draw_kind(kForeignWeights, random);
  Action action{kind, random.below(kOrdinary), draw_value(kind, random)};
  if (kind == Action::Kind::kNest) action.pod = kFirstDocker + random.below(2);
  if (kind != Action::Kind::kNarrow) return action;
  action.value -= action.value % 3;  // best-effort pods, as koordinator does
  return action;
}

}  // namespace

History busy_node(std::uint64_t seed, enforce::CgroupVersion cgroups) {
  constexpr int kHour = 3600;
  constexpr int kPods = kOrdinary + static_cast<int>(kOtherPods.size());
  Random random(seed);
  History history;
  history.cgroups = cgroups;
  history.has_runtime = true;
  history.unplaced = draw_unplaced(random);
  std::array<bool, kPods> lives{};
  for (int time = 0; time < kHour;) {
    const int pod = random.below(kPods);
    bool& is_there = lives.at(static_cast<std::size_t>(pod));
    if (random.chance(30)) {
      history.actions.push_back(act_of_agent(random));
    } else if (is_there && random.chance(40)) {
      history.actions.push_back({Action::Kind::kUnsandbox, pod});
      is_there = false;
    } else if (!is_there) {
      history.actions.push_back({Action::Kind::kSandbox, pod, shape_on_busy_node(pod)});
      history.actions.push_back({Action::Kind::kCreate, pod});
      history.actions.push_back({Action::Kind::kBegin, pod});
      is_there = true;
    }
    const int wait = 1 + random.below(10);
    history.actions.push_back({Action::Kind::kWait, 0, wait});
    time += wait;
  }
  return history;
}

}  // namespace pinfold::world
