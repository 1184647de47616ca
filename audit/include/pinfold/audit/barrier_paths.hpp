#pragma once

/// Where `pinfold barrier install` writes, unless its options say otherwise: docs/barrier.md.
namespace pinfold::audit {

inline constexpr const char* kContainerdConfig = "/etc/containerd/config.toml";
/// The OCI specification that containerd starts from.
inline constexpr const char* kGateSpec = "/etc/containerd/pinfold-gate.json";
/// The hooks directory of CRI-O and podman.
inline constexpr const char* kHooksDirectory = "/usr/share/containers/oci/hooks.d";
/// Sorts after Pinfold's own hook, which admits the containers of podman.
inline constexpr const char* kGateHookFile = "zz-pinfold-gate.json";

}  // namespace pinfold::audit
