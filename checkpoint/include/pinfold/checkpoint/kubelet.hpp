#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/decide/node.hpp"

/// Which kubelet writes and reads which state files, and what it has after reading one.
namespace pinfold::checkpoint {

/// Versions of the two files; the same kubelet writes cpu-v2 with memory-v1, cpu-v3 with memory-v2,
/// cpu-v4 with memory-v3.
struct Formats {
  int cpu = 2;     ///< 1 to 4
  int memory = 1;  ///< 1 to 3

  friend bool operator==(const Formats&, const Formats&) = default;
};

struct KubeletFormats {
  Kubelet kubelet;
  Formats writes;
  std::span<const int> reads_cpu;  ///< versions, in the order of its attempts
  std::span<const int> reads_memory;
};

/// The known kubelets, oldest first, each with the gate off and then, if it has the gate, on.
/// Source: kubernetes v1.35 and v1.36.2, and pull requests 139102, 139087 and 139626 for 1.37.
[[nodiscard]] std::span<const KubeletFormats> kubelets();

/// Domain: one of kubelets().
[[nodiscard]] const KubeletFormats& formats_of(const Kubelet& kubelet);

/// "1.37, gate on"
[[nodiscard]] std::string to_string(const Kubelet& kubelet);

/// The profile with the decisions of a kubelet. 1.35 has none of its own: it decides as 1.36 does.
[[nodiscard]] Profile profile_of(const Kubelet& kubelet);
/// The kubelet whose files `node` writes: that of its profile. `fixed` writes as 1.36 does, because
/// later kubelets read these files too.
[[nodiscard]] Kubelet kubelet_of(const Node& node);
/// The kubelet as which `node` reads a file.
/// DEVIATION: `fixed` reads every file as the latest kubelet that wrote such files.
[[nodiscard]] Kubelet reader_of(const Node& node, std::string_view bytes);

/// What a kubelet makes of one state file.
template <class State>
struct Reading {
  /// Why it does not read the file, in its words; for a crash the text of the panic. "": it reads.
  std::string error;
  bool is_crash = false;
  /// Why it reads the file and does not start nevertheless, on a machine with the CPUs and NUMA
  /// nodes of the file. "": no reason in the file.
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

/// The bytes that `kubelet` writes for a state that it can have: without pod entries if the gate
/// is off (see without_pod_entries).
[[nodiscard]] std::string write_cpu(const CpuCheckpoint& state, std::string_view policy,
                                    const Kubelet& kubelet);
[[nodiscard]] std::string write_memory(const MemoryCheckpoint& state, std::string_view policy,
                                       const Kubelet& kubelet);

}  // namespace pinfold::checkpoint
