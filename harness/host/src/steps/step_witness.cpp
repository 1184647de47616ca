#include <fmt/format.h>

#include <utility>

#include "pinfold/harness/witness.hpp"
#include "steps/step_result.hpp"
#include "steps/step_sample.hpp"
#include "steps/steps.hpp"

namespace pinfold::harness {
namespace {

/// Returns a check that expects `found` to be empty, and shows its first entry if it is not.
CheckedValue none_of(std::string what, const std::vector<std::string>& found) {
  std::string first = found.empty() ? "" : found.front();
  if (found.size() > 1) first += fmt::format(", and {} more", found.size() - 1);
  return {std::move(what), "", std::move(first), found.empty()};
}

CheckedValue zero(std::string what, std::uint64_t count) {
  return {std::move(what), "0", std::to_string(count), count == 0};
}

/// Checks that the record is complete: with gaps it proves nothing.
void check_record(const Json& reply, StepResult& result) {
  CheckedValue lost =
      zero("events of the scheduler that were lost", reply.value("lost", std::uint64_t{1}));
  if (!lost.ok) lost.observed += fmt::format(" ({})", reply.value("loss", ""));
  result.checks.push_back(std::move(lost));
  result.checks.push_back(
      zero("tasks that ran in an unknown group", reply.value("unknown", std::uint64_t{1})));
  const bool is_whole = !reply.value("overflow", true);
  result.checks.push_back(
      {"the record fits into its 16 MiB", "true", is_whole ? "true" : "false", is_whole});
}

}  // namespace

VmResult<StepResult> act(StepContext& context, const StartWitnessStep&) {
  PINFOLD_TRY(make_judged_root(context));
  PINFOLD_LET(const auto reply,
              context.ask({{"op", "witness"},
                           {"root", judged_root(context.scenario, context.cgroup_mode())}}));
  if (reply.value("ok", false)) context.witnessed.emplace();
  return as_result(reply);
}

VmResult<void> note_witnessed(StepContext& context, StepResult& result) {
  PINFOLD_LET(auto exclusive, exclusive_now(context, result));
  PINFOLD_LET(const auto reply,
              context.ask({{"op", "witness-mark"}, {"number", context.witnessed->size()}}));
  context.witnessed->push_back(std::move(exclusive));
  if (!reply.value("ok", false) && result.ok) result = as_result(reply);
  return {};
}

VmResult<StepResult> act(StepContext& context, const StopWitnessStep& step) {
  const auto owned =
      std::exchange(context.witnessed, std::nullopt).value_or(std::vector<ExclusiveCpus>());
  PINFOLD_LET(const auto reply, context.ask({{"op", "witnessed"}}));
  StepResult result = as_result(reply);
  if (!result.ok) return result;
  check_record(reply, result);
  ExclusiveCpus lasting;
  if (!step.exclusive.empty()) {
    PINFOLD_LET(const auto text, context.read_one(step.exclusive));
    auto named = parse_exclusive(text);
    if (!named) return failure(std::move(named).error().wrap(step.exclusive).message);
    lasting = std::move(*named);
  }
  const auto record = parse_witness(reply.value("runs", ""));
  if (!record) return failure(record.error().message);
  result.checks.push_back({"marks of steps in the record", std::to_string(owned.size()),
                           std::to_string(record->marks.size()),
                           record->marks.size() == owned.size()});
  const WitnessFindings found = judge_witness(*record, owned, lasting);
  result.checks.push_back({"containers with exclusive CPUs that ran",
                           fmt::format("at least {}", step.at_least), std::to_string(found.owners),
                           found.owners >= step.at_least});
  result.checks.push_back(none_of(
      fmt::format("containers that ran longer than {} ms on exclusive CPUs of others "
                  "(sandboxes: {:.3f} ms)",
                  kWitnessTolerance / 1'000'000, static_cast<double>(found.by_sandboxes) / 1e6),
      found.intruders));
  result.checks.push_back(
      none_of("containers with exclusive CPUs that ran elsewhere", found.misplaced));
  return concluded(std::move(result));
}

}  // namespace pinfold::harness
