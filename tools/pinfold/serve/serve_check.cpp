#include "serve/serve_check.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <variant>

#include "pinfold/socket/client.hpp"
#include "pinfold/worker/worker.hpp"

namespace pinfold::tools {
namespace {

using std::chrono::milliseconds;

Result<verbs::ServiceReport> ask(const std::string& socket) {
  constexpr milliseconds kTime(4000);
  PINFOLD_LET(auto client, socket::Client::connect(socket, kTime));
  if (!client) return fail(ErrorCode::kNotFound, fmt::format("no service at '{}'", socket));
  PINFOLD_LET(auto answer, client->call(verbs::ReadService{}, milliseconds(0)));
  if (auto* const report = std::get_if<verbs::ServiceReport>(&answer)) return std::move(*report);
  return fail(ErrorCode::kInternal, "the service gave an unexpected kind of answer");
}

/// Describes what is wrong with a service; "" if nothing.
std::string find_problem(const verbs::ServiceReport& report, bool wants_ready) {
  if (report.busy >= worker::WorkerOptions{}.longest_request) {
    return fmt::format("the service's current request has taken {} s so far",
                       std::chrono::duration_cast<std::chrono::seconds>(report.busy).count());
  }
  if (wants_ready && !report.is_following) {
    return "no container runtime is connected, or the kubelet's own CPU manager is static";
  }
  return "";
}

}  // namespace

Result<ExitStatus> check_service(const settings::Settings& settings, const std::string& what) {
  if (what != "live" && what != "ready") {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--check: '{}': expected live or ready", what));
  }
  const auto report = ask(settings.socket);
  const std::string problem =
      report ? find_problem(*report, what == "ready") : report.error().message;
  fmt::print("{}\n", problem.empty() ? what : fmt::format("not {}: {}", what, problem));
  return problem.empty() ? kYes : kNo;
}

}  // namespace pinfold::tools
