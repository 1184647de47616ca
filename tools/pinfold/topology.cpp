#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.hpp"
#include "input.hpp"
#include "output.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/discover/pci.hpp"
#include "status_picture.hpp"
#include "topology_nrt.hpp"
#include "topology_picture.hpp"

namespace pinfold::tools {
namespace {

enum class Format { kText, kJson, kNrt };

struct TopologyOptions {
  std::optional<std::string> sysfs;
  std::optional<std::string> xml;
  std::optional<std::string> synthetic;
  std::string name;
  std::vector<std::string> devices;
  NodeSource node;
  std::string svg;
  Format format = Format::kText;
};

/// hwloc also reads its input from the environment, where only the command's options may count. A
/// captured tree can only be passed through the environment.
void prepare_environment(const TopologyOptions& options) {
  // NOLINTBEGIN(concurrency-mt-unsafe): the command has one thread
  for (const char* variable : {"HWLOC_FSROOT", "HWLOC_XMLFILE", "HWLOC_SYNTHETIC",
                               "HWLOC_THISSYSTEM", "HWLOC_COMPONENTS"}) {
    ::unsetenv(variable);
  }
  // hwloc would print warnings about unusual hardware into the picture.
  ::setenv("HWLOC_HIDE_ERRORS", "2", 1);
  if (options.sysfs) ::setenv("HWLOC_FSROOT", options.sysfs->c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

Result<Source> source_of(const TopologyOptions& options) {
  if (options.synthetic) return HwlocSynthetic{*options.synthetic};
  if (options.sysfs) return SysTree{*options.sysfs};
  if (!options.xml) return SysTree{};
  PINFOLD_LET(auto text, read_input(*options.xml));
  return HwlocXml{std::move(text)};
}

/// The host name for the live machine, as the kubelet's default; else the name of the source.
std::string name_of(const TopologyOptions& options) {
  if (!options.name.empty()) return options.name;
  if (options.synthetic) return "synthetic";
  if (options.sysfs || options.xml) {
    const auto path =
        std::filesystem::path(options.sysfs ? *options.sysfs : *options.xml).lexically_normal();
    return (path.has_filename() ? path : path.parent_path()).stem().string();
  }
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "";
}

Result<std::vector<DeviceRule>> rules_of(const TopologyOptions& options) {
  std::vector<DeviceRule> rules;
  for (const std::string& text : options.devices) {
    PINFOLD_LET_WRAP(auto rule, DeviceRule::parse(text), "--device");
    rules.push_back(std::move(rule));
  }
  return rules;
}

/// One line for each CPU, NUMA node and device: easy to read and to compare.
std::string to_json_lines(const Machine& machine) {
  const nlohmann::json node = machine.to_json();
  std::string out = fmt::format("{{\n \"name\": {}", node["name"].dump());
  for (const char* key : {"cpus", "numaNodes", "devices"}) {
    out += fmt::format(",\n \"{}\": [", key);
    std::string separator = "\n  ";
    for (const auto& item : node[key]) {
      out += separator + item.dump();
      separator = ",\n  ";
    }
    out += node[key].empty() ? "]" : "\n ]";
  }
  return out + "\n}\n";
}

Result<ExitStatus> show(const TopologyOptions& options) {
  PINFOLD_LET(const auto rules, rules_of(options));
  prepare_environment(options);
  PINFOLD_LET(const auto source, source_of(options));
  auto machine = discover(source, name_of(options));
  if (!machine && options.xml) {
    return fail(std::move(machine).error().wrap(fmt::format("'{}'", *options.xml)));
  }
  if (!machine) return fail(std::move(machine).error());
  print_warnings(*machine);

  const bool is_text = options.format == Format::kText;
  Picture picture;
  const bool has_devices = !options.synthetic;  // no synthetic machine has any
  if (((is_text || !options.svg.empty()) && has_devices) || !rules.empty()) {
    auto devices = pci_devices(source);
    if (!devices && !rules.empty()) return fail(std::move(devices).error());
    // A picture without devices is better than none.
    if (!devices) warn(devices.error().message);
    if (devices) picture.pci = std::move(*devices);
  }
  if (!rules.empty()) {
    MachineDescription description = machine->description();
    description.devices = as_devices(*picture.pci, rules);
    PINFOLD_LET(*machine, Machine::make(std::move(description)));
  }
  if (!options.svg.empty()) {
    PINFOLD_TRY(
        write_svg(options.svg, "Topology of " + machine->name(), {{"", *machine, picture, {}}}));
  }
  switch (options.format) {
    case Format::kNrt:
      return print_node_topology(*std::move(machine), options.node);
    case Format::kJson:
      fmt::print("{}", to_json_lines(*machine));
      return kYes;
    case Format::kText:
      break;
  }
  picture.style = terminal_style();
  fmt::print("{}", render_node(*machine, picture));
  return kYes;
}

}  // namespace

cli::Command topology_command() {
  auto options = std::make_shared<TopologyOptions>();
  cli::Command command{
      "topology", "Show the topology of a machine: sockets, NUMA nodes, caches, cores, devices"};
  command.add(
      {{.name = "--sysfs",
        .target = &options->sysfs,
        .help = "Root of a captured tree with sys/ and proc/",
        .value = "DIR",
        .excludes = {"--xml", "--synthetic"}},
       {.name = "--xml",
        .target = &options->xml,
        .help = "Topology that hwloc exported as XML; - for standard input",
        .value = "FILE",
        .excludes = {"--synthetic"}},
       {"--synthetic", &options->synthetic,
        "hwloc synthetic topology, for example 'pack:2 core:4 pu:2'"},
       {"--name", &options->name, "Name of the node", "NAME"},
       {"--device", &options->devices,
        "PCI devices that make up an extended resource: VENDOR:DEVICE=RESOURCE or "
        "class:CLASS=RESOURCE; may be repeated",
        "RULE"},
       {"-o,--output",
        cli::one_of<Format>(
            options->format,
            {{"text", Format::kText}, {"json", Format::kJson}, {"nrt", Format::kNrt}}),
        "Output format: text for people, json for programs, nrt for the NodeResourceTopology "
        "object that an exporter would publish"},
       svg_option(options->svg),
       {.name = "--config",
        .target = &options->node.config,
        .help = "For nrt: KubeletConfiguration, YAML or JSON [config.yaml in the state directory "
                "if it exists, else the kubelet's defaults]",
        .value = "FILE",
        .needs = "--output"},
       {.name = "--state-dir",
        .target = &options->node.state_dir,
        .help = "For nrt: directory with the state files of the kubelet or Pinfold [none: all "
                "resources are available]",
        .value = "DIR",
        .needs = "--output"}});
  command.sections = {{"Examples",
                       {{"pinfold topology", "Draw this machine"},
                        {"pinfold topology --synthetic 'pack:2 [numa(memory=16GiB)] l3:1 core:4 "
                         "pu:2' -o json > node.json",
                         "Make a machine for pinfold admit --machine node.json"},
                        {"pinfold topology -o nrt --state-dir /var/lib/kubelet --config "
                         "/var/lib/kubelet/config.yaml",
                         "Print the NodeResourceTopology object of this node"}}}};
  command.run = [options] { return exit_status(show(*options)); };
  return command;
}

}  // namespace pinfold::tools
