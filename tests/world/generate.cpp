#include <algorithm>
#include <array>
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
    Weight{Action::Kind::kRewrite, 2},    Weight{Action::Kind::kOffline, 1},
    Weight{Action::Kind::kOnline, 2},     Weight{Action::Kind::kQuiet, 1},
};
constexpr std::array kWeights = {
    Weight{Action::Kind::kAdmit, 30},     Weight{Action::Kind::kStart, 20},
    Weight{Action::Kind::kExit, 10},      Weight{Action::Kind::kRemove, 10},
    Weight{Action::Kind::kKill, 6},       Weight{Action::Kind::kDrop, 4},
    Weight{Action::Kind::kReconcile, 4},  Weight{Action::Kind::kSettle, 3},
    Weight{Action::Kind::kConfigure, 3},  Weight{Action::Kind::kUndo, 1},
    Weight{Action::Kind::kDefragment, 3}, Weight{Action::Kind::kWait, 10},
    Weight{Action::Kind::kRestart, 4},    Weight{Action::Kind::kRewrite, 4},
    Weight{Action::Kind::kReset, 1},      Weight{Action::Kind::kStranger, 1},
    Weight{Action::Kind::kOffline, 1},    Weight{Action::Kind::kOnline, 2},
    Weight{Action::Kind::kQuiet, 1},
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

/// Early operations are the likeliest: few actions have many.
Fault draw_fault(Random& random) {
  constexpr std::array kKinds = {Fault::Kind::kKill,    Fault::Kind::kKill,   Fault::Kind::kCut,
                                 Fault::Kind::kCut,     Fault::Kind::kError,  Fault::Kind::kFull,
                                 Fault::Kind::kRewrite, Fault::Kind::kOffline};
  Fault fault;
  fault.kind = kKinds.at(static_cast<std::size_t>(random.below(std::ssize(kKinds))));
  fault.at = random.below(1 + random.below(40));
  fault.choice = random.below(100);
  return fault;
}

}  // namespace

History generate(std::uint64_t seed, int actions) {
  Random random(seed);
  History history;
  history.cgroups = random.chance(60) ? enforce::CgroupVersion::kV2 : enforce::CgroupVersion::kV1;
  history.config = random.below(6);
  history.has_runtime = random.chance(30);
  history.has_processes = !history.has_runtime && seed % 4 == 0;
  const std::span<const Weight> weights =
      history.has_runtime ? std::span<const Weight>(kRuntimeWeights) : kWeights;
  const int pods = history.has_runtime ? 5 : 12;  // few: most have all of their containers once
  constexpr int kShapes = 9;
  constexpr int kNext = 100;  // see pods_of
  constexpr int kMinute = 60;
  constexpr int kShortWait = 20 * kMinute;
  constexpr int kLongWait = 8 * 60 * kMinute;
  for (int i = 0; i < actions; ++i) {
    Action action;
    action.kind = draw_kind(weights, random);
    if (history.has_processes && random.chance(15)) {
      action.kind = random.chance(50) ? Action::Kind::kMove : Action::Kind::kReuse;
    }
    action.pod = random.below(pods);
    switch (action.kind) {
      case Action::Kind::kAdmit:
        action.value = random.below(kShapes) + (random.chance(10) ? kNext * random.below(4) : 0);
        break;
      case Action::Kind::kSandbox:
      case Action::Kind::kDefragment:
        action.value = random.below(kShapes);
        break;
      case Action::Kind::kStart:
      case Action::Kind::kExit:
      case Action::Kind::kDrop:
      case Action::Kind::kCreate:
      case Action::Kind::kBegin:
      case Action::Kind::kStop:
        action.value = random.below(2);
        break;
      case Action::Kind::kWait:
        action.value = random.chance(50) ? 1 + random.below(kShortWait)
                                         : kMinute * (1 + random.below(kLongWait / kMinute));
        break;
      default:
        action.value = random.below(100);
    }
    constexpr std::array kCanWait = {Action::Kind::kAdmit, Action::Kind::kRemove,
                                     Action::Kind::kKill, Action::Kind::kDrop,
                                     Action::Kind::kStart};
    const bool can_wait =
        std::find(kCanWait.begin(), kCanWait.end(), action.kind) != kCanWait.end();
    action.is_queued = can_wait && random.chance(15);
    if (!action.is_queued && action.kind != Action::Kind::kQuiet && random.chance(15)) {
      action.fault = draw_fault(random);
    }
    history.actions.push_back(action);
  }
  return history;
}

}  // namespace pinfold::world
