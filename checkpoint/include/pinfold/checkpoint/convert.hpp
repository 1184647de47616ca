#pragma once

#include <string>
#include <vector>

#include "pinfold/checkpoint/start.hpp"

/// State files of one kubelet for another one, older ones included: what each version can hold and
/// what becomes of the rest is in docs/rollback.md. Pure functions; no file is touched.
namespace pinfold::checkpoint {

/// One fact about one object: a pod, a container ("POD/CONTAINER"), a file.
struct Note {
  std::string object;
  std::string text;

  friend bool operator==(const Note&, const Note&) = default;
};

/// A state whose pods hold nothing but through their containers, as kubelets without pod-level
/// reservations have it.
template <class State>
struct ContainersOnly {
  State state;
  std::vector<Note> lost;  ///< what such a kubelet cannot express, and what became of it
};

/// Every container keeps its CPUs; what a pod holds and no container of it does goes to the shared
/// pool.
[[nodiscard]] ContainersOnly<CpuCheckpoint> without_pod_entries(CpuCheckpoint state);

/// Every container keeps the nodes of its memory. The sizes of a pod's containers add up to at most
/// what the pod holds: memory that several of them share is counted with one of them, the others
/// keep a block of 0 bytes. The machine state follows.
[[nodiscard]] ContainersOnly<MemoryCheckpoint> without_pod_entries(MemoryCheckpoint state);

/// Versions of the two files; the same kubelet writes cpu-v2 with memory-v1, cpu-v3 with memory-v2,
/// cpu-v4 with memory-v3.
struct Formats {
  int cpu = 2;     ///< 1 to 4
  int memory = 1;  ///< 1 to 3

  friend bool operator==(const Formats&, const Formats&) = default;
};

/// "cpu-v3", "memory-v1", ...: the other file becomes what the same kubelet writes.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<Formats> parse_formats(std::string_view name);

struct Conversion {
  KubeletFiles files;
  std::vector<Note> kept;  ///< every assignment, as it stands now
  std::vector<Note> lost;
};

/// A file that does not exist stays so. `ids` is needed to read and to write CPU V1.
/// Errors: kCorrupt for a file that is of no version (repair() may save it); kNotFound for a
/// container of V1 without an id, or an id without a container.
[[nodiscard]] Result<Conversion> convert(const KubeletFiles& files, const Formats& to,
                                         const ContainerIds& ids);

/// Would a kubelet that writes these formats start from the files? Under `node`, whose gate
/// PodLevelResourceManagers should be off for CPU V1 and V2, and on for V3.
[[nodiscard]] tl::expected<void, StartError> would_start(const Node& node, const Formats& formats,
                                                         KubeletFiles files,
                                                         const ContainerIds& ids);

}  // namespace pinfold::checkpoint
