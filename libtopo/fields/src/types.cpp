#include "pinfold/fields/types.hpp"

#include <array>
#include <limits>

namespace pinfold {

using fields::Fields;

std::span<const ErrorCode> enumerators(ErrorCode /*type*/) {
  static constexpr std::array kAll = {
      ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kCorrupt, ErrorCode::kIo,
      ErrorCode::kUnsupported,     ErrorCode::kInternal, ErrorCode::kBusy};
  return kAll;
}

void describe(Fields& fields, Error& error) {
  fields.type("Error", "A failure.");
  fields.member("code", error.code, "The kind of failure; branch on it.");
  fields.may_lack("errno", fields::up_to(error.sys_errno, std::numeric_limits<int>::max()),
                  "Of the system call that failed; 0: none.");
  fields.member("message", error.message, "For people; the intent first.");
}

void describe(Fields& fields, Rejection& rejection) {
  fields.type("Rejection", "Why a pod is rejected, in the kubelet's words.");
  fields.member("reason", rejection.reason, "\"TopologyAffinityError\", \"OutOfcpu\" ...");
  fields.member("message", rejection.message, "The kubelet's message.");
  fields.member("cause", rejection.cause, "The message without the kubelet's wrapping.");
}

void describe(Fields& fields, TraceFact& fact) {
  fields.type("TraceFact", "One fact of a decision.");
  fields.member("source", fact.source,
                "\"cpu\", \"memory\", \"devices\", \"topology\", \"quota\" or \"state\".");
  fields.member("object", fact.object, "\"pod\" or the container's name.");
  fields.member("text", fact.text, "One sentence.");
}

void describe_value(Fields& fields, Trace& trace) { fields::visit(fields, trace.facts); }
void describe_value(Fields& fields, PodUid& uid) { fields.text(uid.value); }

void describe(Fields& fields, PodRef& pod) {
  fields.type("PodRef", "A pod. Namespace and name are \"\" if only the UID is known.");
  fields.member("uid", pod.uid, "metadata.uid.");
  fields.member("namespace", pod.namespace_name, "metadata.namespace.");
  fields.member("name", pod.name, "metadata.name.");
}

void describe(Fields& fields, ContainerRef& container) {
  fields.type("ContainerRef", "A container of a pod.");
  fields.member("pod", container.pod, "Its pod.");
  fields.member("container", container.container, "Its name.");
}

}  // namespace pinfold
