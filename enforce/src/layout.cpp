#include "pinfold/enforce/layout.hpp"

#include <fmt/format.h>

#include <ostream>

#include "pinfold/api/pod.hpp"

namespace pinfold::enforce {
namespace {

constexpr std::string_view kPodPrefix = "pod";

}  // namespace

Result<std::string> relative_path(const GroupName& name) {
  // A uid that is a safe name by itself is also safe behind the prefix.
  if (!is_safe_name(name.pod.value)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("pod uid '{}' cannot name a control group: expected letters, digits, "
                            "'.', '_', '-' and '+', the first a letter or digit",
                            name.pod));
  }
  if (name.is_pod()) return to_string(name);
  if (!is_safe_name(name.container)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("container '{}' of pod '{}' cannot name a control group: expected "
                            "letters, digits, '.', '_', '-' and '+', the first a letter or digit",
                            name.container, name.pod));
  }
  return to_string(name);
}

std::optional<PodUid> pod_of_group(std::string_view name) {
  if (!name.starts_with(kPodPrefix)) return std::nullopt;
  PodUid pod(std::string(name.substr(kPodPrefix.size())));
  if (!is_safe_name(pod.value)) return std::nullopt;
  return pod;
}

std::string to_string(const GroupName& name) {
  return fmt::format("{}{}", kPodPrefix, name.is_pod() ? name.pod.value : to_string(name.id()));
}

std::ostream& operator<<(std::ostream& out, const GroupName& name) {
  return out << to_string(name);
}

std::ostream& operator<<(std::ostream& out, const GroupSettings& group) {
  out << to_string(group.isolation) << " cpus=" << group.cpus.to_string()
      << " mems=" << group.mems.to_string();
  for (const auto& [file, value] : group.values) out << ' ' << file << "='" << value << '\'';
  return group.is_complete ? out : out << " (in part)";
}

}  // namespace pinfold::enforce
