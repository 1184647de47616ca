#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/machine_view.hpp"
#include "pinfold/harness/open_session.hpp"

namespace pinfold::harness {
namespace {

void show(const MachineArguments& arguments, const nlohmann::json& requested,
          const ScenarioResult& result) {
  if (arguments.output == "json") {
    const nlohmann::json both = {{"requested", requested}, {"guest", result.guest}};
    fmt::print("{}\n", both.dump(2, ' ', true, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", machine_table(requested, result.guest));
  }
}

}  // namespace

int show_machine(const MachineArguments& arguments, int interrupt_fd) {
  const auto scenario = find_scenario(arguments.selection);
  if (!scenario) return report(scenario.error());
  const nlohmann::json requested = requested_machine(scenario->machine);
  ScenarioResult result;
  if (!arguments.boot) {
    show(arguments, requested, result);
    return kOk;
  }
  auto options = make_run_options(arguments.common, interrupt_fd);
  if (!options) return report(options.error());
  options->on_progress = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  SharedGuest nobody;
  const auto session = open_session(*scenario, *options, nobody, result);
  show(arguments, requested, result);
  if (session) return kOk;
  (void)report({ErrorCode::kIo, 0, result.message});
  if (result.verdict == Verdict::kWrongMachine) return kFailed;
  if (!result.console.empty()) fmt::print(stderr, "{}\n", result.console);
  return kUsageError;
}

}  // namespace pinfold::harness
