#include "agent/open_agent.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "agent/command_line.hpp"
#include "agent/config_source.hpp"
#include "agent/read_node.hpp"
#include "pinfold/agent/open_agent.hpp"

namespace pinfold::tools {
namespace {

void print_warning(agent::LogLevel level, std::string_view message) {
  if (level == agent::LogLevel::kWarning) warn(std::string(message));
}

/// Returns "pinfold checkpoint repair --config FILE ...".
std::string repair_command(AgentArguments options) {
  options.state_dir = AgentArguments().state_dir;  // that command takes it as its argument
  options.insecure_state_dir = false;
  return command_line("checkpoint repair", options);
}

}  // namespace

agent::AgentOptions agent_options_of(const AgentArguments& options,
                                     agent::ProfileSource profile_source) {
  agent::AgentOptions opened;
  opened.profile_source = profile_source;
  opened.move_pages = options.moves_pages;
  opened.reset_affinity = !options.keeps_affinity;
  opened.state_dir = options.state_dir;
  opened.insecure_state_dir = options.insecure_state_dir;
  opened.cgroup_root = options.cgroup_root;
  opened.enforce = !options.no_enforce;
  opened.dry_run = options.dry_run;
  opened.is_query = options.is_query;
  opened.log = options.log;
  if (!opened.log && !options.hides_warnings) opened.log = print_warning;
  return opened;
}

Error with_own_advice(const AgentArguments& options, Error error) {
  const std::size_t begin = error.message.find(", please drain this node");
  if (begin == std::string::npos) return error;
  constexpr std::string_view kEnd = "before restarting Kubelet";
  const std::size_t end = error.message.find(kEnd, begin);
  if (end != std::string::npos) error.message.erase(begin, end + kEnd.size() - begin);
  const bool lacks_config =
      !names_config(options) && !has_own_config(options) &&
      error.message.find("differs from state checkpoint policy") != std::string::npos;
  error.message +=
      lacks_config ? fmt::format(
                         "; no configuration is given, so the kubelet's defaults apply: name the "
                         "configuration of the state with --config, for example '{}'",
                         own_config_file(options))
                   : fmt::format("; '{} {}' recovers what can be read", repair_command(options),
                                 shell_word(options.state_dir));
  return error;
}

Result<agent::NodeAgent> open_agent(const AgentArguments& options) {
  PINFOLD_LET(auto node, read_config(options));
  PINFOLD_LET(auto machine, read_machine(options));
  auto agent = agent::open_agent(std::move(machine), std::move(node.config),
                                 agent_options_of(options, node.profile_source));
  if (agent) return agent;
  Error error = std::move(agent).error();
  if (error.code == ErrorCode::kInvalidArgument && !options.config.empty()) {
    error = std::move(error).wrap(options.config);
  }
  return fail(with_own_advice(options, std::move(error)));
}

}  // namespace pinfold::tools
