#pragma once

#include <string>
#include <vector>

#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/checkpoint/note.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/checkpoint/without_pod_entries.hpp"

/// Converts state files for a newer or older kubelet; docs/rollback.md says what each version can
/// hold and what happens to the rest. Pure functions; no file is touched.
namespace pinfold::checkpoint {

/// Parses "cpu-v3", "memory-v1", ...; the other file gets the format that the same kubelet writes.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<Formats> parse_formats(std::string_view name);

struct Conversion {
  KubeletFiles files;
  std::vector<Note> kept;  ///< every assignment in the result
  std::vector<Note> lost;
};

/// The CPUs that resizes must not take, which formats before CPU V4 do not store.
struct KnownBaselines {
  ContainerMap<CpuSet> baselines = {};
  bool is_needed = false;  ///< the kubelet needs one for each container; default: all its CPUs
};

/// Converts both files; a missing file stays missing. Formats without pod entries lose them. `ids`
/// is needed to read and write CPU V1.
/// Errors: kCorrupt for a file of no known version (try repair()); kNotFound if, with CPU V1, a
/// container has no id or an id has no container.
[[nodiscard]] Result<Conversion> convert(const KubeletFiles& files, const Formats& to,
                                         const ContainerIds& ids);
/// Converts both files for a kubelet. With the gate off the result has no pod entries in any
/// format: the kubelet would ignore them and then reject the machine state that counts them. In CPU
/// V4 it has the known baselines of its assignments.
[[nodiscard]] Result<Conversion> convert_for(const Kubelet& to, const KubeletFiles& files,
                                             const ContainerIds& ids,
                                             const KnownBaselines& known = {});

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
