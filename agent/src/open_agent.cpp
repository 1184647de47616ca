#include "pinfold/agent/open_agent.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "adopted_groups.hpp"
#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/kept_state.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/base/read_file.hpp"

namespace pinfold::agent {
namespace {

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

/// Returns true for a dangling link, too.
bool has_entry(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

bool only_reads(const AgentOptions& options) { return options.dry_run || options.is_query; }

Result<checkpoint::Store> open_store(const AgentOptions& options) {
  const std::string& directory = options.state_dir;
  const auto owners = checkpoint::owner_check(options.insecure_state_dir);
  if (!only_reads(options)) {
    PINFOLD_TRY(checkpoint::make_state_directory(directory));
    return checkpoint::Store::open(directory, options.lock_wait, owners);
  }
  if (exists(directory)) return checkpoint::Store::open_read_only(directory, owners);
  if (directory == kDefaultStateDir) {
    return checkpoint::Store::open(checkpoint::absent_directory(directory));
  }
  return fail(
      ErrorCode::kNotFound,
      fmt::format(
          "state directory '{}' does not exist; 'pinfold admit' without --dry-run creates it",
          directory));
}

Result<std::optional<enforce::Cgroups>> open_groups(const AgentOptions& options) {
  if (!options.enforce || options.dry_run) return std::nullopt;
  std::string root = options.cgroup_root;
  if (root.empty()) {
    PINFOLD_LET_WRAP(root, enforce::default_root(), "no cgroup root given, and enforcement is on");
  }
  const auto open = [&]() -> Result<enforce::Cgroups> {
    if (options.open_cgroups) return options.open_cgroups(root);
    return options.is_query ? enforce::open_cgroups_to_read(root) : enforce::open_cgroups(root);
  };
  PINFOLD_LET_WRAP(auto cgroups, open(), fmt::format("cgroup root '{}'", root));
  return std::optional(std::move(cgroups));
}

/// What is known about a state directory before its state is read.
struct OpenedDirectory {
  std::optional<checkpoint::Store> store;  ///< nullopt: there is no directory yet
  KnownMachine known;
  Config config;
};

// Inlined, the next two would have their locals in the same frame: several kB of a runtime's stack.
[[gnu::noinline]] Result<std::unique_ptr<OpenedDirectory>> find_known(Machine machine,
                                                                      Config config,
                                                                      AgentOptions& options) {
  auto found = std::make_unique<OpenedDirectory>(
      OpenedDirectory{std::nullopt, KnownMachine{std::move(machine), {}}, std::move(config)});
  if (!exists(options.state_dir)) return found;
  PINFOLD_LET(found->store, open_store(options));
  if (options.profile_source == ProfileSource::kDefault) {
    PINFOLD_LET_WRAP(const auto files, found->store->load(), "read the state");
    if (const auto profile = profile_of_files(files)) {
      found->config.profile = *profile;
      options.profile_source = ProfileSource::kStateFiles;
    }
  }
  found->known = machine_to_start_with(std::move(found->known.machine), found->config,
                                       *found->store, options.log);
  return found;
}

[[gnu::noinline]] Result<NodeAgent> open_known(OpenedDirectory& found, AgentOptions options,
                                               Node::Providers providers) {
  KnownMachine& known = found.known;
  auto node = make_node(known.machine, found.config, std::move(providers));
  if (!node) return tl::unexpected(std::move(node).error());
  PINFOLD_LET(auto cgroups, open_groups(options));
  if (!found.store) {  // only now, so that a failed start creates no directory
    PINFOLD_LET(found.store, open_store(options));
  }
  options.is_stored_node = known.is_stored;
  if (!options.is_query && !options.dry_run) {
    options.assigned_dir = std::filesystem::absolute(options.state_dir) / kAssignedDirectoryName;
  }
  return NodeAgent::open(*std::move(node), *std::move(found.store), std::move(cgroups),
                         std::move(options), std::move(known.offline), std::move(known.observed));
}

}  // namespace

Result<NodeAgent> NodeAgent::open(Node node, checkpoint::Store store,
                                  std::optional<enforce::Cgroups> cgroups, AgentOptions options,
                                  CpuSet offline, std::optional<Machine> observed) {
  PINFOLD_LET(auto kept, KeptState::restore(node, std::move(store), options));
  std::unique_ptr<EnforcedLayout> enforced;
  if (cgroups) {
    kept->rename_adopted(canonical_adopted(kept->state(), *cgroups, options.log));
    enforced =
        std::make_unique<EnforcedLayout>(*std::move(cgroups), kept->state().adopted, options.log,
                                         make_desired(node, kept->state(), {}, offline).pool);
  }
  NodeAgent agent(std::move(node), std::move(kept), std::move(enforced), std::move(options),
                  std::move(offline), std::move(observed));
  if (agent.enforced_) agent.earlier_ = earlier_layout(agent.before(), agent.state());
  const bool may_write = agent.enforced_ && !agent.options_.is_query;
  if (may_write && !agent.kept_->knobs().empty()) agent.open_knobs();
  return agent;
}

Result<NodeAgent> open_agent(Machine machine, Config config, AgentOptions options,
                             Node::Providers providers) {
  const LogSink log = options.log;
  config = with_kernel_image(std::move(config), options.iomem, log);
  PINFOLD_LET(const auto found, find_known(std::move(machine), std::move(config), options));
  auto agent = open_known(*found, std::move(options), std::move(providers));
  if (!agent || !log) return agent;
  if (const auto changes = agent->machine_changes(); !changes.empty()) {
    log(LogLevel::kWarning,
        fmt::format(
            "the machine differs from the one in the state: {}; 'pinfold reconfigure' adapts "
            "the state",
            fmt::join(changes, "; ")));
  }
  return agent;
}

bool has_config(const std::string& state_dir) {
  return has_entry(fmt::format("{}/{}", state_dir, kConfigFileName));
}

Result<std::optional<ParsedConfig>> read_own_config(checkpoint::Fs& fs,
                                                    const std::string& state_dir) {
  const std::string path = fmt::format("{}/{}", state_dir, kConfigFileName);
  PINFOLD_LET_WRAP(const auto text, fs.read(kConfigFileName), path);
  if (!text) return std::nullopt;
  PINFOLD_LET_WRAP(auto parsed, parse_config(*text), path);
  return parsed;
}

Result<ParsedConfig> read_config(const std::string& state_dir, const std::string& file,
                                 checkpoint::OwnerCheck owners) {
  if (!file.empty()) {
    PINFOLD_LET(const auto text, read_file(file));
    PINFOLD_LET_WRAP(auto parsed, parse_config(text), file);
    return parsed;
  }
  if (!has_config(state_dir)) return ParsedConfig{};
  PINFOLD_LET(const auto fs,
              checkpoint::open_state_directory_of(state_dir, {kConfigFileName}, owners));
  PINFOLD_LET(auto parsed, read_own_config(*fs, state_dir));
  return parsed ? *std::move(parsed) : ParsedConfig{};  // none: removed meanwhile
}

}  // namespace pinfold::agent
