#include "pinfold/agent/measured_steps.hpp"

namespace pinfold::agent {

using enforce::Step;

void StepMeter::watch(const Step& step, StepMoment moment) {
  if (step.group.is_pod()) return;
  if (step.kind == Step::Kind::kCpus && moment == StepMoment::kAfter) set_cpus(step);
  if (step.kind == Step::Kind::kMems) set_mems(step, moment);
}

void StepMeter::set_cpus(const Step& step) {
  const ContainerId id = step.group.id();
  if (const auto since = parked_since_.find(id); since != parked_since_.end()) {
    of(id).parked = now_() - since->second;
    parked_since_.erase(since);
    return;
  }
  const auto target = desired_.layout.find(step.group);
  if (target == desired_.layout.end() || target->second.cpus.empty()) return;
  if (!step.set.intersects(target->second.cpus)) parked_since_.emplace(id, now_());
}

/// Counts the pages outside of the measured time, because counting can take long.
void StepMeter::set_mems(const Step& step, StepMoment moment) {
  const ContainerId id = step.group.id();
  if (moment == StepMoment::kBefore) {
    pages_before_ = pages_(id);
    mems_begin_ = now_();
    return;
  }
  MeasuredContainer& measured = of(id);
  measured.moving_pages = now_() - mems_begin_;
  measured.bytes_moved = enforce::moved_bytes(pages_before_, pages_(id));
}

MeasuredContainer& StepMeter::of(const ContainerId& id) {
  MeasuredContainer& measured = results_[id];
  measured.id = id;
  return measured;
}

std::vector<MeasuredContainer> StepMeter::results() const {
  std::vector<MeasuredContainer> all;
  all.reserve(results_.size());
  for (const auto& [id, measured] : results_) all.push_back(measured);
  return all;
}

}  // namespace pinfold::agent
