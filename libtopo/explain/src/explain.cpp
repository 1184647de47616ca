#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "admitted.hpp"
#include "pinfold/explain/explanation.hpp"
#include "summary.hpp"
#include "table.hpp"
#include "words.hpp"

namespace pinfold {

using explain_detail::Failure;

namespace {

Explanation of_rejection(const Failure& failure, Trace trace) {
  Explanation out;
  out.pod = failure.pod;
  out.rejection = failure.why;
  out.summary = explain_detail::summarize(failure);
  out.trace = std::move(trace);
  out.table = explain_detail::occupied(failure);
  out.remedies = find_remedies(failure.node, failure.state, failure.pod);
  const NodeState empty = empty_state(failure.node);
  if (const auto alone = explain_detail::find_failure(failure.node, empty, failure.pod, nullptr)) {
    out.limit = explain_detail::summarize_limit(failure, *alone);
  }
  return out;
}

}  // namespace

Explanation explain(const Node& node, const NodeState& state, const PodSpec& pod) {
  const NodeState settled = release_stale(node, state);
  Trace trace;
  if (const auto failure = explain_detail::find_failure(node, settled, pod, &trace)) {
    return of_rejection(*failure, std::move(trace));
  }
  return explain_detail::of_admission(node, settled, pod);
}

Result<Explanation> explain_active(const Node& node, const NodeState& state, const PodUid& uid) {
  const ActivePod* const pod = state.find(uid);
  if (pod == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("pod '{}' is not active on this node", uid));
  }
  return explain_detail::of_active_pod(node, state, *pod);
}

}  // namespace pinfold
