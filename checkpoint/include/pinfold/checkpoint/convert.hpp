#pragma once

#include <string>
#include <vector>

#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/checkpoint/start.hpp"

/// Converts state files for a newer or older kubelet; docs/rollback.md says what each version can
/// hold and what happens to the rest. Pure functions; no file is touched.
namespace pinfold::checkpoint {

/// One fact about an object: a pod, a container ("POD/CONTAINER") or a file.
struct Note {
  std::string object;
  std::string text;

  friend bool operator==(const Note&, const Note&) = default;
};

/// A state without pod-level reservations, for kubelets that do not know them.
template <class State>
struct ContainersOnly {
  State state;
  std::vector<Note> lost;  ///< what such a kubelet cannot express, and how it is kept
};

/// Removes the pod entries. Every container keeps its CPUs; CPUs of a pod that none of its
/// containers holds return to the shared pool.
[[nodiscard]] ContainersOnly<CpuCheckpoint> without_pod_entries(CpuCheckpoint state);

/// Removes the pod entries. Every container keeps the NUMA nodes of its memory. The sizes of a
/// pod's containers add up to at most the pod's size: memory that several containers share is
/// counted for one of them, and the others keep a block of 0 bytes. The machine state is adjusted.
[[nodiscard]] ContainersOnly<MemoryCheckpoint> without_pod_entries(MemoryCheckpoint state);

/// Parses "cpu-v3", "memory-v1", ...; the other file gets the format that the same kubelet writes.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<Formats> parse_formats(std::string_view name);

struct Conversion {
  KubeletFiles files;
  std::vector<Note> kept;  ///< every assignment in the result
  std::vector<Note> lost;
};

/// Converts both files; a missing file stays missing. Formats without pod entries lose them. `ids`
/// is needed to read and write CPU V1.
/// Errors: kCorrupt for a file of no known version (try repair()); kNotFound if, with CPU V1, a
/// container has no id or an id has no container.
[[nodiscard]] Result<Conversion> convert(const KubeletFiles& files, const Formats& to,
                                         const ContainerIds& ids);
/// Converts both files for a kubelet. With the gate off the result has no pod entries in any
/// format: the kubelet would ignore them and then reject the machine state that counts them.
[[nodiscard]] Result<Conversion> convert_for(const Kubelet& to, const KubeletFiles& files,
                                             const ContainerIds& ids);

/// Checks whether `kubelet` would start from the files on `node`.
/// Domain: the gate PodLevelResourceManagers of `node` is that of `kubelet`.
[[nodiscard]] tl::expected<void, StartError> would_start_as(const Kubelet& kubelet,
                                                            const Node& node,
                                                            const KubeletFiles& files,
                                                            const ContainerIds& ids);

/// Returns the pods that a kubelet with this configuration would reject when it starts and admits
/// its pods again, because they and the earlier pods request more than is allocatable.
[[nodiscard]] std::vector<Note> pods_without_room(const Node& node,
                                                  const std::vector<PodSpec>& pods);

}  // namespace pinfold::checkpoint
