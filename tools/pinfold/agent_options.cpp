#include "agent_options.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "pinfold/checkpoint/store.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/types/document.hpp"

namespace pinfold::tools {
namespace {

Result<Machine> read_machine(const AgentOptions& options) {
  if (options.machine.empty()) return discover(SysTree{options.sysfs}, "node");
  auto text = read_input(options.machine);
  if (!text) return fail(std::move(text).error());
  auto document = parse_document(*text);
  if (!document) return fail(std::move(document).error().wrap(options.machine));
  auto machine = Machine::from_json(*document);
  if (!machine) return fail(std::move(machine).error().wrap(options.machine));
  return machine;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

Result<Config> read_config(const AgentOptions& options) {
  std::string path = options.config;
  const std::string usual = options.state_dir + "/config.yaml";
  if (path.empty() && exists(usual)) path = usual;
  Config config;
  if (!path.empty()) {
    auto text = read_input(path);
    if (!text) return fail(std::move(text).error());
    auto parsed = parse_config(*text);
    if (!parsed) return fail(std::move(parsed).error().wrap(path));
    for (const std::string& warning : parsed->warnings) {
      fmt::print(stderr, "pinfold: warning: {}: {}\n", path, warning);
    }
    config = std::move(parsed->config);
  }
  if (!options.profile.empty()) {
    auto profile = parse_profile(options.profile);
    if (!profile) return fail(std::move(profile).error().wrap("--profile"));
    config.profile = *profile;
  }
  return config;
}

/// The directory and what is missing above it.
Result<void> make_directory(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return fail_errno(errno, fmt::format("state directory '{}'", part));
    }
    if (slash == std::string::npos) return {};
  }
}

Result<std::optional<enforce::Cgroups>> open_cgroups(const AgentOptions& options) {
  if (options.no_enforce) return std::nullopt;
  std::string root = options.cgroup_root;
  if (root.empty()) {
    auto found = enforce::default_root();
    if (!found)
      return fail(std::move(found).error().wrap("no --cgroup-root or --no-enforce given"));
    root = *std::move(found);
  }
  // Making the last directory is all that is ever done outside of it.
  if (::mkdir(root.c_str(), 0755) != 0 && errno != EEXIST) {
    return fail_errno(errno, fmt::format("cgroup root '{}'", root));
  }
  auto cgroups = enforce::Cgroups::open(root);
  if (!cgroups) return fail(std::move(cgroups).error().wrap(fmt::format("cgroup root '{}'", root)));
  return std::optional(*std::move(cgroups));
}

}  // namespace

void add_agent_options(CLI::App& command, AgentOptions& options) {
  command.add_option("--state-dir", options.state_dir, "where the node's state is kept")
      ->type_name("DIR")
      ->capture_default_str();
  auto* const root = command
                         .add_option("--cgroup-root", options.cgroup_root,
                                     "directory in a cgroup mount below which all groups are kept "
                                     "[pinfold, at the mount of the cpuset controller]")
                         ->type_name("DIR");
  command.add_flag("--no-enforce", options.no_enforce, "decide and remember, touch no cgroup")
      ->excludes(root);
  command
      .add_option("--config", options.config,
                  "KubeletConfiguration, YAML or JSON [STATE_DIR/config.yaml if it is there]")
      ->type_name("FILE");
  auto* const machine = command
                            .add_option("--machine", options.machine,
                                        "the machine as JSON, as 'pinfold topology -o json' prints "
                                        "it [discovered]")
                            ->type_name("FILE");
  command.add_option("--sysfs", options.sysfs, "discover the machine below DIR/sys and DIR/proc")
      ->type_name("DIR")
      ->capture_default_str()
      ->excludes(machine);
  command
      .add_option("--profile", options.profile,
                  "fixed or kubelet-1.36: without or with the kubelet's defects [the "
                  "configuration's, or fixed]")
      ->type_name("NAME");
  add_output_option(command, options.output);
}

Result<enforce::NodeAgent> open_agent(const AgentOptions& options) {
  auto config = read_config(options);
  if (!config) return fail(std::move(config).error());
  auto machine = read_machine(options);
  if (!machine) return fail(std::move(machine).error());
  auto node = Node::make(*std::move(machine), *std::move(config));
  if (!node) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("start: {}: {}", to_string(node.error().stage), node.error().error));
  }
  auto cgroups = open_cgroups(options);
  if (!cgroups) return fail(std::move(cgroups).error());
  if (auto made = make_directory(options.state_dir); !made) return fail(std::move(made).error());
  auto store = checkpoint::Store::open(options.state_dir);
  if (!store) {
    return fail(
        std::move(store).error().wrap(fmt::format("state directory '{}'", options.state_dir)));
  }
  return enforce::NodeAgent::open(*std::move(node), *std::move(store), options.state_dir,
                                  *std::move(cgroups));
}

Result<std::string> find_pod_uid(const enforce::NodeAgent& agent, const std::string& pod) {
  std::vector<std::string> found;
  for (const ActivePod& active : agent.state().node.pods) {
    const PodSpec& spec = active.spec;
    if (spec.uid == pod) return spec.uid;
    if (spec.name == pod || spec.namespace_name + "/" + spec.name == pod) {
      found.push_back(spec.uid);
    }
  }
  if (found.empty()) {
    return fail(
        ErrorCode::kNotFound,
        fmt::format("pod '{}': expected the UID, name or namespace/name of an active pod", pod));
  }
  if (found.size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("pod '{}': {} active pods have this name, give the UID: {}", pod,
                            found.size(), fmt::join(found, ", ")));
  }
  return found.front();
}

int report_not_enforced(const Error& error) {
  fmt::print(stderr,
             "pinfold: decided and stored, but the kernel does not have it: {}\n"
             "pinfold: run 'pinfold reconcile' once the cause is gone\n",
             error.message);
  return kNo;
}

}  // namespace pinfold::tools
