#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

/// The files that make a container runtime run pinfold-gate, as texts: docs/barrier.md.
namespace pinfold::tools {

/// How a runtime runs the gate.
struct GateHook {
  std::string program;                 ///< absolute
  std::vector<std::string> arguments;  ///< after the program's name
  int timeout_s = 0;                   ///< of the runtime; above the gate's own

  friend bool operator==(const GateHook&, const GateHook&) = default;
};

/// Returns the file for hooks.d of CRI-O and podman: the hook of every container.
/// Source: oci-hooks(5).
[[nodiscard]] std::string hooks_file(const GateHook& hook);

/// Adds the gate to the OCI specification that containerd starts from, `ctr oci spec`, as the last
/// of its createRuntime hooks. Errors: kInvalidArgument if `spec` is not a specification.
[[nodiscard]] Result<std::string> spec_with_gate(const std::string& spec, const GateHook& hook);

/// Makes the configuration of containerd 1.7 or 2.x (versions 2 and 3) start from the specification
/// `spec_file` for one runtime class. Changes one line, which holds what without_gate() restores.
/// Errors: kNotFound if it has no table of this runtime class; kInvalidArgument if that already has
/// another specification, or the file ends without a line break.
[[nodiscard]] Result<std::string> config_with_gate(const std::string& config,
                                                   const std::string& runtime_class,
                                                   const std::string& spec_file);
/// Undoes config_with_gate() byte for byte, for all runtime classes. Later changes of other lines
/// stay.
[[nodiscard]] std::string without_gate(const std::string& config);

/// What happens to one file.
struct FileEdit {
  std::string path;
  std::optional<std::string> before;  ///< nullopt: the file does not exist
  std::optional<std::string> after;

  friend bool operator==(const FileEdit&, const FileEdit&) = default;
};

/// Describes an edit: "creates 'PATH'", "removes 'PATH'", or "changes 'PATH'" and the lines that it
/// removes and adds. "" if it changes nothing.
[[nodiscard]] std::string describe_edit(const FileEdit& edit);

}  // namespace pinfold::tools
