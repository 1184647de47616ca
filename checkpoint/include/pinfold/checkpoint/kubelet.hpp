#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/decide/node.hpp"

/// Which kubelet writes and reads which state files, and what state it has after reading one.
namespace pinfold::checkpoint {

/// Versions of the two files; the same kubelet writes cpu-v2 with memory-v1, cpu-v3 with memory-v2,
/// and cpu-v4 with memory-v3.
struct Formats {
  int cpu = 2;     ///< 1 to 4
  int memory = 1;  ///< 1 to 3

  friend bool operator==(const Formats&, const Formats&) = default;
};

struct KubeletFormats {
  Kubelet kubelet;
  Formats writes;
  std::span<const int> reads_cpu;  ///< versions, in the order in which it tries them
  std::span<const int> reads_memory;
};

/// The known kubelets, oldest first; each with the gate off and then, if it has the gate, on.
/// Source: kubernetes v1.35 and v1.36.2, and pull requests 139102, 139087 and 139626 for 1.37.
[[nodiscard]] std::span<const KubeletFormats> kubelets();

/// Returns the formats of a kubelet. Domain: one of kubelets().
[[nodiscard]] const KubeletFormats& formats_of(const Kubelet& kubelet);

/// Returns the formats as the encoders name them. Domain: those that a kubelet writes.
[[nodiscard]] CpuFormat cpu_format(const Formats& formats);
[[nodiscard]] MemoryFormat memory_format(const Formats& formats);

/// Returns "1.37, gate on".
[[nodiscard]] std::string to_string(const Kubelet& kubelet);

/// Returns the profile that decides like a kubelet. 1.35 has no profile of its own: it decides like
/// 1.36.
[[nodiscard]] Profile profile_of(const Kubelet& kubelet);
/// Returns the kubelet whose files `node` writes: that of its profile. `fixed` writes like 1.36,
/// because later kubelets can read these files too.
[[nodiscard]] Kubelet kubelet_of(const Node& node);
/// Returns the kubelet that `node` imitates when it reads a file.
/// DIFFERENCE: `fixed` reads every file as the latest kubelet that wrote such files.
[[nodiscard]] Kubelet reader_of(const Node& node, std::string_view bytes);

/// The outcome of a kubelet reading one state file.
template <class State>
struct Reading {
  /// The kubelet's error if it cannot read the file; for a crash the text of the panic. "" if it
  /// can.
  std::string error;
  bool is_crash = false;
  /// Why it does not start even though it reads the file, on a machine with the CPUs and NUMA nodes
  /// of the file. "": the file gives no reason.
  std::string start_error;
  std::string policy;  ///< the one in the file
  State state;
  /// `state` as JSON, with the nulls that State cannot hold: {"defaultCpuSet", "entries",
  /// "podEntries"} with CPU lists, or {"machineState", "entries", "podEntries"}. "" after an error.
  std::string json;

  [[nodiscard]] bool reads() const { return error.empty(); }
  [[nodiscard]] bool starts() const { return error.empty() && start_error.empty(); }
};

/// Reads a file as `kubelet` does when it starts. `policy`: the configured one; nullopt: any.
/// Source: conformance vectors of kubelets 1.36 and 1.37.
[[nodiscard]] Reading<CpuCheckpoint> read_cpu(std::string_view bytes, const Kubelet& kubelet,
                                              std::optional<std::string_view> policy,
                                              const ContainerIds& ids);
[[nodiscard]] Reading<MemoryCheckpoint> read_memory(std::string_view bytes, const Kubelet& kubelet,
                                                    std::optional<std::string_view> policy);

/// Returns the bytes that `kubelet` writes for a state that it can hold: without pod entries if the
/// gate is off (see without_pod_entries).
[[nodiscard]] std::string write_cpu(const CpuCheckpoint& state, std::string_view policy,
                                    const Kubelet& kubelet);
[[nodiscard]] std::string write_memory(const MemoryCheckpoint& state, std::string_view policy,
                                       const Kubelet& kubelet);

}  // namespace pinfold::checkpoint
