#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "pinfold/cluster/sinks.hpp"
#include "pinfold/extender/extender_metrics.hpp"
#include "pinfold/predict/scoring_strategy.hpp"
#include "pinfold/web/http_server.hpp"

namespace pinfold::extender {

/// What the calls of kube-scheduler need.
struct CallContext {
  cluster::SharedView* view = nullptr;
  ExtenderMetrics* metrics = nullptr;
  ScoringStrategy scoring = ScoringStrategy::kLeastNumaNodes;
  std::function<kube::Time()> clock;
  /// Returns why no answer is possible yet, or "".
  std::function<std::string()> not_ready;
  /// Returns how long the API server has not been heard; 0 while that is as usual.
  std::function<std::chrono::seconds()> silence;
  /// How long a filter request waits for pods in flight if they alone decide.
  std::chrono::milliseconds patience{200};
};

/// Answers POST /filter, /prioritize and /preempt. Thread-safety: any number of calls at a time;
/// the context outlives them.
[[nodiscard]] web::HttpAnswer answer_call(const CallContext& context, const web::HttpCall& call);

}  // namespace pinfold::extender
