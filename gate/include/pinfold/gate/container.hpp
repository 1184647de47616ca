#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pinfold::gate {

/// What happens to an unplaced container, from the mildest to the strictest.
enum class Unplaced {
  kAllow,    ///< it runs where it is
  kConfine,  ///< it runs in the shared pool
  kRefuse,   ///< it does not run
};

/// Parses "allow", "confine" or "refuse".
[[nodiscard]] std::optional<Unplaced> parse_unplaced(std::string_view word);

/// A container, as its runtime describes it to an OCI hook. Texts are parts of the state, with the
/// escapes of JSON.
struct HookedContainer {
  std::int64_t pid = 0;
  std::string_view id;
  std::string_view uid;         ///< of the pod; "": not of Kubernetes
  std::string_view name_space;  ///< of the pod
  std::string_view pod;
  std::string_view name;
  std::string_view type;  ///< "sandbox" or "container"
  /// The annotations of containerd and of CRI-O say different things, so one of them is not the
  /// runtime's: CRI-O passes on those that the author of a pod has written.
  bool is_contradictory = false;
  bool is_hooked = false;        ///< has an annotation io.pinfold.*
  std::string_view hooked_name;  ///< the annotation io.pinfold.container
  bool has_pod_file = false;
  std::string_view cpu;     ///< the annotation io.pinfold.cpu
  std::string_view memory;  ///< the annotation io.pinfold.memory
  /// The annotation pinfold.io/unplaced; an unknown word is kRefuse.
  std::optional<Unplaced> unplaced;

  [[nodiscard]] bool is_sandbox() const { return type == "sandbox"; }
};

/// Parses the state that an OCI hook gets on its standard input. Returns nullopt if it is not a
/// JSON object or has no pid.
/// Source: OCI runtime specification 1.0, "State"; the annotations of containerd and CRI-O.
[[nodiscard]] std::optional<HookedContainer> parse_state(std::string_view state);

/// Returns whether the annotations io.pinfold.* of a container ask for exclusive CPUs: a whole
/// number, and memory.
[[nodiscard]] bool asks_exclusive(const HookedContainer& container);

}  // namespace pinfold::gate
