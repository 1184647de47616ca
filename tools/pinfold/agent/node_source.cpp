#include "agent/node_source.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "agent/agent_session.hpp"
#include "agent/config_source.hpp"
#include "pinfold/agent/known_machine.hpp"

namespace pinfold::tools {
namespace {

Result<void> check_machine(const AgentArguments& options, const Node& to) {
  PINFOLD_LET(auto machine, read_machine(options));
  if (!to.quirks().offline_cpus_prevent_start) {
    machine = agent::known_machine(std::move(machine), to.machine()).machine;
  }
  if (machine == to.machine()) return {};
  return fail(
      ErrorCode::kUnsupported,
      options.machine.empty()
          ? "machine: the service discovers a different one: plans for this one can be made, but "
            "not applied here"
          : fmt::format("machine: the service reads a different one from '{}': change that file "
                        "first",
                        options.machine));
}

Result<void> check_config_file(const AgentArguments& options, const Config& target) {
  PINFOLD_LET(auto node, read_config(options));
  if (agent::with_profile_of(target, std::move(node.config), node.profile_source) == target) {
    return {};
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("the service reads its configuration from '{}', which is different: "
                          "change that file, then reconfigure without naming a configuration",
                          config_name(options)));
}

}  // namespace

verbs::NodeSource source_of_command(const AgentArguments& options) {
  verbs::NodeSource source;
  source.config = [options](const std::optional<std::string>& text) {
    return read_config(options, text);
  };
  source.machine = [options] { return read_machine(options); };
  source.file = verbs::ConfigFile::kReplace;
  return source;
}

verbs::NodeSource source_of_service(const AgentArguments& options) {
  verbs::NodeSource source = source_of_command(options);
  source.file = names_config(options) ? verbs::ConfigFile::kLeave : verbs::ConfigFile::kWrite;
  source.check = [options](const Node& to) -> Result<void> {
    PINFOLD_TRY(check_machine(options, to));
    if (!names_config(options)) return {};
    return check_config_file(options, to.config());
  };
  return source;
}

}  // namespace pinfold::tools
