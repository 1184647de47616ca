#include "step_runner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include "cgroup_paths.hpp"
#include "difference.hpp"
#include "step_result.hpp"

namespace pinfold::harness {
namespace {

/// The maximum number of log lines that a failed step shows.
constexpr const char* kLogLines = "20";

/// The guest's serial port buffer holds 64 KiB; escaped text can be six times as long.
constexpr std::size_t kPutBytes = 8192;

}  // namespace

StepResult success() {
  StepResult result;
  result.ok = true;
  return result;
}

StepResult failure(std::string message) {
  StepResult result;
  result.message = std::move(message);
  return result;
}

StepResult as_result(const Json& reply) {
  return reply.value("ok", false) ? success() : failure(reply.value("error", "no reason given"));
}

StepResult concluded(StepResult result) {
  std::vector<std::string> wrong;
  for (const Check& check : result.checks) {
    if (check.ok) continue;
    const std::string difference = list_difference(check);
    wrong.push_back(fmt::format("{}: expected '{}', the kernel has '{}'{}{}", check.what,
                                check.expected, check.observed, difference.empty() ? "" : ": ",
                                difference));
  }
  result.ok = wrong.empty() && result.message.empty();
  if (!wrong.empty()) result.message = fmt::format("{}", fmt::join(wrong, "; "));
  return result;
}

std::string describe_end(const Json& reply) {
  if (reply.value("timedOut", false)) return "the time limit";
  if (reply.contains("signal")) return "signal " + reply["signal"].dump();
  return "status " + reply.value("status", Json()).dump();
}

std::string excerpt(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > 2000) text = "..." + text.substr(text.size() - 2000);
  return text;
}

std::string StepRunner::limit_text() const {
  const double scale = options_.time_scale;
  const auto seconds = std::lround(static_cast<double>(time_limit_.count()) / 1000 / scale);
  return scale == 1 ? fmt::format("{} s", seconds) : fmt::format("{} s (x {})", seconds, scale);
}

VmResult<Json> StepRunner::ask(Json request) {
  // The guest times out first if it can, to distinguish a slow command from a guest that hangs.
  request["timeLimitMs"] = time_limit_.count();
  auto reply = session_.vm.request(std::move(request), time_limit_ + std::chrono::seconds(10));
  if (!reply && reply.error().trouble == Trouble::kTimeout) {
    reply.error().message = "no answer within " + limit_text();
  }
  return reply;
}

VmResult<void> StepRunner::put(const std::string& path, const std::string& text) {
  for (std::size_t at = 0; at == 0 || at < text.size(); at += kPutBytes) {
    const std::string part = text.substr(at, kPutBytes);
    PINFOLD_LET(const auto reply,
                ask({{"op", "put"}, {"path", path}, {"text", part}, {"append", at != 0}}));
    if (!reply.value("ok", false)) {
      return tl::unexpected(VmFailure{Trouble::kHost, reply.value("error", "put failed")});
    }
  }
  return {};
}

VmResult<StepResult> StepRunner::run(const Step& step) {
  const bool only_looks = std::holds_alternative<StartStep>(step.action) ||
                          std::holds_alternative<WriteStep>(step.action) ||
                          std::holds_alternative<ExpectStep>(step.action);
  if (!only_looks) desired_.reset();
  time_limit_ =
      Milliseconds(static_cast<std::int64_t>(step.time_limit_s * 1000 * options_.time_scale));
  kill_at_ = step.kill_at;
  auto result = std::visit([this](const auto& action) { return act(action); }, step.action);
  if (result && result->ok && kill_at_) {
    result = failure("killAt: the step has run no command");
  }
  if (result && result->ok) {
    PINFOLD_TRY(mark_disk());
  }
  if (result && !result->ok) add_logs(*result);
  if (result && sampling_) {
    PINFOLD_TRY(note_exclusive(*result));
  }
  if (result) {
    PINFOLD_TRY(note_groups(step.action, *result));
  }
  return result;
}

void StepRunner::add_logs(StepResult& result) {
  for (const std::string& log : scenario_.logs) {
    const auto reply = ask({{"op", "exec"}, {"argv", {"tail", "-n", kLogLines, log}}});
    if (!reply) return;  // the step's own message is what matters
    const std::string end = excerpt(reply->value("stdout", "") + reply->value("stderr", ""));
    result.message += fmt::format("\n{} ends with:\n{}", log, end);
  }
}

VmResult<Json> StepRunner::run_command(std::vector<std::string> argv, const std::string& cgroup) {
  Json request = {{"op", "exec"}, {"argv", std::move(argv)}, {"cgroup", cgroup}};
  const auto kill = std::exchange(kill_at_, std::nullopt);
  if (kill) {
    request["killAt"] = {{"call", kill->call}, {"file", kill->file}, {"number", kill->number}};
  }
  return ask(std::move(request));
}

std::optional<StepResult> StepRunner::end_of_killed(const Json& reply) const {
  const auto seen = reply.find("callsSeen");
  if (seen == reply.end()) return std::nullopt;
  if (reply.value("signal", 0) == SIGKILL) return success();
  return failure(
      fmt::format("the point at which it was to be killed was not reached: {} such calls, "
                  "then it ended with {}",
                  seen->dump(), describe_end(reply)));
}

VmResult<StepResult> StepRunner::act(const StopStep& step) {
  PINFOLD_LET(const auto reply, ask({{"op", "stop"}, {"name", step.program}}));
  running_.erase(step.program);
  return as_result(reply);
}

VmResult<StepResult> StepRunner::act(const ExecStep& step) {
  PINFOLD_LET(const auto reply, run_command(step.command, step.cgroup));
  if (!reply.value("ok", false)) return failure(reply.value("error", ""));
  if (auto killed = end_of_killed(reply)) return std::move(*killed);
  const std::string out = reply.value("stdout", "");
  const std::string end = describe_end(reply);
  const std::string said = excerpt(out + reply.value("stderr", ""));
  if (reply.value("timedOut", false))
    return failure(fmt::format("not done within {}: {}", limit_text(), said));
  if (step.status && reply.value("status", -1) != *step.status) {
    return failure(
        fmt::format("expected status {}, it ended with {}: {}", *step.status, end, said));
  }
  if (out.find(step.output) == std::string::npos) {
    return failure(missing_text(step.output, out + reply.value("stderr", "")));
  }
  StepResult result = step.results ? judge_tests(step, out, reply) : success();
  if (!step.output.empty()) result.checks.push_back({"output", step.output, excerpt(out), true});
  return result;
}

VmResult<StepResult> StepRunner::act(const WriteStep& step) {
  std::string path = step.file;
  if (!step.container.empty()) {
    StepResult result;
    PINFOLD_LET(const auto cgroup, cgroup_of(step.container, result));
    if (!result.message.empty()) return result;
    path = group_file(cgroup_mode(), cgroup, step.file);
  }
  PINFOLD_LET(const auto reply, ask({{"op", "write"}, {"path", path}, {"value", step.value}}));
  const std::string error = reply.value("errno", "?");
  if (error == step.error) return success();
  return failure(fmt::format("write '{}' to '{}': expected {}, the kernel answers {}", step.value,
                             path, step.error.empty() ? "success" : step.error,
                             error.empty() ? "success" : error));
}

VmResult<StepResult> StepRunner::act(const CpusStep& step) {
  for (const CpuId cpu : step.cpus) {
    auto written = act(WriteStep{fmt::format("/sys/devices/system/cpu/cpu{}/online", cpu.value), "",
                                 step.online ? "1" : "0", ""});
    if (!written || !written->ok) return written;
  }
  return success();
}

}  // namespace pinfold::harness
