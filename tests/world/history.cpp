#include "history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "world.hpp"

namespace pinfold::world {
namespace {

/// The numbers that follow the name of a kind.
enum class Form { kNone, kPod, kValue, kPodAndValue };

struct KindName {
  Action::Kind kind;
  std::string_view name;
  Form form;
};
constexpr std::array kKinds = {
    KindName{Action::Kind::kAdmit, "admit", Form::kPodAndValue},
    KindName{Action::Kind::kStart, "start", Form::kPodAndValue},
    KindName{Action::Kind::kExit, "exit", Form::kPodAndValue},
    KindName{Action::Kind::kRemove, "remove", Form::kPod},
    KindName{Action::Kind::kKill, "kill", Form::kPod},
    KindName{Action::Kind::kDrop, "drop", Form::kPodAndValue},
    KindName{Action::Kind::kResize, "resize", Form::kPodAndValue},
    KindName{Action::Kind::kReconcile, "reconcile", Form::kNone},
    KindName{Action::Kind::kSettle, "settle", Form::kNone},
    KindName{Action::Kind::kConfigure, "configure", Form::kValue},
    KindName{Action::Kind::kUndo, "undo", Form::kNone},
    KindName{Action::Kind::kDefragment, "defragment", Form::kPodAndValue},
    KindName{Action::Kind::kWait, "wait", Form::kValue},
    KindName{Action::Kind::kRestart, "restart", Form::kNone},
    KindName{Action::Kind::kRewrite, "rewrite", Form::kValue},
    KindName{Action::Kind::kReset, "reset", Form::kNone},
    KindName{Action::Kind::kStranger, "stranger", Form::kNone},
    KindName{Action::Kind::kOffline, "offline", Form::kValue},
    KindName{Action::Kind::kOnline, "online", Form::kNone},
    KindName{Action::Kind::kSandbox, "sandbox", Form::kPodAndValue},
    KindName{Action::Kind::kCreate, "create", Form::kPodAndValue},
    KindName{Action::Kind::kBegin, "begin", Form::kPodAndValue},
    KindName{Action::Kind::kStop, "stop", Form::kPodAndValue},
    KindName{Action::Kind::kUnsandbox, "unsandbox", Form::kPod},
    KindName{Action::Kind::kConnect, "connect", Form::kNone},
    KindName{Action::Kind::kMove, "move", Form::kValue},
    KindName{Action::Kind::kReuse, "reuse", Form::kValue},
    KindName{Action::Kind::kDown, "down", Form::kNone},
    KindName{Action::Kind::kUp, "up", Form::kNone},
    KindName{Action::Kind::kHookCreate, "hook-create", Form::kPodAndValue},
    KindName{Action::Kind::kHookDelete, "hook-delete", Form::kPodAndValue},
    KindName{Action::Kind::kNarrow, "agent-narrow", Form::kPodAndValue},
    KindName{Action::Kind::kWiden, "agent-widen", Form::kNone},
    KindName{Action::Kind::kSoft, "agent-soft", Form::kPodAndValue},
    KindName{Action::Kind::kNest, "nest", Form::kPodAndValue},
    KindName{Action::Kind::kQuiet, "quiet", Form::kNone},
};

struct FaultName {
  Fault::Kind kind;
  std::string_view name;
};
constexpr std::array kFaults = {
    FaultName{Fault::Kind::kKill, "kill"},       FaultName{Fault::Kind::kCut, "cut"},
    FaultName{Fault::Kind::kError, "error"},     FaultName{Fault::Kind::kFull, "full"},
    FaultName{Fault::Kind::kRewrite, "rewrite"}, FaultName{Fault::Kind::kOffline, "offline"},
    FaultName{Fault::Kind::kClock, "clock"},     FaultName{Fault::Kind::kUnreadable, "unreadable"},
    FaultName{Fault::Kind::kRuntime, "runtime"}, FaultName{Fault::Kind::kGate, "gate"},
    FaultName{Fault::Kind::kSilent, "silent"},
};

bool has_choice(Fault::Kind kind) {
  return kind == Fault::Kind::kCut || kind == Fault::Kind::kRewrite ||
         kind == Fault::Kind::kOffline || kind == Fault::Kind::kClock;
}

/// Reads the words of a line, one after the other.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view next() {
    rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(' ')));
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word.size());
    return word;
  }
  /// Reads a number. The seconds by which a clock jumps can be negative.
  Result<int> number(int least = 0) {
    const std::string_view word = next();
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    constexpr int kMost = 1'000'000;
    if (error == std::errc() && end == word.data() + word.size() && value >= least &&
        value <= kMost) {
      return value;
    }
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}': expected a number", word));
  }

 private:
  std::string_view rest_;
};

tl::unexpected<Error> unknown(std::string_view word) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}': unknown word", word));
}

Result<Fault> parse_fault(Words& words) {
  const std::string_view name = words.next();
  for (const FaultName& known : kFaults) {
    if (known.name != name) continue;
    Fault fault{known.kind};
    PINFOLD_LET(fault.at, words.number());
    if (!has_choice(known.kind)) return fault;
    constexpr int kFarthestBack = -1'000'000;
    PINFOLD_LET(fault.choice, words.number(known.kind == Fault::Kind::kClock ? kFarthestBack : 0));
    return fault;
  }
  return unknown(name);
}

Result<void> parse_numbers(Words& words, Form form, Action& action) {
  if (form == Form::kPod || form == Form::kPodAndValue) {
    PINFOLD_LET(action.pod, words.number());
  }
  if (form == Form::kValue || form == Form::kPodAndValue) {
    PINFOLD_LET(action.value, words.number());
  }
  return {};
}

Result<Action> parse_action(std::string_view line) {
  Words words(line);
  const std::string_view name = words.next();
  for (const KindName& known : kKinds) {
    if (known.name != name) continue;
    Action action{known.kind};
    PINFOLD_TRY(parse_numbers(words, known.form, action));
    std::string_view word = words.next();
    if (word == "queued") {
      action.is_queued = true;
      word = words.next();
    }
    for (; word == "!"; word = words.next()) {
      PINFOLD_LET(auto fault, parse_fault(words));
      action.faults.push_back(fault);
    }
    if (!word.empty()) return unknown(word);
    return action;
  }
  return unknown(name);
}

std::string_view word_of(gate::Unplaced unplaced) {
  switch (unplaced) {
    case gate::Unplaced::kAllow:
      return "allow";
    case gate::Unplaced::kConfine:
      return "confine";
    case gate::Unplaced::kRefuse:
      break;
  }
  return "refuse";
}

/// Parses "cgroups 2 config 0", then perhaps "processes", or "runtime" and perhaps "refuse",
/// "confine" or "allow", then perhaps "knobs".
Result<void> parse_settings(std::string_view line, History& history) {
  Words words(line);
  if (const auto word = words.next(); word != "cgroups") return unknown(word);
  PINFOLD_LET(const int version, words.number());
  if (version != 1 && version != 2) {
    return fail(ErrorCode::kInvalidArgument, "cgroups: expected 1 or 2");
  }
  history.cgroups = version == 1 ? enforce::CgroupVersion::kV1 : enforce::CgroupVersion::kV2;
  if (const auto word = words.next(); word != "config") return unknown(word);
  PINFOLD_LET(history.config, words.number());
  auto word = words.next();
  history.has_runtime = word == "runtime";
  history.has_processes = word == "processes";
  if (history.has_runtime || history.has_processes) word = words.next();
  if (history.has_runtime) history.unplaced = gate::parse_unplaced(word);
  if (history.unplaced) word = words.next();
  history.has_knobs = word == "knobs";
  if (!word.empty() && !history.has_knobs) return unknown(word);
  return {};
}

constexpr std::array<std::string_view, 19> kBugs = {
    "none",        "no-directory-sync", "no-file-sync",       "no-journal",
    "grant-first", "old-values",        "empty-is-no-change", "no-processes",
    "clock-back",  "old-journal",       "replayed-journal",   "swapped-events",
    "same-ids",    "lost-events",       "early-lock",         "reused-numbers",
    "refuse-all",  "late-updates",      "open-gate"};

}  // namespace

std::optional<Bug> parse_bug(std::string_view name) {
  const auto* const found = std::find(kBugs.begin(), kBugs.end(), name);
  if (found == kBugs.end()) return std::nullopt;
  return static_cast<Bug>(found - kBugs.begin());
}

Narrowed Narrowed::of(int value) {
  static const std::array kSets = {CpuSet{0},           CpuSet::range(0, 1), CpuSet::range(1, 2),
                                   CpuSet::range(0, 3), CpuSet{5},           CpuSet::range(4, 7)};
  const auto set = static_cast<std::size_t>(value / 3) % kSets.size();
  return {static_cast<Which>(value % 3), kSets.at(set)};
}

std::string_view name_of(Fault::Kind kind) {
  const auto* const found = std::find_if(kFaults.begin(), kFaults.end(),
                                         [&](const FaultName& one) { return one.kind == kind; });
  return found->name;
}

std::string to_string(const Action& action) {
  std::string text;
  for (const KindName& known : kKinds) {
    if (known.kind != action.kind) continue;
    text = known.name;
    const bool has_pod = known.form == Form::kPod || known.form == Form::kPodAndValue;
    const bool has_value = known.form == Form::kValue || known.form == Form::kPodAndValue;
    if (has_pod) text += fmt::format(" {}", action.pod);
    if (has_value) text += fmt::format(" {}", action.value);
  }
  if (action.is_queued) text += " queued";
  for (const Fault& fault : action.faults) {
    text += fmt::format(" ! {} {}", name_of(fault.kind), fault.at);
    if (has_choice(fault.kind)) text += fmt::format(" {}", fault.choice);
  }
  return text;
}

std::string to_string(const History& history) {
  const char* const mode = history.has_runtime     ? " runtime"
                           : history.has_processes ? " processes"
                                                   : "";
  std::string text = fmt::format("cgroups {} config {}{}", static_cast<int>(history.cgroups),
                                 history.config, mode);
  if (history.unplaced) text += fmt::format(" {}", word_of(*history.unplaced));
  text += history.has_knobs ? " knobs\n" : "\n";
  for (const Action& action : history.actions) text += to_string(action) + "\n";
  return text;
}

Result<History> parse_history(std::string_view text) {
  History history;
  bool has_settings = false;
  int number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::string where = fmt::format("line {}", number);
    if (!std::exchange(has_settings, true)) {
      PINFOLD_TRY_WRAP(parse_settings(line, history), where);
      continue;
    }
    PINFOLD_LET_WRAP(auto action, parse_action(line), where);
    history.actions.push_back(std::move(action));
  }
  if (!has_settings) return fail(ErrorCode::kInvalidArgument, "expected 'cgroups N config N'");
  return history;
}

}  // namespace pinfold::world
