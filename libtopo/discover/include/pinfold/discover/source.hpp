#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace pinfold {

/// The kernel's files below root/sys and root/proc: "/" is the live machine, any other directory a
/// captured tree, such as one made by hwloc-gather-topology.
struct SysTree {
  std::string root = "/";
};

/// The text of a topology exported by hwloc ("lstopo machine.xml").
struct HwlocXml {
  std::string text;
};

/// hwloc's one-line form: "pack:2 [numa(memory=16GB)] l3:1 core:4 pu:2".
struct HwlocSynthetic {
  std::string text;
};

/// JSON or YAML for Machine::from_json: Pinfold's own form or the kubelet's MachineInfo.
struct MachineText {
  std::string text;
};

/// The input from which a machine is read.
using Source = std::variant<SysTree, HwlocXml, HwlocSynthetic, MachineText>;

/// Returns a text, without a byte order mark, as the source whose form it has: XML, hwloc's
/// one-line form, else a MachineText.
[[nodiscard]] Source source_of_text(std::string text);

/// For a text that describes a machine in a form that discover() does not read, returns what it is
/// and what to pass instead: "it is the output of 'lscpu -J', ..."; nullopt for any other text. The
/// beginning of an archive is enough.
[[nodiscard]] std::optional<std::string> name_other_form(std::string_view text);

}  // namespace pinfold
