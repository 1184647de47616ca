#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <memory>

#include "command.hpp"
#include "pinfold/harness/report.hpp"
#include "pinfold/harness/session.hpp"

namespace pinfold::harness {
namespace {

/// The terminal passes every key on to the guest, and is as before afterwards.
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

/// Standard input is no terminal but a script: runs it to its end, and ends as it does.
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
                                  {"time_limit_ms", Milliseconds(kLimit).count()}};
  const auto reply = session.vm.request(request, kLimit + std::chrono::seconds(10));
  if (!reply) return report({ErrorCode::kIo, 0, reply.error().message});
  fmt::print("{}", reply->value("stdout", ""));
  fmt::print(stderr, "{}", reply->value("stderr", ""));
  return reply->value("status", -1) == 0 ? kGood : kBad;
}

int run_shell(const CommonOptions& common, const std::string& file,
              const std::vector<std::string>& platforms, int interrupt_fd) {
  auto options = make_run_options(common, interrupt_fd);
  if (!options) return report(options.error());
  const auto scenario = find_scenario(file, platforms);
  if (!scenario) return report(scenario.error());
  options->on_progress = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  ScenarioResult result;
  auto session = open_session(*scenario, *options, result);
  if (!session) return report({ErrorCode::kIo, 0, result.message + "\n" + result.console});
  if (isatty(0) == 0) return run_script(*session);
  fmt::print(stderr, "ready after {}; end the shell to leave\n",
             format_seconds(result.until_ready));
  const nlohmann::json request = {
      {"op", "start"},
      {"name", "shell"},
      {"argv",
       {"/bin/sh", "-c", "setsid -c /bin/sh -i </dev/ttyS0 >/dev/ttyS0 2>&1; poweroff -f"}}};
  auto started = session->vm.request(request, std::chrono::seconds(10));
  if (!started) return report({ErrorCode::kIo, 0, started.error().message});
  const RawTerminal raw;
  session->vm.relay_console(
      0, [](std::string_view text) { (void)!write(1, text.data(), text.size()); });
  return kGood;
}

}  // namespace

void add_shell(CLI::App& app, int interrupt_fd, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "shell",
      "Start the machine of a scenario and a shell in it, or a script from standard input");
  auto common = std::make_shared<CommonOptions>();
  auto file = std::make_shared<std::string>();
  auto platforms = std::make_shared<std::vector<std::string>>();
  add_common_options(*command, *common);
  command->add_option("scenario", *file, "A scenario file")->required();
  add_platform_option(*command, *platforms);
  command->callback(
      [=, &exit_status] { exit_status = run_shell(*common, *file, *platforms, interrupt_fd); });
}

}  // namespace pinfold::harness
