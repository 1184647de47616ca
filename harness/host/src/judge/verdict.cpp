#include "pinfold/harness/verdict.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pinfold::harness {
namespace {

constexpr std::array<std::pair<Verdict, std::string_view>, 12> kNames = {{
    {Verdict::kPassed, "passed"},
    {Verdict::kFailed, "failed"},
    {Verdict::kPanic, "panic"},
    {Verdict::kHang, "hang"},
    {Verdict::kSoftLockup, "soft-lockup"},
    {Verdict::kGarbage, "garbage"},
    {Verdict::kLostResults, "lost-results"},
    {Verdict::kOutOfMemory, "out-of-memory"},
    {Verdict::kWrongMachine, "wrong-machine"},
    {Verdict::kHarnessError, "harness-error"},
    {Verdict::kInterrupted, "interrupted"},
    {Verdict::kSkipped, "skipped"},
}};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Returns true if the global out-of-memory killer ran. The killer of a memory cgroup logs "Memory
/// cgroup out of memory": that is the effect of a limit, not of a guest with too little memory.
bool shows_out_of_memory(std::string_view console) {
  return has(console, "Out of memory: Killed process") ||
         has(console, "System is deadlocked on memory") ||
         has(console, "Out of memory and no killable processes");
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  return std::find_if(kNames.begin(), kNames.end(),
                      [=](const auto& n) { return n.first == verdict; })
      ->second;
}

std::optional<Verdict> parse_verdict(std::string_view text) {
  for (const auto& [verdict, name] : kNames) {
    if (name == text && verdict != Verdict::kSkipped) return verdict;
  }
  return std::nullopt;
}

std::vector<std::string_view> verdict_names() {
  std::vector<std::string_view> names;
  names.reserve(kNames.size());
  for (const auto& [verdict, name] : kNames) {
    if (verdict != Verdict::kSkipped) names.push_back(name);
  }
  return names;
}

Verdict classify(Trouble trouble, std::string_view console) {
  if (trouble == Trouble::kInterrupted) return Verdict::kInterrupted;
  if (trouble == Trouble::kHost) return Verdict::kHarnessError;
  if (shows_out_of_memory(console)) return Verdict::kOutOfMemory;
  if (shows_panic(console)) return Verdict::kPanic;
  if (trouble == Trouble::kGarbage) return Verdict::kGarbage;
  if (trouble == Trouble::kEnded) return Verdict::kLostResults;
  // Only without a reply: a soft lock-up that the kernel recovered from is no reason to fail.
  return has(console, "soft lockup - CPU#") ? Verdict::kSoftLockup : Verdict::kHang;
}

bool shows_panic(std::string_view console) { return has(console, "Kernel panic - not syncing"); }

std::string end_of_console(std::string_view console, std::size_t lines) {
  while (!console.empty() && (console.back() == '\n' || console.back() == '\r')) {
    console.remove_suffix(1);
  }
  std::size_t begin = console.size();
  for (std::size_t seen = 0; begin > 0; --begin) {
    if (console[begin - 1] == '\n' && ++seen == lines) break;
  }
  std::string text;
  for (const char c : console.substr(begin)) {
    if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20) text += c;
  }
  return text;
}

}  // namespace pinfold::harness
