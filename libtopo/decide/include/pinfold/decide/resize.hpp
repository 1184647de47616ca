#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "pinfold/decide/decide.hpp"
#include "pinfold/types/quantity.hpp"

/// Changes the number of exclusive CPUs of a running container (KEP-5554).
namespace pinfold {

struct ResizeRequest {
  ContainerId container;
  Quantity cpu;  ///< its new request and limit
};

/// Why a resize is not done: the reasons of the kubelet's condition PodResizePending.
enum class ResizeReason {
  kDeferred,    ///< it may succeed once other pods have ended
  kInfeasible,  ///< the kubelet does not try it again
};
[[nodiscard]] std::string_view to_string(ResizeReason reason);

struct Resized {
  NodeState next;
  CpuSet before;
  CpuSet after;  ///< equal to `before` if it had as many CPUs already
};

/// A result, not an error: nothing changes.
struct NotResized {
  ResizeReason reason = ResizeReason::kInfeasible;
  Rejection why;       ///< in the kubelet's words where it has some
  std::string advice;  ///< what to do, with numbers; "" if the message is enough
};

/// Returns "Infeasible: <message>; <advice>".
[[nodiscard]] std::string describe(const NotResized& refused);

using ResizeDecision = std::variant<Resized, NotResized>;

/// Returns whether a kubelet with this configuration resizes containers with exclusive CPUs: none
/// before 1.38, later ones with InPlacePodVerticalScalingExclusiveCPUs. With `fixed` it is on
/// unless that gate is off.
[[nodiscard]] bool resizes_exclusive_cpus(const Config& config);

/// Decides whether the number of a container's exclusive CPUs can change. It keeps the CPUs of its
/// admission in any case and, when it grows, all of its current CPUs. Hints and policies apply as
/// to an admission. Pure. Domain: as decide().
/// Errors: kNotFound for a container of no active pod; kInvalidArgument for 0 CPUs or less.
/// Source: KEP-5554 and the code proposed for 1.38 (kubernetes#140629); docs/kubelet-compat.md.
[[nodiscard]] Result<ResizeDecision> resize(const Node& node, NodeState state,
                                            const ResizeRequest& request, Trace* trace = nullptr,
                                            AdmissionChecks checks = AdmissionChecks::kManagers);

/// Returns the number of CPUs that the container can have now instead of the rejected one: the
/// nearest between its present number and the request, else the nearest beyond the request; nullopt
/// if there is none within 64 of it. Pure. Cost: one decision for each number.
[[nodiscard]] std::optional<std::int64_t> nearest_resize(const Node& node, const NodeState& state,
                                                         const ResizeRequest& refused);

/// Adds that number to the advice, unless the advice says what to request. Domain: as
/// nearest_resize; no CPU is offline, because the decision does not know about that.
void advise_nearest(const Node& node, const NodeState& state, const ResizeRequest& request,
                    NotResized& refused);

}  // namespace pinfold
