#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "pinfold/verbs/action.hpp"
#include "pinfold/verbs/answer.hpp"

namespace pinfold::verbs {

/// Executes any action. `source` is for Reconfigure. Errors: those of the action; of check_size.
[[nodiscard]] Result<Answer> execute(agent::NodeAgent& agent, const Action& action,
                                     const NodeSource& source = {});

/// Executes PreviewAdmit, which needs no agent of its own to change. Errors: those of
/// agent::NodeView::preview.
[[nodiscard]] Result<Admissions> preview(const agent::NodeAgent& agent,
                                         const PreviewAdmit& request);

/// Executes several Admit in one transaction. Each gets the answer that it would get after the ones
/// before it. If the transaction fails, runs each in its own. Returns one answer per request.
[[nodiscard]] std::vector<Result<Answer>> admit_together(agent::NodeAgent& agent,
                                                         const std::vector<const Admit*>& requests);

/// Returns the answer as the type that the action has. Errors: kInternal for another type.
template <class Expected>
[[nodiscard]] Result<Expected> expect(Result<Answer> answer) {
  PINFOLD_LET(auto value, std::move(answer));
  if (auto* const expected = std::get_if<Expected>(&value)) return std::move(*expected);
  return fail(ErrorCode::kInternal, "the answer is not of the request's kind");
}

}  // namespace pinfold::verbs
