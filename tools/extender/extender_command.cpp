#include "extender_command.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "pinfold/base/read_file.hpp"
#include "pinfold/cli/run.hpp"
#include "pinfold/extender/extender.hpp"
#include "pinfold/settings/log.hpp"
#include "pinfold/settings/settings.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

using agent::LogLevel;
using extender::ExtenderSettings;

struct ExtenderArguments {
  std::optional<std::string> settings_file;
  std::optional<std::string> kubeconfig;
  std::optional<std::string> address;
};

/// Returns a variable of the environment, which no thread changes; "" if it is not set.
std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

Result<ExtenderSettings> read_settings(const ExtenderArguments& arguments) {
  ExtenderSettings settings;
  const std::string file = arguments.settings_file.value_or(extender::kDefaultExtenderFile);
  const auto text = read_file(file);
  const bool is_absent = !text && text.error().code == ErrorCode::kNotFound;
  if (text) {
    PINFOLD_LET_WRAP(settings, extender::parse_extender_settings(*text), file);
  } else if (arguments.settings_file || !is_absent) {
    return fail(text.error());
  }
  if (arguments.kubeconfig) settings.kubeconfig = *arguments.kubeconfig;
  if (arguments.address) settings.address = *arguments.address;
  return settings;
}

/// Blocks the signals that end the program, for all threads that start later.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

/// Serves until SIGTERM or SIGINT. Certificates that have been replaced are read every minute, and
/// at SIGHUP.
void wait_for_end(const sigset_t& signals, extender::Extender& running, const agent::LogSink& log) {
  while (true) {
    const timespec minute{60, 0};
    const int signal = sigtimedwait(&signals, nullptr, &minute);
    if (signal == SIGTERM || signal == SIGINT) {
      log(LogLevel::kInfo, fmt::format("stops: signal {}", signal));
      return;
    }
    if (const auto renewed = running.renew_certificates(); !renewed) {
      log(LogLevel::kError, "certificates not renewed: " + renewed.error().message);
    }
  }
}

Result<void> serve(const ExtenderArguments& arguments) {
  PINFOLD_LET(const auto settings, read_settings(arguments));
  PINFOLD_LET(const auto access, kube_client::read_access(settings.kubeconfig, environment));
  PINFOLD_LET(const auto least, settings::parse_log_level(settings.log_level));
  const bool to_journal = settings::is_journal(environment("JOURNAL_STREAM"));
  const auto log = [least, to_journal](LogLevel level, std::string_view message) {
    if (level >= least) settings::write_log(level, message, to_journal);
  };
  const sigset_t signals = block_signals();
  (void)::signal(SIGPIPE, SIG_IGN);
  PINFOLD_LET(const auto running, extender::Extender::start(settings, access, log));
  log(LogLevel::kInfo,
      fmt::format("answers kube-scheduler at '{}', watches '{}'", settings.address, access.server));
  if (access.skips_verification) {
    log(LogLevel::kWarning, "insecure-skip-tls-verify: anyone can pose as the API server");
  }
  if (!settings.tls && !settings.address.starts_with("127.")) {
    log(LogLevel::kWarning, "plain HTTP: anyone who reaches the address can ask; expected 'tls'");
  }
  wait_for_end(signals, *running, log);
  return {};
}

int run(const ExtenderArguments& arguments) {
  const auto served = serve(arguments);
  if (!served) report_extender_error(served.error().message);
  return served ? 0 : cli::kUsageError;
}

}  // namespace

void report_extender_error(const std::string& message) {
  fmt::print(stderr, "pinfold-extender: {}\n", escaped(message));
}

cli::Command extender_command() {
  const auto arguments = std::make_shared<ExtenderArguments>();
  cli::Command command{"pinfold-extender",
                       "Predict for kube-scheduler which nodes would admit a pod, as a scheduler "
                       "extender"};
  command.version = PINFOLD_VERSION;
  command.add({{"--settings", &arguments->settings_file,
                "Settings file [/etc/pinfold/extender.yaml if it exists]", "FILE"},
               {"--kubeconfig", &arguments->kubeconfig,
                "How to reach the API server [the access of the Pod]", "FILE"},
               {"--address", &arguments->address, "Where to answer kube-scheduler [127.0.0.1:9472]",
                "ADDRESS"}});
  command.sections = {
      {"Examples",
       {{"pinfold-extender --kubeconfig ~/.kube/config", "Run outside the cluster"},
        {"pinfold-extender --settings extender.yaml", "Run with this settings file"}}},
      {"Signals",
       {{"TERM, INT", "Finish the current answers and exit"},
        {"HUP", "Read the certificates again, as every minute"}}}};
  command.run = [arguments] { return run(*arguments); };
  return command;
}

}  // namespace pinfold::tools
