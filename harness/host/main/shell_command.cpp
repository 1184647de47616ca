#include <fmt/format.h>
#include <fmt/ranges.h>
#include <termios.h>
#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "command.hpp"
#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/open_session.hpp"
#include "pinfold/harness/report.hpp"

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

/// Runs standard input, which is not a terminal, as a script. Returns kFailed if the script fails.
int run_script(GuestSession& session) {
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

/// Returns the number of the step with this number or title; 0 for "".
Result<std::size_t> number_of_step(const Scenario& scenario, const std::string& name) {
  const std::size_t count = scenario.steps.size();
  if (name.empty()) return 0;
  std::size_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (read.ec == std::errc() && read.ptr == name.data() + name.size() && number >= 1 &&
      number <= count) {
    return number;
  }
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < count; ++i) {
    if (scenario.steps[i].title == name) found.push_back(i + 1);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--at '{}': the steps {} of '{}' have this title, expected a number",
                            name, fmt::join(found, ", "), scenario.name));
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--at {}: expected a step of '{}', 1 to {}, or the title of one", name,
                          scenario.name, count));
}

/// Opens the machine of a scenario before this step.
std::optional<GuestSession> open_machine(const Scenario& scenario, std::size_t step,
                                         const RunOptions& options, ScenarioResult& result) {
  SharedGuest nobody;
  return step == 0 ? open_session(scenario, options, nobody, result)
                   : open_session_at(scenario, step, options, result);
}

}  // namespace

int talk_to_guest(GuestSession& session) {
  if (isatty(0) == 0) return run_script(session);
  fmt::print(stderr, "exit the shell to stop the machine\n");
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
  const auto at = number_of_step(*scenario, arguments.at);
  if (!at) return report(at.error());
  options->on_progress = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  ScenarioResult result;
  auto session = open_machine(*scenario, *at, *options, result);
  if (!session) return report({ErrorCode::kIo, 0, result.message + "\n" + result.console});
  if (*at > 0) {
    fmt::print(stderr, "before step {} ({})\n", *at, scenario->steps[*at - 1].title);
  }
  return talk_to_guest(*session);
}

}  // namespace pinfold::harness
