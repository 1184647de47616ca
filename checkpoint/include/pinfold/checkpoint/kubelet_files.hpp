#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/memory/memory_manager.hpp"

/// Encodes and decodes the kubelet's two state files. Pure functions; no file is touched. Formats:
/// docs/checkpoint-format.md.
namespace pinfold::checkpoint {

inline constexpr std::string_view kCpuFileName = "cpu_manager_state";
inline constexpr std::string_view kMemoryFileName = "memory_manager_state";
inline constexpr std::string_view kKubeletDir = "/var/lib/kubelet";

/// Containers by their runtime ids, which CPU V1 uses.
using ContainerIds = std::map<std::string, ContainerId>;

/// The formats that can be written for any state.
enum class CpuFormat { kV2, kV3, kV4 };
enum class MemoryFormat { kV1, kV2, kV3 };

/// Returns the bytes that the kubelet would write. CPU V2 and memory V1 omit pod-level entries.
/// `policy` is the kubelet's name for it: "none", "static"; "None", "Static".
/// Source: conformance vectors of kubelet v1.36.2; for CPU V4 and memory V3 those of 1.37, from
/// kubernetes#139102, #139087 and #139626.
[[nodiscard]] std::string encode_cpu(const CpuCheckpoint& state, std::string_view policy,
                                     CpuFormat format);
[[nodiscard]] std::string encode_memory(const MemoryCheckpoint& state, std::string_view policy,
                                        MemoryFormat format);

/// Encodes as kubelet 1.36 does: CPU V3 and memory V2 with the gate PodLevelResourceManagers on;
/// CPU V2 and memory V1 with it off.
[[nodiscard]] std::string encode_cpu(const CpuCheckpoint& state, std::string_view policy,
                                     bool pod_level_gate);
[[nodiscard]] std::string encode_memory(const MemoryCheckpoint& state, std::string_view policy,
                                        bool pod_level_gate);

/// Encodes CPU V1, which names containers by their runtime ids.
/// Errors: kNotFound for a container without an id.
[[nodiscard]] Result<std::string> encode_cpu_v1(const CpuCheckpoint& state, std::string_view policy,
                                                const ContainerIds& ids);

/// The properties of a kubelet that its state files depend on: docs/checkpoint-format.md.
struct Kubelet {
  int minor = 36;               ///< of version 1.MINOR
  bool pod_level_gate = false;  ///< its feature gate PodLevelResourceManagers

  friend bool operator==(const Kubelet&, const Kubelet&) = default;
};

/// Reads a state file as a kubelet does when it starts: tries one format after the other and
/// returns the error of the last attempt. Does not compare with the machine; CpuManager::start and
/// MemoryManager::start do that.
/// Domain:  `kubelet` is one of kubelets() (kubelet.hpp).
/// `policy`: the configured one; nullopt: any.
/// Returns: nullopt if there is no file (`bytes` is nullopt): start from an empty state.
/// Errors:  kCorrupt, with the kubelet's complete text ("could not restore state from checkpoint:
///          ..., please drain this node and delete ..."), naming the file below `state_dir`.
/// Source:  conformance vectors of kubelet v1.36.2, groups checkpoint-legacy and restart-*, and of
///          kubelet 1.37, groups cpu-read and memory-read; for 1.35 its source.
[[nodiscard]] Result<std::optional<CpuCheckpoint>> restore_cpu(
    std::optional<std::string_view> bytes, std::optional<std::string_view> policy,
    const Kubelet& kubelet, const ContainerIds& ids, std::string_view state_dir = kKubeletDir);
[[nodiscard]] Result<std::optional<MemoryCheckpoint>> restore_memory(
    std::optional<std::string_view> bytes, std::optional<std::string_view> policy,
    const Kubelet& kubelet, std::string_view state_dir = kKubeletDir);

/// Reads as kubelet 1.36 does.
[[nodiscard]] Result<std::optional<CpuCheckpoint>> restore_cpu(
    std::optional<std::string_view> bytes, std::optional<std::string_view> policy,
    bool pod_level_gate, const ContainerIds& ids, std::string_view state_dir = kKubeletDir);
[[nodiscard]] Result<std::optional<MemoryCheckpoint>> restore_memory(
    std::optional<std::string_view> bytes, std::optional<std::string_view> policy,
    bool pod_level_gate, std::string_view state_dir = kKubeletDir);

}  // namespace pinfold::checkpoint
