#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "pinfold/harness/machine_view.hpp"
#include "pinfold/harness/session.hpp"

namespace pinfold::harness {
namespace {

struct MachineArguments {
  CommonOptions common;
  std::string file;
  std::vector<std::string> platforms;
  std::string output = "text";
  bool boot = false;
};

void show(const MachineArguments& arguments, const nlohmann::json& asked,
          const ScenarioResult& result) {
  if (arguments.output == "json") {
    const nlohmann::json both = {{"asked", asked}, {"guest", result.guest}};
    fmt::print("{}\n", both.dump(2, ' ', true, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", machine_table(asked, result.guest));
  }
}

int show_machine(const MachineArguments& arguments, int interrupt_fd) {
  const auto scenario = find_scenario(arguments.file, arguments.platforms);
  if (!scenario) return report(scenario.error());
  const nlohmann::json asked = asked_machine(scenario->machine);
  ScenarioResult result;
  if (!arguments.boot) {
    show(arguments, asked, result);
    return kGood;
  }
  auto options = make_run_options(arguments.common, interrupt_fd);
  if (!options) return report(options.error());
  options->on_progress = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  const auto session = open_session(*scenario, *options, result);
  show(arguments, asked, result);
  if (session) return kGood;
  (void)report({ErrorCode::kIo, 0, result.message});
  if (result.verdict == Verdict::kWrongMachine) return kBad;
  if (!result.console.empty()) fmt::print(stderr, "{}\n", result.console);
  return kBadRequest;
}

}  // namespace

void add_machine(CLI::App& app, int interrupt_fd, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "machine", "Show the machine of a scenario, and what a guest's kernel makes of it");
  auto arguments = std::make_shared<MachineArguments>();
  command->add_option("scenario", arguments->file, "A scenario file")->required();
  add_platform_option(*command, arguments->platforms);
  command->add_flag("--boot", arguments->boot, "Start it, and show what its kernel reports");
  command->add_option("-o,--output", arguments->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  add_common_options(*command, arguments->common);
  command->callback([=, &exit_status] { exit_status = show_machine(*arguments, interrupt_fd); });
}

}  // namespace pinfold::harness
