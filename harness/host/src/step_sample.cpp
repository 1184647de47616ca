#include <fmt/format.h>

#include "cgroup_paths.hpp"
#include "step_result.hpp"
#include "step_runner.hpp"

/// The sampler: no exclusive CPU is ever in another container, not even for a moment.
namespace pinfold::harness {

VmResult<StepResult> StepRunner::act(const StartSamplingStep&) {
  exclusive_.clear();
  const auto reply = ask({{"op", "sample"},
                          {"root", product_root(cgroup_mode())},
                          {"file", effective_file(cgroup_mode(), "cpus")}});
  if (!reply) return tl::unexpected(reply.error());
  sampling_ = reply->value("ok", false);
  return as_result(*reply);
}

VmResult<void> StepRunner::note_exclusive(StepResult& result) {
  std::string problem;
  const auto containers = decided(problem);
  if (!containers) return tl::unexpected(containers.error());
  if (!problem.empty() && result.good) result = bad(problem);
  const std::string root = product_root(cgroup_mode()) + "/";
  for (const DecidedContainer& container : *containers) {
    const auto cpus = CpuSet::parse(container.cpus);
    if (container.isolation != "container" || !cpus || !container.cgroup.starts_with(root))
      continue;
    exclusive_[container.cgroup.substr(root.size())] |= *cpus;
  }
  return {};
}

VmResult<StepResult> StepRunner::act(const StopSamplingStep& step) {
  sampling_ = false;
  const auto reply = ask({{"op", "samples"}});
  if (!reply) return tl::unexpected(reply.error());
  StepResult result = as_result(*reply);
  if (!result.good) return result;
  const auto looks = reply->value("looks", std::uint64_t{0});
  const Json states = reply->value("states", Json::array());
  result.checks.push_back({"looks of the sampler", fmt::format("at least {}", step.at_least),
                           std::to_string(looks), looks >= step.at_least});
  result.checks.push_back({"every state was kept", "true",
                           reply->value("overflow", true) ? "false" : "true",
                           !reply->value("overflow", true)});
  const auto overlaps = overlaps_seen(states, exclusive_);
  std::string first = overlaps.empty() ? "" : overlaps.front();
  if (overlaps.size() > 1) first += fmt::format(", and {} more", overlaps.size() - 1);
  result.checks.push_back(
      {fmt::format("exclusive CPUs of {} containers seen in others, in {} states",
                   exclusive_.size(), states.size()),
       "", first, overlaps.empty()});
  return concluded(std::move(result));
}

}  // namespace pinfold::harness
