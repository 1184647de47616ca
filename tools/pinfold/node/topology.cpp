#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "agent/agent_arguments.hpp"
#include "commands.hpp"
#include "input.hpp"
#include "node/status_picture.hpp"
#include "node/topology_nrt.hpp"
#include "output.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/discover/pci.hpp"
#include "pinfold/picture/render_node.hpp"

namespace pinfold::tools {
namespace {

enum class Format { kText, kJson, kNrt };

struct TopologyArguments {
  std::optional<std::string> machine;
  std::optional<std::string> sysfs;
  std::optional<std::string> xml;
  std::optional<std::string> synthetic;

  /// The given input, unless it is `synthetic`.
  [[nodiscard]] const std::optional<std::string>& input() const {
    return machine ? machine : sysfs ? sysfs : xml;
  }
  std::string name;
  std::vector<std::string> devices;
  NrtSource node;
  std::string svg;
  Format format = Format::kText;
};

/// Sets the environment for hwloc, which also reads its input from there, so that only the
/// command's options count. A captured tree can only be passed through the environment.
void prepare_environment(const Source& source) {
  // NOLINTBEGIN(concurrency-mt-unsafe): the command has one thread
  for (const char* variable : {"HWLOC_FSROOT", "HWLOC_XMLFILE", "HWLOC_SYNTHETIC",
                               "HWLOC_THISSYSTEM", "HWLOC_COMPONENTS"}) {
    ::unsetenv(variable);
  }
  // hwloc would print warnings about unusual hardware into the picture.
  ::setenv("HWLOC_HIDE_ERRORS", "2", 1);
  const auto* const tree = std::get_if<SysTree>(&source);
  if (tree != nullptr && tree->root != "/") ::setenv("HWLOC_FSROOT", tree->root.c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

Result<Source> source_of(const TopologyArguments& options) {
  if (options.synthetic) return HwlocSynthetic{*options.synthetic};
  if (options.sysfs) return SysTree{*options.sysfs};
  if (options.machine) return read_source(*options.machine);
  if (!options.xml) return SysTree{};
  PINFOLD_LET(auto text, read_input(*options.xml));
  return source_of_text(std::move(text));
}

/// Returns the name of a file without the suffixes of its format: "node1.example.com" for
/// "node1.example.com.xml.gz".
std::string name_of_file(std::filesystem::path path) {
  std::error_code failed;
  const bool is_directory = std::filesystem::is_directory(path, failed);
  path = path.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::string name = path.filename().string();
  if (is_directory) return name;
  for (const std::string_view ending : {".gz", ".xml", ".json", ".yaml", ".yml", ".txt"}) {
    if (name.ends_with(ending) && name.size() > ending.size()) {
      name.resize(name.size() - ending.size());
    }
  }
  return name;
}

/// Returns the host name for the live machine, like the kubelet; else the name of the source.
std::string name_of(const TopologyArguments& options, const Source& source) {
  if (!options.name.empty()) return options.name;
  if (std::holds_alternative<HwlocSynthetic>(source)) return "synthetic";
  if (options.input()) return *options.input() == "-" ? "machine" : name_of_file(*options.input());
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "";
}

Result<std::vector<DeviceRule>> rules_of(const TopologyArguments& options) {
  std::vector<DeviceRule> rules;
  for (const std::string& text : options.devices) {
    PINFOLD_LET_WRAP(auto rule, DeviceRule::parse(text), "--device");
    rules.push_back(std::move(rule));
  }
  return rules;
}

/// Formats one line per CPU, NUMA node and device, which is easy to read and compare.
std::string to_json_lines(const Machine& machine) {
  const nlohmann::json node = machine.to_json();
  std::string out = fmt::format("{{\n \"name\": {}", node["name"].dump());
  if (const auto capacity = node.find("memoryCapacity"); capacity != node.end()) {
    out += fmt::format(",\n \"memoryCapacity\": {}", capacity->dump());
  }
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

Result<Machine> renamed(const Machine& machine, const std::string& name) {
  MachineDescription description = machine.description();
  description.name = name;
  return Machine::make(std::move(description));
}

Result<ExitStatus> show(const TopologyArguments& options) {
  PINFOLD_LET(const auto rules, rules_of(options));
  PINFOLD_LET(const auto source, source_of(options));
  prepare_environment(source);
  auto machine = discover(source, name_of(options, source));
  if (!machine && !options.sysfs && options.input()) {
    const std::string name = input_name(*options.input());
    return fail(
        std::move(machine).error().wrap(name == *options.input() ? "'" + name + "'" : name));
  }
  if (!machine) return fail(std::move(machine).error());
  if (machine->name().empty() || !options.name.empty()) {
    machine = renamed(*machine, name_of(options, source));
  }
  print_warnings(*machine);

  const bool is_text = options.format == Format::kText;
  Picture picture;
  // Other sources have no PCI devices.
  const bool has_devices =
      std::holds_alternative<SysTree>(source) || std::holds_alternative<HwlocXml>(source);
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
      return print_node_topology(*machine, options.node);
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
  auto options = std::make_shared<TopologyArguments>();
  cli::Command command{
      "topology", "Show the topology of a machine: sockets, NUMA nodes, caches, cores, devices"};
  command.add(
      {{.name = "--machine",
        .target = &options->machine,
        .help =
            "The machine: JSON from this command, MachineInfo of a kubelet or cAdvisor, or hwloc "
            "XML (each also .gz), a directory with sys/ and proc/, or an hwloc synthetic "
            "topology; - for standard input [this machine]",
        .value = "FILE",
        .excludes = {"--sysfs", "--xml", "--synthetic"}},
       {.name = "--sysfs",
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
        .help = "For nrt: KubeletConfiguration, or a file that contains one [config.yaml in the "
                "state directory if it exists, else the kubelet's defaults]",
        .value = "FILE",
        .needs = "--output"},
       kubelet_flags_option(options->node.kubelet_flags),
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
                         "Describe a machine for pinfold admit --machine node.json"},
                        {"pinfold topology --machine node.json", "Draw it"},
                        {"pinfold topology -o nrt --state-dir /var/lib/kubelet --config "
                         "/var/lib/kubelet/config.yaml",
                         "Print the NodeResourceTopology object of this node"}}}};
  command.run = [options] { return exit_status(show(*options)); };
  return command;
}

}  // namespace pinfold::tools
