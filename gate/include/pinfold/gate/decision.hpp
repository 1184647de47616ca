#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "pinfold/gate/container.hpp"
#include "pinfold/gate/cpus.hpp"

namespace pinfold::gate {

/// The name of a container in the state.
struct StateName {
  std::string_view prefix;  ///< of the pod's uid
  std::string_view uid;     ///< of the pod, or the container's id behind "oci-"
  std::string_view name;

  /// Returns whether a pod has this uid, where "." stands for a "+" in a container's id.
  [[nodiscard]] bool is_pod(std::string_view pod_uid) const;
};

/// Returns the name in the state of a container that Pinfold's NRI plugin or OCI hook admitted.
[[nodiscard]] StateName owner_of(const HookedContainer& container);

/// What was decided for one container, and for the others.
struct DecidedCpus {
  bool is_static = false;  ///< the CPU manager gives exclusive CPUs
  CpuBits own;             ///< CPUs of the container or its pod; empty: it is shared or unknown
  CpuBits others;          ///< exclusive to other containers

  friend bool operator==(const DecidedCpus&, const DecidedCpus&) = default;
};

/// Parses a kubelet's CPU state file, V2 to V4. Changes `file`, whose escapes it removes.
/// Returns nullopt for any other text. The checksum is not checked.
[[nodiscard]] std::optional<DecidedCpus> parse_cpu_state(std::span<char> file,
                                                         const StateName& owner);

/// Reads the snapshot of a state directory, which another process may be writing. `buffer` must
/// have room for the CPU state file. `boot_id` is that of the running machine.
/// Domain: `bytes` is aligned to 8 bytes.
/// Returns nullopt if the snapshot is of another boot or version, damaged, too large for the
/// buffer, or changed a hundred times during the read.
[[nodiscard]] std::optional<DecidedCpus> read_decision(std::span<const std::byte> bytes,
                                                       std::string_view boot_id,
                                                       const StateName& owner,
                                                       std::span<char> buffer);

/// A container as observed in the kernel.
struct ShownCpus {
  CpuBits effective;            ///< CPUs on which its group can run; empty: unknown
  bool asks_exclusive = false;  ///< its resources, or annotations, ask for exclusive CPUs
};

/// Returns whether the kernel agrees with the decision. `decision`: nullopt if none can be read.
[[nodiscard]] bool is_placed(const std::optional<DecidedCpus>& decision, const ShownCpus& observed);

/// Returns the CPUs on which an unplaced container disturbs no other; empty if there are none, or
/// if none are known because there is no decision.
[[nodiscard]] CpuBits confinement(const std::optional<DecidedCpus>& decision,
                                  const CpuBits& effective);

}  // namespace pinfold::gate
