#include "pinfold/types/pod_ref.hpp"

namespace pinfold {

std::string to_string(const PodRef& pod) {
  return pod.name.empty() ? pod.uid.value : pod.namespace_name + "/" + pod.name;
}

std::string to_string(const ContainerRef& container) {
  return to_string(container.pod) + "/" + container.container;
}

PodRef ref_of(const PodNames& names, const PodUid& uid) {
  const auto found = names.find(uid);
  return found == names.end() ? PodRef{uid, {}, {}} : found->second;
}

}  // namespace pinfold
