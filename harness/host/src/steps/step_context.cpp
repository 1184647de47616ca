#include "steps/step_context.hpp"

#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <utility>

#include "judge/difference.hpp"
#include "steps/step_result.hpp"

namespace pinfold::harness {
namespace {

/// The guest's serial port buffer holds 64 KiB; escaped text can be six times as long.
constexpr std::size_t kPutBytes = 8192;

}  // namespace

std::string file_value(const Json& reply, const std::string& path) {
  const Json files = reply.value("files", Json::object());
  const Json file = files.value(path, Json::object());
  if (file.contains("value")) return file.value("value", "");
  return "(" + file.value("errno", "nothing") + ")";
}

std::string StepContext::limit_text() const {
  const double scale = options.time_scale;
  const auto seconds = std::lround(static_cast<double>(time_limit.count()) / 1000 / scale);
  const std::string scaled = scale == 1 ? "" : fmt::format("x {}, ", scale);
  return fmt::format("{} s ({}--time-scale gives more time)", seconds, scaled);
}

VmResult<Json> StepContext::ask(Json request) {
  // The guest times out first if it can, to distinguish a slow command from a guest that hangs.
  request["timeLimitMs"] = time_limit.count();
  auto reply = session.vm.request(std::move(request), time_limit + std::chrono::seconds(10));
  if (!reply && reply.error().trouble == Trouble::kTimeout) {
    reply.error().message = "no answer within " + limit_text();
  }
  return reply;
}

VmResult<void> StepContext::put(const std::string& path, const std::string& text) {
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

VmResult<std::string> StepContext::read_one(const std::string& path) {
  PINFOLD_LET(const auto reply, ask({{"op", "read"}, {"paths", {path}}}));
  return file_value(reply, path);
}

VmResult<bool> StepContext::has_line(const std::string& path, const std::string& text) {
  PINFOLD_LET(const auto reply,
              ask({{"op", "exec"}, {"argv", {"grep", "-q", "-F", "-e", text, path}}}));
  return reply.value("status", -1) == 0;
}

VmResult<Json> StepContext::run_command(std::vector<std::string> argv, const std::string& cgroup) {
  Json request = {{"op", "exec"}, {"argv", std::move(argv)}, {"cgroup", cgroup}};
  const auto kill = std::exchange(kill_at, std::nullopt);
  if (kill) {
    request["killAt"] = {{"call", kill->call}, {"file", kill->file}, {"number", kill->number}};
  }
  return ask(std::move(request));
}

std::optional<StepResult> StepContext::end_of_killed(const Json& reply) const {
  const auto seen = reply.find("callsSeen");
  if (seen == reply.end()) return std::nullopt;
  if (reply.value("signal", 0) == SIGKILL) return success();
  return failure(
      fmt::format("the point at which it was to be killed was not reached: {} such calls, "
                  "then it ended with {}",
                  seen->dump(), describe_end(reply)));
}

}  // namespace pinfold::harness
