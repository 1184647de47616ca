#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::audit {

/// A container as the kubelet's PodResources API lists it. The API has no UIDs.
struct ListedContainer {
  std::string namespace_name;
  std::string pod;
  std::string container;
  CpuSet cpus;  ///< exclusive ones

  friend bool operator==(const ListedContainer&, const ListedContainer&) = default;
};
using PodResources = std::vector<ListedContainer>;

/// Reads the answer to List in JSON, as protobuf and grpcurl print it: {"podResources": [...]}.
/// Errors: kInvalidArgument, with the field.
[[nodiscard]] Result<PodResources> parse_pod_resources(std::string_view text);

}  // namespace pinfold::audit
