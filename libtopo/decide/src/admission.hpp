#pragma once

#include "pinfold/decide/decision.hpp"
#include "pinfold/types/trace.hpp"
#include "tally.hpp"

namespace pinfold {

/// One admission in progress: changes the state step by step, as the kubelet does.
class AdmissionInProgress {
 public:
  /// Borrows everything; `trace` and `counts` may be nullptr. Domain: the pod is in state.pods.
  AdmissionInProgress(const Node& node, NodeState& state, const PodSpec& pod, Trace* trace,
                      Counts* counts, CpuRequestKind kind = CpuRequestKind::kAdmission)
      : node_(node),
        state_(state),
        pod_(pod),
        trace_(trace),
        tally_(node, state, pod_, counts),
        kind_(kind) {}

  Admission run();
  /// Gives one container the CPUs that it now requests; the others keep what they have. Domain: a
  /// resize.
  Admission resize(const std::string& name);
  /// Returns the hints of all providers so far.
  HintsByObject take_hints() { return std::move(hints_); }
  AmountsByObject take_amounts() { return std::move(amounts_); }
  /// Returns the step that failed, after a rejection.
  AdmissionStep take_failed_step() { return std::move(failed_); }

 private:
  Admission in_scope();
  /// Releases stale assignments, or notes that it is done later.
  void release_stale_first();
  Admission in_container_scope();
  Admission in_pod_scope();
  /// Allocates for all containers under one affinity, or under none (nullptr).
  Admission each_container(const TopologyHint* affinity);

  /// Returns the hints of all providers in the kubelet's order: devices, CPU, memory; then further
  /// ones.
  std::vector<ResourceHints> container_hints(const Container& container);
  std::vector<ResourceHints> pod_hints();
  /// Merges the hints for a container or (nullptr) the pod.
  MergedHint merge(const Container* container, std::vector<ResourceHints> hints);
  /// Adds how the hints were merged to the trace.
  void explain_merged(const Container* container, const std::string& object,
                      const std::vector<ResourceHints>& hints, const MergedHint& merged,
                      const UsageByResource& usage);
  /// With a trace: records once what an object needs, and what is free, held and reserved.
  void note_amounts(const Container* container, const std::string& object);
  /// Adds the recorded amounts of an object to the trace.
  void explain_amounts(const std::string& object);
  /// Returns a manager's rejection. Explains the amounts if no merge has done so.
  Admission reject_unmerged(const Container& container, const char* source, Admission rejection);

  /// Rejects because no affinity was found for a container or (nullptr) the pod.
  Admission reject(const Container* container);
  void store(const Container& container, const TopologyHint& affinity);

  Admission allocate(const Container& container, const TopologyHint& affinity);
  Admission allocate_pod(const TopologyHint& affinity);
  Admission allocate_in_providers(const Container& container, const TopologyHint& affinity);

  const Node& node_;
  NodeState& state_;
  const PodView pod_;
  Trace* trace_;
  Tally tally_;
  CpuRequestKind kind_;
  bool releases_stale_late_ = false;
  HintsByObject hints_;
  AmountsByObject amounts_;
  AdmissionStep failed_;
};

}  // namespace pinfold
