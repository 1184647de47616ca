#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "pinfold/harness/report.hpp"
#include "pinfold/harness/session.hpp"

namespace pinfold::harness {
namespace {

/// Passes every key of the terminal to the guest until it is destroyed.
class RawTerminal {
 public:
  RawTerminal() : valid_(tcgetattr(0, &before_) == 0) {
    if (!valid_) return;
    termios raw = before_;
    cfmakeraw(&raw);
    (void)tcsetattr(0, TCSANOW, &raw);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() {
    if (valid_) (void)tcsetattr(0, TCSANOW, &before_);
  }

 private:
  termios before_{};
  bool valid_;
};

/// Runs standard input, which is not a terminal, as a script. Returns the script's exit status.
int run_script(Session& session) {
  constexpr std::size_t kMaxScript = 32U << 10;
  constexpr std::chrono::hours kLimit(1);
  std::string script;
  char chunk[4096];
  for (ssize_t got = 0; (got = read(0, chunk, sizeof chunk)) > 0;) {
    script.append(chunk, static_cast<std::size_t>(got));
    if (script.size() > kMaxScript) {
      return report(
          {ErrorCode::kInvalidArgument, 0,
           fmt::format("standard input: expected a script of at most {} bytes", kMaxScript)});
    }
  }
  const nlohmann::json request = {{"op", "exec"},
                                  {"argv", {"/bin/sh"}},
                                  {"stdin", script},
                                  {"timeLimitMs", Milliseconds(kLimit).count()}};
  const auto reply = session.vm.request(request, kLimit + std::chrono::seconds(10));
  if (!reply) return report({ErrorCode::kIo, 0, reply.error().message});
  fmt::print("{}", reply->value("stdout", ""));
  fmt::print(stderr, "{}", reply->value("stderr", ""));
  return reply->value("status", -1) == 0 ? kOk : kFailed;
}

/// Opens the machine of a scenario, before the step that the user named.
std::optional<Session> open_machine(const Scenario& scenario, int step, const RunOptions& options,
                                    ScenarioResult& result) {
  if (step == 0) return open_session(scenario, options, result);
  return open_session_at(scenario, static_cast<std::size_t>(step), options, result);
}

}  // namespace

int talk_to_guest(Session& session) {
  if (isatty(0) == 0) return run_script(session);
  fmt::print(stderr, "end the shell to leave\n");
  const nlohmann::json request = {
      {"op", "start"},
      {"name", "shell"},
      {"argv",
       {"/bin/sh", "-c", "setsid -c /bin/sh -i </dev/ttyS0 >/dev/ttyS0 2>&1; poweroff -f"}}};
  auto started = session.vm.request(request, std::chrono::seconds(10));
  if (!started) return report({ErrorCode::kIo, 0, started.error().message});
  const RawTerminal raw;
  session.vm.relay_console(
      0, [](std::string_view text) { (void)!write(1, text.data(), text.size()); });
  return kOk;
}

int run_shell(const ShellArguments& arguments, int interrupt_fd) {
  auto options = make_run_options(arguments.common, interrupt_fd);
  if (!options) return report(options.error());
  const auto scenario = find_scenario(arguments.selection);
  if (!scenario) return report(scenario.error());
  if (static_cast<std::size_t>(arguments.at) > scenario->steps.size()) {
    return report({ErrorCode::kInvalidArgument, 0,
                   fmt::format("--at {}: expected a step of '{}', 1 to {}", arguments.at,
                               scenario->name, scenario->steps.size())});
  }
  options->on_progress = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  ScenarioResult result;
  auto session = open_machine(*scenario, arguments.at, *options, result);
  if (!session) return report({ErrorCode::kIo, 0, result.message + "\n" + result.console});
  if (arguments.at > 0) {
    const Step& step = scenario->steps[static_cast<std::size_t>(arguments.at) - 1];
    fmt::print(stderr, "before step {} ({})\n", arguments.at, step.title);
  }
  return talk_to_guest(*session);
}

}  // namespace pinfold::harness
