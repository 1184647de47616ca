#include "pinfold/settings/log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "pinfold/text/message.hpp"

namespace pinfold::settings {
namespace {

/// Priorities as in syslog(3).
int priority_of(agent::LogLevel level) {
  constexpr int kErr = 3;
  constexpr int kWarning = 4;
  constexpr int kInfo = 6;
  constexpr int kDebug = 7;
  switch (level) {
    case agent::LogLevel::kDebug:
      return kDebug;
    case agent::LogLevel::kInfo:
      return kInfo;
    case agent::LogLevel::kWarning:
      return kWarning;
    case agent::LogLevel::kError:
      break;
  }
  return kErr;
}

}  // namespace

std::string_view to_string(agent::LogLevel level) {
  switch (level) {
    case agent::LogLevel::kDebug:
      return "debug";
    case agent::LogLevel::kInfo:
      return "info";
    case agent::LogLevel::kWarning:
      return "warning";
    case agent::LogLevel::kError:
      break;
  }
  return "error";
}

std::string log_line(agent::LogLevel level, std::string_view message, std::string_view time) {
  std::string quoted;
  for (const char c : escaped(message)) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  const std::string before =
      time.empty() ? fmt::format("<{}>", priority_of(level)) : fmt::format("time={} ", time);
  return fmt::format("{}level={} msg=\"{}\"\n", before, to_string(level), quoted);
}

bool is_journal(const std::string& journal_stream) {
  struct stat status {};
  if (::fstat(STDERR_FILENO, &status) != 0) return false;
  return fmt::format("{}:{}", status.st_dev, status.st_ino) == journal_stream;
}

void write_log(agent::LogLevel level, std::string_view message, bool to_journal) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  const std::string time = to_journal ? "" : fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  const std::string line = log_line(level, message, time);
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // cannot be reported anywhere
}

}  // namespace pinfold::settings
