#include "pinfold/discover/discover.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "hwloc_topology.hpp"
#include "pinfold/text/document.hpp"
#include "sys_tree.hpp"

namespace pinfold {
namespace {

Result<MachineDescription> describe(const SysTree& source) { return read_sys_tree(source); }

Result<MachineDescription> describe(const MachineText& source) {
  PINFOLD_LET(const auto machine, parse_machine(source.text));
  return machine.description();
}

template <class HwlocSource>
Result<MachineDescription> describe(const HwlocSource& source) {
  PINFOLD_LET(const auto topology, load_topology(source, Devices::kIgnore));
  return describe_topology(topology);
}

/// Returns the text of a file; nullptr for other sources.
const std::string* text_of(const Source& source) {
  if (const auto* const xml = std::get_if<HwlocXml>(&source)) return &xml->text;
  if (const auto* const machine = std::get_if<MachineText>(&source)) return &machine->text;
  return nullptr;
}

}  // namespace

Result<Machine> discover(const Source& source, std::string name) {
  auto description = std::visit([](const auto& from) { return describe(from); }, source);
  if (!description) {
    const std::string* const text = text_of(source);
    auto what = text == nullptr ? std::nullopt : name_other_form(*text);
    if (what) return fail(ErrorCode::kInvalidArgument, *std::move(what));
    return fail(std::move(description).error());
  }
  if (!std::holds_alternative<MachineText>(source)) description->name = std::move(name);
  return Machine::make(*std::move(description));
}

Result<Machine> discover_again(const SysTree& source, const Machine& known) {
  PINFOLD_LET(auto description, read_numa_nodes_again(source, known.description()));
  return Machine::make(std::move(description));
}

Result<Machine> discover_with_hwloc(const SysTree& source, std::string name) {
  PINFOLD_LET(const auto topology, load_topology(source, Devices::kIgnore));
  PINFOLD_LET(auto description, describe_topology(topology));
  description.name = std::move(name);
  return Machine::make(std::move(description));
}

}  // namespace pinfold
