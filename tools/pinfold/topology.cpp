#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/discover/pci.hpp"
#include "topology_nrt.hpp"
#include "topology_picture.hpp"

namespace pinfold::tools {
namespace {

enum class Format { kText, kJson, kNrt };

struct Options {
  std::optional<std::string> sysfs;
  std::optional<std::string> xml;
  std::optional<std::string> synthetic;
  std::string name;
  std::vector<std::string> devices;
  NodeSource node;
  Format format = Format::kText;
};

/// hwloc takes its input from the environment too: only what was asked for may count. A captured
/// tree can be given to it in no other way.
void prepare_environment(const Options& options) {
  // NOLINTBEGIN(concurrency-mt-unsafe): the command has one thread
  for (const char* variable : {"HWLOC_FSROOT", "HWLOC_XMLFILE", "HWLOC_SYNTHETIC",
                               "HWLOC_THISSYSTEM", "HWLOC_COMPONENTS"}) {
    ::unsetenv(variable);
  }
  // Complaints about odd hardware would go to standard error, into the picture.
  ::setenv("HWLOC_HIDE_ERRORS", "2", 1);
  if (options.sysfs) ::setenv("HWLOC_FSROOT", options.sysfs->c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

Result<Source> source_of(const Options& options) {
  if (options.synthetic) return HwlocSynthetic{*options.synthetic};
  if (options.sysfs) return SysTree{*options.sysfs};
  if (!options.xml) return SysTree{};
  PINFOLD_LET(auto text, read_input(*options.xml));
  return HwlocXml{std::move(text)};
}

/// A live node is called as the kubelet calls it by default; others by where they come from.
std::string name_of(const Options& options) {
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

Result<std::vector<DeviceRule>> rules_of(const Options& options) {
  std::vector<DeviceRule> rules;
  for (const std::string& text : options.devices) {
    PINFOLD_LET_WRAP(auto rule, DeviceRule::parse(text), "--device");
    rules.push_back(std::move(rule));
  }
  return rules;
}

/// One line for each CPU, node and device: short enough to read, and easy to compare.
std::string print_json(const Machine& machine) {
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

int show(const Options& options) {
  auto rules = rules_of(options);
  if (!rules) return report(rules.error());
  prepare_environment(options);
  auto source = source_of(options);
  if (!source) return report(source.error());
  auto machine = discover(*source, name_of(options));
  if (!machine && options.xml) {
    return report(std::move(machine).error().wrap(fmt::format("'{}'", *options.xml)));
  }
  if (!machine) return report(machine.error());

  const bool is_text = options.format == Format::kText;
  Picture picture;
  const bool has_devices = !options.synthetic;  // no synthetic machine has any
  if ((is_text && has_devices) || !rules->empty()) {
    auto devices = pci_devices(*source);
    if (!devices && !rules->empty()) return report(devices.error());
    // A picture without devices is better than none.
    if (!devices) fmt::print(stderr, "pinfold: {}\n", devices.error().message);
    if (devices) picture.pci = std::move(*devices);
  }
  if (!rules->empty()) {
    MachineDescription description = machine->description();
    description.devices = as_devices(*picture.pci, *rules);
    machine = Machine::make(std::move(description));
    if (!machine) return report(machine.error());
  }
  if (options.format == Format::kNrt) return print_node_topology(*std::move(machine), options.node);
  if (is_text) {
    picture.style = terminal_style();
    fmt::print("{}", render_node(*machine, picture));
  } else {
    fmt::print("{}", print_json(*machine));
  }
  return kYes;
}

}  // namespace

void add_topology(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App& command =
      *app.add_subcommand("topology", "Show a node: sockets, NUMA nodes, caches, cores, devices");
  auto* const sysfs = command.add_option("--sysfs", options->sysfs,
                                         "Root of a captured tree that holds sys/ and proc/");
  auto* const xml =
      command.add_option("--xml", options->xml, "Topology exported by hwloc; - for standard input");
  auto* const synthetic = command.add_option("--synthetic", options->synthetic,
                                             "hwloc's one-line form, 'pack:2 core:4 pu:2'");
  sysfs->excludes(xml)->excludes(synthetic);
  xml->excludes(synthetic);
  command.add_option("--name", options->name, "Name of the node");
  command.add_option("--device", options->devices,
                     "PCI devices that are an extended resource: VENDOR:DEVICE=RESOURCE or "
                     "class:CLASS=RESOURCE; may be repeated");
  static const std::map<std::string, Format> kFormats = {
      {"text", Format::kText}, {"json", Format::kJson}, {"nrt", Format::kNrt}};
  auto* const output =
      command
          .add_option("-o,--output", options->format,
                      "text for people, json for programs, nrt: the NodeResourceTopology object "
                      "that an exporter would publish")
          ->transform(CLI::CheckedTransformer(kFormats).description("text|json|nrt"))
          ->default_str("text");
  command
      .add_option("--config", options->node.config,
                  "for nrt: KubeletConfiguration, YAML or JSON [STATE_DIR/config.yaml if it is "
                  "there, else the kubelet's defaults]")
      ->type_name("FILE")
      ->needs(output);
  command
      .add_option("--state-dir", options->node.state_dir,
                  "for nrt: where the state files are, the kubelet's or Pinfold's [none: nothing "
                  "is in use]")
      ->type_name("DIR")
      ->needs(output);
  command.callback([options, &exit_status] { exit_status = show(*options); });
}

}  // namespace pinfold::tools
