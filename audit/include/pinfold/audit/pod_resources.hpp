#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::audit {

/// A container in the kubelet's PodResources API, which has no UIDs.
struct ListedContainer {
  std::string namespace_name;
  std::string pod;
  std::string container;
  CpuSet cpus;  ///< exclusive CPUs

  friend bool operator==(const ListedContainer&, const ListedContainer&) = default;
};
using PodResources = std::vector<ListedContainer>;

/// Parses the answer to List as JSON, in the form that protobuf and grpcurl print: {"podResources":
/// [...]}. Errors: kInvalidArgument, naming the field.
[[nodiscard]] Result<PodResources> parse_pod_resources(std::string_view text);

}  // namespace pinfold::audit
