#include "pinfold/types/container_id.hpp"

#include <ostream>

namespace pinfold {

std::ostream& operator<<(std::ostream& out, const PodUid& uid) { return out << uid.value; }

std::string to_string(const ContainerId& id) { return id.pod.value + "/" + id.name; }

std::ostream& operator<<(std::ostream& out, const ContainerId& id) { return out << to_string(id); }

}  // namespace pinfold
