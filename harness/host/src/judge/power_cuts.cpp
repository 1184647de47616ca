#include "pinfold/harness/power_cuts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

constexpr std::string_view kLosses[] = {"none", "all", "some", "torn"};
constexpr std::string_view kLossesForPeople[] = {
    "no answered write lost", "all unflushed writes lost", "some unflushed writes lost",
    "some unflushed writes lost and one torn"};

std::string_view for_people(WriteLoss loss) {
  return kLossesForPeople[static_cast<std::size_t>(loss)];
}

/// Checks the outcome of one cut.
class PowerCutJudge {
 public:
  PowerCutJudge(const Json& report, const PowerCutQuestion& question)
      : marks_(report.at("marks")), log_(report.at("log")), question_(question) {}

  /// Returns "" if everything is as expected.
  [[nodiscard]] std::string problem(std::size_t position, const Json& outcome) const {
    const std::string mount = outcome.at("mount");
    if (!mount.empty()) return fmt::format("the file system does not mount: {}", mount);
    const Json& commands = outcome.at("commands");
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (commands[i].value("status", -1) == 0) continue;
      return fmt::format("'{}' ended with {}: {}", question_.commands.at(i),
                         commands[i].contains("status") ? "status " + commands[i]["status"].dump()
                                                        : "a signal or at its time limit",
                         commands[i].value("said", ""));
    }
    const std::size_t done = acknowledged(position);
    const Json& state = outcome.at("state");
    if (state == marks_.at(done).at("state")) return "";
    if (done + 1 < marks_.size() && state == marks_[done + 1].at("state")) return "";
    return wrong_files(done, state);
  }

  [[nodiscard]] std::string place(std::size_t position, WriteLoss loss) const {
    const std::size_t done = acknowledged(position);
    const auto bytes = position == 0 ? 0 : log_.at(position - 1).get<std::int64_t>();
    std::string entry =
        bytes == 0 ? "a flush" : fmt::format("a write of {} bytes", std::abs(bytes));
    if (bytes < 0) entry += ", forced";
    return fmt::format("with {}, after entry {} of {} of the log ({}), when {} had ended",
                       for_people(loss), position, log_.size(), entry, step(done));
  }

 private:
  /// Returns the last mark at or before a position in the log.
  [[nodiscard]] std::size_t acknowledged(std::size_t position) const {
    std::size_t done = 0;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      if (marks_[i].at("position").get<std::size_t>() <= position) done = i;
    }
    return done;
  }

  [[nodiscard]] std::string step(std::size_t mark) const {
    return mark == 0 ? "preparation"
                     : fmt::format("step {} ({})", mark, question_.steps.at(mark - 1));
  }

  [[nodiscard]] std::string wrong_files(std::size_t done, const Json& state) const {
    std::string text;
    for (std::size_t i = 0; i < state.size(); ++i) {
      std::string like;
      for (std::size_t mark = 0; mark < marks_.size(); ++mark) {
        if (marks_[mark].at("state").at(i) == state[i])
          like += fmt::format("{}{}", like.empty() ? "" : ", ", mark);
      }
      text +=
          fmt::format("{}'{}' is {}", text.empty() ? "" : "; ", question_.files.at(i),
                      like.empty() ? fmt::format("as after no step ({})", state[i].value("is", ""))
                                   : "as after step " + like);
    }
    return fmt::format("the files are neither those after step {} nor those after the next: {}",
                       done, text);
  }

  const Json& marks_;
  const Json& log_;
  const PowerCutQuestion& question_;
};

PowerCuts judge(const Json& report, const PowerCutQuestion& question) {
  const PowerCutJudge judge(report, question);
  PowerCuts sum;
  for (const Json& entry : report.at("log")) ++(entry == 0 ? sum.flushes : sum.writes);
  sum.disks = report.at("disks").get<std::size_t>();
  sum.contents = report.at("outcomes").size();
  sum.elapsed = std::chrono::milliseconds(report.value("elapsedMs", 0));
  struct Count {
    std::size_t all = 0;
    std::size_t wrong = 0;
  };
  std::map<WriteLoss, Count> counts;
  for (const Json& cut : report.at("cuts")) {
    const auto position = cut.at(0).get<std::size_t>();
    const auto number = cut.at(1).get<std::size_t>();
    if (number >= std::size(kLosses) || position > report["log"].size()) {
      throw std::out_of_range("a power cut that was not requested");
    }
    const auto loss = static_cast<WriteLoss>(number);
    ++sum.cuts;
    ++counts[loss].all;
    const std::string problem =
        judge.problem(position, report["outcomes"].at(cut.at(2).get<std::size_t>()));
    if (problem.empty()) continue;
    ++counts[loss].wrong;
    if (sum.failed++ == 0) {
      sum.first = fmt::format("cut {}, {}: {}", sum.cuts, judge.place(position, loss), problem);
    }
  }
  for (const WriteLoss loss : question.losses) {
    const Count& count = counts[loss];
    sum.checks.push_back({fmt::format("power cuts with {}: wrong", for_people(loss)),
                          fmt::format("0 of {}", count.all),
                          fmt::format("{} of {}", count.wrong, count.all), count.wrong == 0});
  }
  return sum;
}

}  // namespace

std::string_view to_string(WriteLoss loss) { return kLosses[static_cast<std::size_t>(loss)]; }

Result<PowerCuts> judge_power_cuts(const Json& report, const PowerCutQuestion& question) {
  try {
    return judge(report, question);
  } catch (const std::exception& error) {  // a missing field, or one of the wrong type
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("no report of power cuts: {}", error.what()));
  }
}

}  // namespace pinfold::harness
