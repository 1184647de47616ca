#include "simple_pinning.hpp"

#include <cstdint>

namespace simple_pinning {
namespace {

/// Returns how many exclusive CPUs a container has.
std::size_t exclusive_count(const api::Container& container) {
  const api::LinuxCPU& cpu = container.linux().resources().cpu();
  const std::int64_t quota = cpu.quota().value();
  const auto period = static_cast<std::int64_t>(cpu.period().value());
  return quota > 0 && period > 0 && quota % period == 0 ? static_cast<std::size_t>(quota / period)
                                                        : 0;
}

}  // namespace

CpuSet SimplePinning::shared() const {
  CpuSet left = all_;
  for (const auto& [name, pinned] : containers_) left -= pinned.cpus;
  return left;
}

void SimplePinning::synchronize(const api::SynchronizeRequest& request) {
  for (const api::Container& container : request.containers()) {
    const auto on_record = CpuSet::parse(container.linux().resources().cpu().cpus());
    const std::size_t count = exclusive_count(container);
    const bool is_pinned = on_record && count > 0 && on_record->size() == count;
    containers_[{container.pod_sandbox_id(), container.name()}] = {
        container.id(), is_pinned ? *on_record : CpuSet()};
  }
}

pinfold::Result<api::CreateContainerResponse> SimplePinning::create(
    const api::CreateContainerRequest& request) {
  const api::Container& container = request.container();
  const Name name{container.pod_sandbox_id(), container.name()};
  CpuSet cpus = containers_[name].cpus;
  const std::size_t count = exclusive_count(container);
  if (cpus.size() != count) {
    cpus = {};
    CpuSet free = shared();
    free -= reserved_;
    if (free.size() < count) {
      containers_.erase(name);
      return pinfold::fail(pinfold::ErrorCode::kNotFound, "too few CPUs are free");
    }
    while (cpus.size() < count) {
      cpus |= CpuSet::of(free.first());
      free -= cpus;
    }
  }
  containers_[name] = {container.id(), cpus};
  api::CreateContainerResponse answer;
  answer.mutable_adjust()->mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus(
      cpus.empty() ? shared().to_string() : cpus.to_string());
  if (!cpus.empty()) update_others(name, answer);
  return answer;
}

api::StopContainerResponse SimplePinning::end(const api::StopContainerRequest& request) {
  const Name name{request.container().pod_sandbox_id(), request.container().name()};
  containers_.erase(name);
  api::StopContainerResponse answer;
  update_others(name, answer);
  return answer;
}

/// Gives the remaining CPUs to all containers that share.
template <class Answer>
void SimplePinning::update_others(const Name& except, Answer& answer) const {
  for (const auto& [name, pinned] : containers_) {
    if (name == except || !pinned.cpus.empty()) continue;
    api::ContainerUpdate& update = *answer.add_update();
    update.set_container_id(pinned.id);
    update.mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus(shared().to_string());
  }
}

}  // namespace simple_pinning
