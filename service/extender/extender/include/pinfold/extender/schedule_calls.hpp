#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "pinfold/cluster/sinks.hpp"
#include "pinfold/extender/extender_metrics.hpp"
#include "pinfold/predict/scoring_strategy.hpp"
#include "pinfold/web/http_server.hpp"

namespace pinfold::extender {

/// How long filter requests wait for pods in flight if only these decide the answer. After an
/// unsuccessful wait, none waits for a while: pods whose volumes take long, or that wait for the
/// rest of a gang, must not slow down all others. Thread-safe.
class Patience {
 public:
  Patience(std::chrono::milliseconds wait, std::chrono::milliseconds rest)
      : wait_(wait), rest_(rest) {}
  /// Returns until when a request that arrives at `now` waits.
  [[nodiscard]] kube::Time end(kube::Time now) const {
    return now < rests_until_.load() ? now : now + wait_;
  }
  void note_vain(kube::Time now) { rests_until_ = now + rest_; }

 private:
  std::chrono::milliseconds wait_;
  std::chrono::milliseconds rest_;
  std::atomic<kube::Time> rests_until_{kube::Time(0)};
};

/// What the calls of kube-scheduler need.
struct CallContext {
  cluster::SharedView* view = nullptr;
  ExtenderMetrics* metrics = nullptr;
  ScoringStrategy scoring = ScoringStrategy::kLeastNumaNodes;
  std::function<kube::Time()> clock;
  /// Returns why no answer is possible yet, or "".
  std::function<std::string()> not_ready;
  /// Returns how long the API server has been silent; 0 while that is normal.
  std::function<std::chrono::seconds()> silence;
  Patience* patience = nullptr;
};

/// Answers POST /filter, /prioritize and /preempt. Thread-safety: any number of calls at a time;
/// the context outlives them.
[[nodiscard]] web::HttpAnswer answer_call(const CallContext& context, const web::HttpCall& call);

}  // namespace pinfold::extender
