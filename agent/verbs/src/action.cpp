#include "pinfold/verbs/action.hpp"

#include <fmt/format.h>

namespace pinfold::verbs {

namespace {

struct CanChange {
  bool operator()(const CheckpointJournal& /*action*/) const { return false; }
  bool operator()(const ReadComparison& /*action*/) const { return false; }
  bool operator()(const ReadService& /*action*/) const { return false; }
  bool operator()(const ReadStatus& /*action*/) const { return false; }
  bool operator()(const ListPods& /*action*/) const { return false; }
  bool operator()(const PreviewAdmit& /*action*/) const { return false; }
  bool operator()(const Reconfigure& action) const { return !action.dry_run; }
  bool operator()(const Defragment& action) const { return !action.dry_run; }
  template <class Other>
  bool operator()(const Other& /*action*/) const {
    return true;
  }
};

}  // namespace

bool can_change(const Action& action) { return std::visit(CanChange{}, action); }

Result<void> check_size(const std::vector<PodSpec>& pods) {
  const auto check = [](std::size_t count, const char* what, std::size_t most) -> Result<void> {
    if (count <= most) return {};
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} {} in one request: expected at most {}", count, what, most));
  };
  std::size_t containers = 0;
  for (const PodSpec& pod : pods) containers += pod.containers.size();
  PINFOLD_TRY(check(pods.size(), "pods", kMostPods));
  return check(containers, "containers", kMostContainers);
}

Result<void> check_size(const Action& action) {
  if (const auto* const admit = std::get_if<Admit>(&action)) return check_size(admit->pods);
  if (const auto* const preview = std::get_if<PreviewAdmit>(&action))
    return check_size(preview->pods);
  if (const auto* const hooked = std::get_if<AdmitHooked>(&action)) {
    return check_size(std::vector{hooked->pod});
  }
  if (const auto* const hooked = std::get_if<PrepareHooked>(&action)) {
    return check_size(std::vector{hooked->pod});
  }
  if (const auto* const room = std::get_if<Defragment>(&action)) {
    return check_size(std::vector{room->pod});
  }
  return {};
}

}  // namespace pinfold::verbs
