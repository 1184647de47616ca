#include "agent/read_node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>

#include "agent/config_source.hpp"
#include "agent/kubelet_program.hpp"
#include "input.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/checkpoint/files.hpp"
#include "pinfold/decide/config_effects.hpp"
#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/discover/discover.hpp"

namespace pinfold::tools {
namespace {

Result<ParsedConfig> parse_text(const std::string& text, const std::string& name) {
  PINFOLD_LET_WRAP(auto parsed, parse_config(text), name);
  return parsed;
}

/// Reads the configuration that the options name, else that of the state directory.
Result<ParsedConfig> read_named_or_own(const NodeOptions& options) {
  if (!names_config(options)) {
    return agent::read_config(options.state_dir, "",
                              checkpoint::owner_check(options.insecure_state_dir));
  }
  PINFOLD_LET(auto read, read_config_text(options));
  PINFOLD_LET(auto parsed, parse_text(read.text, config_name(options)));
  parsed.open_policies = std::move(read.open_policies);
  parsed.unset_policies = std::move(read.unset_policies);
  parsed.config.sources = SharedSources(std::move(read.sources));
  return Result<ParsedConfig>(std::move(parsed));
}

/// Returns the configuration with the profile from the options, else its own.
Result<NodeConfig> with_profile(const NodeOptions& options, Config config, bool names_profile) {
  using agent::ProfileSource;
  if (!options.profile.empty()) {
    PINFOLD_LET_WRAP(auto profile, parse_profile(options.profile), "--profile");
    config.profile = profile;
    return NodeConfig{std::move(config), options.profile_source};
  }
  if (names_profile) {
    return NodeConfig{std::move(config), ProfileSource::kConfiguration};
  }
  if (options.kubelet_binary.empty()) return NodeConfig{std::move(config)};
  std::string program = options.kubelet_binary;
  if (program == "unit") {
    PINFOLD_LET_WRAP(program, program_of_kubelet_unit(options.sysfs), "--kubelet-binary unit");
  }
  PINFOLD_LET_WRAP(const auto version, kubelet_version(program), "--kubelet-binary");
  PINFOLD_LET_WRAP(config.profile, profile_of_kubelet(version), "--kubelet-binary");
  return NodeConfig{std::move(config), ProfileSource::kKubelet};
}

/// Returns whether the named configuration is the node's own, which its kubelet adds flags to.
bool is_own_with_flags(const NodeOptions& options) {
  const auto is_own = [&](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::equivalent(path, own_config_file(options), ignored);
  };
  if (options.config.empty()) return false;
  return is_own(options.config + "/var/lib/kubelet/config.yaml") ||
         (is_own(options.config) && !options.kubelet_flags.empty());
}

/// Warns, before a command uses a configuration, that it differs from the node's own. An agent
/// itself warns of a state that it has changed before.
void warn_of_other(const NodeOptions& options, const Config& config) {
  if (is_own_with_flags(options)) return;
  std::error_code ignored;
  const std::string stored = fmt::format("{}/{}", options.state_dir, checkpoint::kNodeFileName);
  if (std::filesystem::exists(stored, ignored)) return;
  const auto own = agent::read_config(options.state_dir, "", checkpoint::OwnerCheck::kOff);
  const std::string path = own_config_file(options);
  if (!own || !agent::has_config(options.state_dir)) return;
  Config compared = without_unknown_gates(own->config);
  if (!own->names_profile) compared.profile = config.profile;
  if (compared == config) return;
  warn(fmt::format("configuration: '{}' differs from the node's own, '{}'", config_name(options),
                   path));
}

/// Warns of policies that a part of a configuration leaves open: the defaults decide.
void warn_of_open(const std::vector<std::string>& open) {
  if (open.empty()) return;
  warn(
      fmt::format("configuration: it is only a part of a kubelet's and has no {}, which may be set "
                  "elsewhere: the kubelet's default decides; --config with the root of the node, "
                  "'/', reads all of it",
                  fmt::join(open, " and no ")));
}

}  // namespace

Result<Machine> read_machine(const NodeOptions& options) {
  if (options.machine.empty()) {
    PINFOLD_LET(auto machine, discover(SysTree{options.sysfs}, "node"));
    print_warnings(machine);
    return machine;
  }
  PINFOLD_LET(const auto source, read_source(options.machine));
  PINFOLD_LET_WRAP(auto machine, discover(source, "node"), input_name(options.machine));
  print_warnings(machine);
  return machine;
}

Result<NodeConfig> read_config(const NodeOptions& options) {
  return read_config(options, std::nullopt);
}

Result<NodeConfig> read_config(const NodeOptions& options, const std::optional<std::string>& text) {
  PINFOLD_LET(auto parsed, text ? parse_text(*text, "configuration") : read_named_or_own(options));
  PINFOLD_LET(auto node, with_profile(options, std::move(parsed.config), parsed.names_profile));
  node.open_policies = std::move(parsed.open_policies);
  node.unset_policies = std::move(parsed.unset_policies);
  node.warnings = config_warnings(std::move(parsed.warnings), node.config);
  for (const std::string& warning : node.warnings) {
    if (!text) warn("configuration: " + warning);
  }
  warn_of_open(node.open_policies);
  for (const std::string& gate : unknown_gates(node.config)) {
    node.unknown_gates.emplace(gate, node.config.feature_gates.at(gate));
  }
  node.config = without_unknown_gates(std::move(node.config));
  if (!text && names_config(options)) warn_of_other(options, node.config);
  return node;
}
Result<Node> make_node(const NodeOptions& options, const Config& config) {
  PINFOLD_LET(auto machine, read_machine(options));
  auto node =
      agent::make_node(machine, agent::with_kernel_image(config, iomem_of(options), nullptr));
  if (node || !names_config(options)) return node;
  return fail(std::move(node).error().wrap(config_name(options)));
}

}  // namespace pinfold::tools
